#include "base/caught.h"

#include <exception>
#include <new>
#include <system_error>

namespace realizar {
namespace {

// The text is short enough to need no heap memory.
Error out_of_memory() {
  return {ErrorCode::kResourceExhausted, "out of memory", kOutOfResources};
}

Error translated() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::system_error& error) {
    const bool is_passing = error.code() == std::errc::resource_unavailable_try_again;
    if (is_passing) return {ErrorCode::kResourceExhausted, "no thread can be started", kOutOfResources};
    return {ErrorCode::kInternal, error.what(), ""};
  } catch (const std::exception& error) {
    return {ErrorCode::kInternal, error.what(), ""};
  } catch (...) {
    return {ErrorCode::kInternal, "something other than a std::exception was thrown", ""};
  }
}

}  // namespace

Error error_in_flight() noexcept {
  try {
    return translated();
  } catch (...) {  // not even enough memory for the message
    return out_of_memory();
  }
}

}  // namespace realizar
