// For tests: the value of a result that must have one, and whether a result is the expected error.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "realizar/result.h"

namespace realizar {

// An error ends the test, which shows the caller's line, `of` and the message.
template <class T, class Case = const char*>
T must(Result<T> result, const Case& of = "", std::source_location where = std::source_location::current()) {
  if (!result.ok()) {
    const testing::Message message = testing::Message() << where.file_name() << ":" << where.line() << ": " << of << " "
                                                        << result.error().message;
    throw std::runtime_error(message.GetString());
  }
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

// Whether it is an error whose message contains `part`.
template <class T>
testing::AssertionResult fails_with(const Result<T>& result, std::string_view part) {
  if (result.ok()) return testing::AssertionFailure() << "there is no error";
  if (result.error().message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the error is: " << result.error().message;
}

// Whether it is an error with this code and this subject, whose message contains `part`.
template <class T>
testing::AssertionResult fails_with(const Result<T>& result, ErrorCode code, std::string_view part = "",
                                    std::optional<std::string_view> subject = std::nullopt) {
  if (result.ok()) return testing::AssertionFailure() << "there is no error";
  const Error& error = result.error();
  if (error.code == code && error.subject == subject.value_or(error.subject)) return fails_with(result, part);
  return testing::AssertionFailure() << "the error is: " << to_string(error.code) << " of '" << error.subject
                                     << "': " << error.message;
}

}  // namespace realizar
