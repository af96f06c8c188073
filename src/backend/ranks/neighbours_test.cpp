#include "backend/ranks/neighbours.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace realizar::ranks {
namespace {

pid_t start() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  return pid;
}

TEST(Neighbours, OneThatEndsIsNoticedBeforeItIsWaitedFor) {
  const pid_t first = start(), second = start();
  {
    Neighbours neighbours;
    EXPECT_FALSE(neighbours.ended());
    neighbours.add(3, first);
    neighbours.add(5, second);
    EXPECT_FALSE(neighbours.ended());
    ::kill(second, SIGKILL);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(second), &info, WEXITED | WNOWAIT), 0);
    if (neighbours.ended().has_value()) {
      EXPECT_EQ(neighbours.ended(), 5u);
    } else {
      ::kill(first, SIGKILL);
      ::waitpid(first, nullptr, 0);
      ::waitpid(second, nullptr, 0);
      GTEST_SKIP() << "this kernel has no files of processes (pidfd_open)";
    }
  }
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
  ::waitpid(second, nullptr, 0);
}

}  // namespace
}  // namespace realizar::ranks
