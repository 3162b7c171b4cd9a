// The largest allocation of the test program, for tests that bound memory by the size of a file.
#pragma once

#include <atomic>
#include <cstddef>

namespace tegula::test {

extern std::atomic<std::size_t> g_largest_allocation;  // bytes, since a test set it to 0

}  // namespace tegula::test
