#include "base/caught.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>

namespace realizar {
namespace {

TEST(Caught, GivesWhatTheCallGives) {
  EXPECT_TRUE(caught([] {}).ok());
  EXPECT_EQ(caught([] { return Result<int>(3); }).value(), 3);
  EXPECT_EQ(*caught([] { return Result<std::unique_ptr<int>>(std::make_unique<int>(4)); }).value(), 4);
  EXPECT_EQ(caught([] { return Status(not_found("gone")); }).error().code, ErrorCode::kNotFound);
}

TEST(Caught, WantOfMemoryOrThreadsIsAnErrorThatPasses) {
  const Error memory = caught([] { throw std::bad_alloc(); }).error();
  EXPECT_EQ(memory.code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(memory.subject, kOutOfResources);
  const auto refused = std::make_error_code(std::errc::resource_unavailable_try_again);
  const Error thread = caught([&] { throw std::system_error(refused); }).error();
  EXPECT_EQ(thread.code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(thread.subject, kOutOfResources);
}

TEST(Caught, AnythingElseIsInternal) {
  const Error logic = caught([]() -> Result<int> { throw std::logic_error("wrong"); }).error();
  EXPECT_EQ(logic.code, ErrorCode::kInternal);
  EXPECT_EQ(logic.message, "wrong");
  EXPECT_EQ(caught([] { throw 5; }).error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace realizar
