// Errors as values: every call that can fail because of user input or files returns Result<T>.
// No exception crosses a room, and nothing here aborts on user input.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace realizar {

enum class ErrorCode {
  kInvalidArgument,        // the request or the command line is wrong
  kNotFound,               // a file, tensor, key or name does not exist
  kFormatError,            // bytes from outside violate their format
  kUnsupported,            // well-formed, but not implemented here
  kContextLengthExceeded,  // prompt and answer exceed the context
  kResourceExhausted,      // a queue, memory or blocks are exhausted
  kCancelled,              // the caller cancelled
  kInternal,               // a bug, or a device failure
};

// The code's displayed name, e.g. "FormatError".
const char* to_string(ErrorCode code);

struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one line: what, where, expected, actual
  std::string subject;  // the file, tensor, key or parameter concerned; may be empty
  // These two are set for kContextLengthExceeded, in tokens; 0 if unknown.
  uint32_t n_prompt = 0;  // length of the prompt
  uint32_t n_ctx = 0;     // the maximum
};

inline Error invalid_argument(std::string message, std::string subject = {}) {
  return {ErrorCode::kInvalidArgument, std::move(message), std::move(subject)};
}
inline Error not_found(std::string message, std::string subject = {}) {
  return {ErrorCode::kNotFound, std::move(message), std::move(subject)};
}
inline Error format_error(std::string message, std::string subject = {}) {
  return {ErrorCode::kFormatError, std::move(message), std::move(subject)};
}
inline Error unsupported(std::string message, std::string subject = {}) {
  return {ErrorCode::kUnsupported, std::move(message), std::move(subject)};
}
inline Error context_length_exceeded(std::string message, std::string subject, uint64_t n_prompt, uint32_t n_ctx) {
  const auto n = static_cast<uint32_t>(n_prompt < UINT32_MAX ? n_prompt : UINT32_MAX);
  return {ErrorCode::kContextLengthExceeded, std::move(message), std::move(subject), n, n_ctx};
}

// A value or an Error. Accessing the wrong one ends the process: it is a programming error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return require_value(), *std::get_if<0>(&state_); }
  const T& value() const& { return require_value(), *std::get_if<0>(&state_); }
  T&& value() && { return require_value(), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return require_error(), *std::get_if<1>(&state_); }
  Error&& error() && { return require_error(), std::move(*std::get_if<1>(&state_)); }

 private:
  void require_value() const {
    if (!ok()) std::abort();
  }
  void require_error() const {
    if (ok()) std::abort();
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const& {
    if (ok_) std::abort();
    return error_;
  }
  Error&& error() && {
    if (ok_) std::abort();
    return std::move(error_);
  }

 private:
  Error error_;
  bool ok_ = true;
};

using Status = Result<void>;

}  // namespace realizar
