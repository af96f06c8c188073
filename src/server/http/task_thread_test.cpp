#include "server/http/task_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace realizar::server {
namespace {

using Clock = std::chrono::steady_clock;

TEST(TaskThread, TellsAndEnds) {
  bool told = false;
  TaskThread thread([&](TaskThread::Listener& listener) { listener.tell([&] { told = true; }); });
  EXPECT_TRUE(thread.end_until(Clock::time_point::max()));
  EXPECT_TRUE(told);
}

TEST(TaskThread, OneThatNeverEndsIsLeftBehindAndTellsNobody) {
  struct Outside {
    std::promise<void> may_go_on, has_gone_on;
    std::atomic<bool> told = false;
  };
  const auto outside = std::make_shared<Outside>();
  {
    TaskThread thread([outside](TaskThread::Listener& listener) {
      outside->may_go_on.get_future().wait();
      listener.tell([&] { outside->told = true; });
      outside->has_gone_on.set_value();
    });
    EXPECT_FALSE(thread.end_until(Clock::now()));
  }
  outside->may_go_on.set_value();
  outside->has_gone_on.get_future().wait();
  EXPECT_FALSE(outside->told);
}

}  // namespace
}  // namespace realizar::server
