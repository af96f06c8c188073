#include "grammar/limits.h"

#include <gtest/gtest.h>

#include <thread>

namespace realizar::grammar {
namespace {

constexpr uint32_t kMs = 20;

// Keeps the calling thread busy for longer than the limit.
void work() {
  const Deadline own(kMs + 1);
  while (own.check().ok()) {
  }
}

TEST(Deadline, TheTimeOfOtherThreadsDoesNotCount) {
  const Deadline deadline(kMs);
  std::thread(work).join();
  EXPECT_TRUE(deadline.check().ok());
}

TEST(Deadline, PassesWithTheWorkOfItsThread) {
  const Deadline deadline(kMs);
  work();
  ASSERT_FALSE(deadline.check().ok());
  EXPECT_EQ(deadline.check().error().subject, kLimitSubject);
  EXPECT_EQ(deadline.check().error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace realizar::grammar
