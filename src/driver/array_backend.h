// The emulator as the array of the emulated driver.
#pragma once

#include "driver/backend.h"

namespace tegula::driver {

std::unique_ptr<ArrayBackend> make_emulated_array(const ArrayOptions& options);

}  // namespace tegula::driver
