// Result<T>: a value or an Error with a closed code and one line of text. Library folders return it; they
// never print, exit, abort or throw for bad input.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tegula {

enum class Code {
  kInvalidArgument,  // the caller asked for something that makes no sense
  kNotFound,         // no such file, model, tensor, handle
  kCorrupt,          // bytes that break their format
  kUnsupported,      // well formed, but we lack it
  kOutOfRange,       // does not fit: prompt longer than the context, address outside memory
  kIo,               // the operating system refused
  kDevice,           // the device or its driver failed
  kInternal,         // a bug of ours
};

const char* code_name(Code code);

// What, where, found, expected, what to do: in one line.
struct Error {
  Code code = Code::kInternal;
  std::string message;
};

// Usage: return fail(Code::kCorrupt, "x.gguf: magic is 0x1234, expected GGUF");
[[nodiscard]] inline Error fail(Code code, std::string message) {
  return Error{code, std::move(message)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace tegula

#define TEGULA_CONCAT_(a, b) a##b
#define TEGULA_CONCAT(a, b) TEGULA_CONCAT_(a, b)

// TRY(expr): returns the error of expr from the enclosing function.
#define TRY(expr)                                                 \
  do {                                                            \
    auto try_result_ = (expr);                                    \
    if (!try_result_.ok()) return std::move(try_result_).error(); \
  } while (0)

// TRY_ASSIGN(auto x, expr): binds the value of expr or returns its error.
#define TRY_ASSIGN(decl, expr)                                                                       \
  auto TEGULA_CONCAT(try_value_, __LINE__) = (expr);                                                 \
  if (!TEGULA_CONCAT(try_value_, __LINE__).ok()) return TEGULA_CONCAT(try_value_, __LINE__).error(); \
  decl = std::move(TEGULA_CONCAT(try_value_, __LINE__)).value()
