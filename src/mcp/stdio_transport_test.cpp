#include "mcp/stdio_transport.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "base/result_checks.h"

namespace realizar::mcp {
namespace {

constexpr auto kLongTime = std::chrono::minutes(5);

// Collects lines from several threads.
class Heard {
 public:
  StdioTransport::Tell tell() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
      news_.notify_all();
    };
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  std::string wait_for_first() {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [this] { return !lines_.empty(); });
    return lines_.front();
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<std::string> lines_;
};

struct Rig {
  explicit Rig(const std::string& script, Environment environment = {{"PATH", "/usr/bin:/bin"}})
      : transport({"/bin/sh", {"-c", script}, std::move(environment), ""}, log.tell(), warnings.tell()) {}

  Result<Answer> ask(uint64_t id = 1) {
    return transport.ask({}, {id, "tools/list", Json::object()}, {Clock::now() + kLongTime});
  }

  Heard log, warnings;
  StdioTransport transport;
};

// A script's line that answers the request with that id.
std::string answer(int id, const std::string& result) {
  return R"(echo '{"jsonrpc": "2.0", "id": )" + std::to_string(id) + R"(, "result": )" + result + "}'; ";
}

TEST(StdioTransport, AnAnswerIsThatOfItsRequest) {
  Rig rig("read line; " + answer(9, "9") +
          R"(echo '{"jsonrpc": "2.0", "method": "notifications/message"}'; echo "$line" >&2; )" +
          answer(1, R"({"a": 1})") + "read line");
  const auto got = must(rig.ask());
  EXPECT_EQ(got.result, (Json{{"a", 1}}));
  EXPECT_EQ(rig.log.wait_for_first(), R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
}

TEST(StdioTransport, ItsOwnRequestsAreAnswered) {
  Rig rig(R"(read line; echo '{"jsonrpc": "2.0", "id": "p", "method": "ping"}'; read pong; echo "$pong" >&2; )" +
          answer(1, "{}") + "read line");
  ASSERT_TRUE(rig.ask().ok());
  EXPECT_EQ(rig.log.wait_for_first(), R"({"jsonrpc":"2.0","id":"p","result":{}})");
}

TEST(StdioTransport, AnErrorOfTheServerIsAnAnswer) {
  Rig rig(R"(read line; echo '{"jsonrpc": "2.0", "id": 1, "error": {"code": -3, "message": "no"}}'; read line)");
  const auto got = must(rig.ask());
  EXPECT_EQ(got.error->message, "no");
}

TEST(StdioTransport, ItHasTheGivenEnvironmentAlone) {
  ASSERT_EQ(::setenv("REALIZAR_TEST_SECRET", "s3cret", 1), 0);
  Rig rig(R"(read line; env | grep -c -e s3cret >&2; echo "$X" >&2; )" + answer(1, "1") + "read line",
          {{"PATH", "/usr/bin:/bin"}, {"X", "given"}});
  ASSERT_TRUE(rig.ask().ok());
  EXPECT_EQ(rig.log.all(), (std::vector<std::string>{"0", "given"}));
}

TEST(StdioTransport, ADeadProgramIsToldWithItsLastWords) {
  Rig rig("read line; echo 'no such folder' >&2; exit 3");
  const auto got = rig.ask();
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().message, "it has ended with exit status 3: no such folder");
  EXPECT_EQ(rig.warnings.wait_for_first(), got.error().message);
  const auto again = rig.ask(2);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message, got.error().message);
}

TEST(StdioTransport, ASignalIsNamed) {
  Rig rig("read line; kill -9 $$");
  EXPECT_EQ(rig.ask().error().message, "it was ended by signal 9");
}

// The child that it leaves behind keeps the pipes open.
TEST(StdioTransport, AnEndIsSeenThoughAChildLivesOn) {
  Rig rig("read line; sleep 1000 & exit 4");
  EXPECT_EQ(rig.ask().error().message, "it has ended with exit status 4");
}

TEST(StdioTransport, AClosedOutputIsAnEnd) {
  Rig rig("read line; exec 1>&-; exec sleep 1000");
  EXPECT_EQ(rig.ask().error().message, "it has closed its output");
}

