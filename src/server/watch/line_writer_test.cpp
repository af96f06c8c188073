#include "server/watch/line_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace realizar::server {
namespace {

std::atomic<int> n_told = 0;

void tell(const std::string&) {
  ++n_told;
}

class LineWriterTest : public ::testing::Test {
 protected:
  LineWriterTest() { n_told = 0; }
  ~LineWriterTest() override { std::filesystem::remove(path_); }
  std::string text() const {
    std::stringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

  std::string path_ = testing::TempDir() + "realizar-lines-" + std::to_string(::getpid());
};

TEST_F(LineWriterTest, AppendsLinesInTheirOrder) {
  std::string expected = "first\n";
  std::ofstream(path_) << expected;
  {
    const auto writer = LineWriter::open(path_, tell);
    ASSERT_TRUE(writer.ok());
    for (int i = 0; i < 1000; ++i) {
      (*writer)->write(std::string(static_cast<size_t>(i) * 7 % 9000, 'x'));
      expected += std::string(static_cast<size_t>(i) * 7 % 9000, 'x') + "\n";
    }
  }
  EXPECT_EQ(text(), expected);
  EXPECT_EQ(n_told, 0);
}

TEST_F(LineWriterTest, DropsWhatNobodyReadsAndWaitsForNothing) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  auto writer = LineWriter::open(path_, tell);
  ASSERT_TRUE(writer.ok());
  const std::string line(1000, 'x');
  for (int i = 0; i < 20'000; ++i) (*writer)->write(line);
  EXPECT_GT((*writer)->n_lost(), 10'000u);
  writer->reset();
  std::string read(1 << 20, ' ');
  const ssize_t n_bytes = ::read(reader, read.data(), read.size());
  ASSERT_GT(n_bytes, 1001);
  EXPECT_EQ(read.substr(0, 1002), line + "\nx");
  EXPECT_EQ(n_told, 1);
  ::close(reader);
}

TEST_F(LineWriterTest, CountsWhatADiskDoesNotTake) {
  auto writer = LineWriter::open("/dev/full", tell);
  ASSERT_TRUE(writer.ok());
  for (int i = 0; i < 10; ++i) (*writer)->write("line");
  while ((*writer)->n_lost() < 10) std::this_thread::yield();
  EXPECT_EQ(n_told, 1);
}

TEST_F(LineWriterTest, AReaderThatHasLeftIsNoSignal) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  auto writer = LineWriter::open(path_, tell);
  ASSERT_TRUE(writer.ok());
  ::close(reader);
  (*writer)->write("line");
  while ((*writer)->n_lost() < 1) std::this_thread::yield();
  EXPECT_EQ(n_told, 1);
}

TEST_F(LineWriterTest, RefusesWhatCannotBeWritten) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(LineWriter::open(path_, tell).error().message.find("a pipe without a reader"), std::string::npos);
  EXPECT_EQ(LineWriter::open(testing::TempDir(), tell).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace realizar::server