TEST(StdioTransport, WhatIsNoMessageIsPassedOverAndToldOnce) {
  Rig rig("echo Starting; echo '[server] ready'; read line; " + answer(1, "1") + "read line");
  ASSERT_TRUE(rig.ask().ok());
  EXPECT_EQ(
      rig.warnings.all(),
      (std::vector<std::string>{"it prints something other than the protocol's messages, which is ignored: Starting"}));
}

TEST(StdioTransport, AnAnswerThatCannotBeReadEndsTheWait) {
  for (const char* broken : {R"({"jsonrpc": "2.0", "id": 1, "result": )", R"({"id": 1, "result": 1})"}) {
    Rig rig(std::string("read line; echo '") + broken + "'; read line");
    const auto got = rig.ask();
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, ErrorCode::kFormatError) << got.error().message;
  }
}

TEST(StdioTransport, AnEndlessLineIsAnEnd) {
  Rig rig("read line; tr '\\0' x < /dev/zero");
  EXPECT_EQ(rig.ask().error().message, "it sends a line of more than 4194304 bytes");
}

TEST(StdioTransport, LongLinesOfStandardErrorAreCut) {
  Rig rig("read line; head -c 100000 /dev/zero | tr '\\0' e >&2; echo >&2; " + answer(1, "1") + "read line");
  ASSERT_TRUE(rig.ask().ok());
  EXPECT_LE(rig.log.wait_for_first().size(), 400u);
}

TEST(StdioTransport, AProgramThatDoesNotReadIsNoWait) {
  Rig rig("sleep 1000");
  const std::string line(3u << 20, 'x');
  Status told;
  for (int i = 0; i < 4 && told.ok(); ++i) told = rig.transport.tell({}, line, {Clock::now() + kLongTime});
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().message, "it does not read what it is sent");
}

TEST(StdioTransport, AWaitCanBeCancelled) {
  Rig rig("sleep 1000");
  const std::atomic<bool> cancelled{true};
  const auto got = rig.transport.ask({}, {1, "tools/call", {}}, {Clock::now() + kLongTime, &cancelled});
  EXPECT_EQ(got.error().code, ErrorCode::kCancelled);
}

TEST(StdioTransport, AMissingProgramIsAnError) {
  Heard heard;
  StdioTransport transport({"/no/such/program", {}, {}, ""}, heard.tell(), heard.tell());
  const auto got = transport.ask({}, {1, "initialize", {}}, {Clock::now() + kLongTime});
  EXPECT_EQ(got.error().message, "/no/such/program cannot be started: No such file or directory");
}

// It ends with its group: a program that ignores the end of its input and SIGTERM, and its child.
TEST(StdioTransport, AllOfTheGroupEnds) {
  pid_t program = 0, child = 0;
  {
    Rig rig("trap '' TERM; (trap '' TERM; sleep 1000) & read line; echo $$ >&2; echo $! >&2; " + answer(1, "1") +
            "while :; do sleep 1000; done");
    ASSERT_TRUE(rig.ask().ok());
    const auto pids = rig.log.all();
    ASSERT_EQ(pids.size(), 2u);
    program = std::stoi(pids[0]);
    child = std::stoi(pids[1]);
    EXPECT_EQ(::getpgid(child), program);
    EXPECT_TRUE(rig.warnings.all().empty());
  }
  EXPECT_NE(::kill(program, 0), 0);
  // The process that adopts the child waits for it; until then it is a zombie.
  const std::string state = "/proc/" + std::to_string(child) + "/stat";
  for (bool is_gone = false; !is_gone;) {
    std::ifstream stat(state);
    std::string word, third;
    is_gone = !(stat >> word >> word >> third) || third == "Z";
  }
}

TEST(LineSplitter, PiecesOfAnySize) {
  for (size_t size = 1; size < 8; ++size) {
    LineSplitter lines(5);
    std::vector<std::string> got;
    bool fits = true;
    const std::string text = "a\n\nlonger line\nb\nc";
    for (size_t at = 0; at < text.size(); at += size) {
      fits = lines.push(text.substr(at, size), [&](std::string_view line) { got.emplace_back(line); }) && fits;
    }
    lines.finish([&](std::string_view line) { got.emplace_back(line); });
    EXPECT_EQ(got, (std::vector<std::string>{"a", "", "longe", "b", "c"})) << size;
    EXPECT_FALSE(fits);
  }
}

}  // namespace
}  // namespace realizar::mcp
