#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <thread>

#include "base/result_checks.h"
#include "base/temp_folder.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kNoLimit = uint64_t{1} << 40;

class Files : public testing::Test {
 protected:
  fs::path at(const char* name) const { return folder_ / name; }
  fs::path file(const char* name, const std::string& content) const { return folder_.put(name, content); }
  fs::path fifo(const char* name) const {
    EXPECT_EQ(::mkfifo(at(name).c_str(), 0600), 0);
    return at(name);
  }
  static std::string content(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t n_entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

 private:
  TempFolder folder_;
};

TEST_F(Files, AFifoOrADeviceIsRefusedAtOnceWhoeverWritesToIt) {
  const auto pipe = fifo("pipe");
  EXPECT_EQ(open_regular_file(pipe).error().message, pipe.string() + " is not a regular file");
  EXPECT_EQ(read_file(pipe, kNoLimit).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_file("/dev/zero", kNoLimit).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_file(at("none"), kNoLimit).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_file_or_pipe("/dev/zero", kNoLimit).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_file_or_pipe(pipe, kNoLimit).error().message, pipe.string() + " is a pipe without a writer");
}

TEST_F(Files, ReadsAFileUpToItsLimit) {
  for (const size_t n_bytes : {0, 1, 4095, 4096, 4097, 100000}) {
    const std::string text(n_bytes, 'x');
    const auto path = file("text", text);
    EXPECT_EQ(read_file(path, n_bytes).value(), text);
    EXPECT_EQ(read_file_or_pipe(path, kNoLimit).value(), text);
    if (n_bytes > 0) {
      EXPECT_EQ(read_file(path, n_bytes - 1).error().code, ErrorCode::kFormatError);
    }
  }
}

TEST_F(Files, AMarkOfTheByteOrderIsNoPartOfAText) {
  EXPECT_EQ(read_file_or_pipe(file("text", "\xef\xbb\xbf\xef\xbb\xbfx"), kNoLimit).value(), "\xef\xbb\xbfx");
  EXPECT_EQ(read_file_or_pipe(file("mark", "\xef\xbb\xbf"), kNoLimit).value(), "");
  EXPECT_EQ(read_file(file("bytes", "\xef\xbb\xbfx"), kNoLimit).value(), "\xef\xbb\xbfx");
}

TEST_F(Files, ReadsAPipeThatIsWrittenToItsEnd) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string text(300000, 'y');
  std::thread writer([&] {
    for (size_t n = 0; n < text.size();) n += static_cast<size_t>(::write(ends[1], text.data() + n, text.size() - n));
    ::close(ends[1]);
  });
  const auto read = read_file_or_pipe("/dev/fd/" + std::to_string(ends[0]), kNoLimit);
  writer.join();
  ::close(ends[0]);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, text);
}

TEST_F(Files, ANewFileTakesItsPlaceWholeOrNotAtAll) {
  const auto path = file("out", "before");
  {
    auto out = must(NewFile::create(path));
    ASSERT_TRUE(out.write("half of it").ok());
    EXPECT_EQ(content(path), "before");
  }
  EXPECT_EQ(content(path), "before");
  EXPECT_EQ(n_entries(), 1u);
  auto out = must(NewFile::create(path));
  ASSERT_TRUE(out.write("all of it").ok());
  ASSERT_TRUE(out.commit().ok());
  EXPECT_EQ(content(path), "all of it");
  EXPECT_EQ(n_entries(), 1u);
}

TEST_F(Files, ANewFileHasTheModeThatAnyNewFileHas) {
  for (const mode_t mask : {0, 022, 027, 077}) {
    const mode_t before = ::umask(mask);
    auto out = NewFile::create(at("new"));
    EXPECT_TRUE(out.ok() && out->commit().ok());
    file("plain", "");
    ::umask(before);
    EXPECT_EQ(fs::status(at("new")).permissions(), fs::status(at("plain")).permissions());
    fs::remove(at("new"));
    fs::remove(at("plain"));
  }
}

TEST_F(Files, WritersOfOneNameDoNotHinderEachOther) {
  auto first = NewFile::create(at("out")), second = NewFile::create(at("out"), Readers::kOwnerAlone);
  ASSERT_TRUE(first.ok() && first->write("first").ok() && second.ok() && second->write("second").ok());
  auto third = must(NewFile::create(at("out")));
  ASSERT_TRUE(first->commit().ok());
  EXPECT_EQ(content(at("out")), "first");
  ASSERT_TRUE(second->commit().ok());
  EXPECT_EQ(content(at("out")), "second");
  ASSERT_TRUE(third.write("third").ok() && third.commit().ok());
  EXPECT_EQ(content(at("out")), "third");
  EXPECT_EQ(n_entries(), 1u);
}

TEST_F(Files, BytesCanBeRewrittenAndTheOldFileTakenAwayBeforeTheCommit) {
  const auto target = file("target", "before");
  fs::create_symlink(target, at("link"));
  auto out = NewFile::create(at("link"));
  ASSERT_TRUE(out.ok() && out->write("some text").ok());
  ASSERT_TRUE(out->rewrite(5, std::as_bytes(std::span(std::string_view("food")))).ok());
  ASSERT_TRUE(out->sync().ok() && out->remove_old().ok() && out->remove_old().ok());
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_FALSE(fs::exists(target));
  ASSERT_TRUE(out->commit().ok());
  EXPECT_EQ(content(target), "some food");
}

// Simulates a file system that does not support files without names: in this process no open file can be given one.
bool forbid_giving_names() {
  std::array filter{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA)),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{filter.size(), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Runs `body` in another process and returns how it ended.
template <class Body>
int status_of_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST_F(Files, WhatAKilledWriterLeftGoesWithTheNextWriteOfThatName) {
  constexpr int kNoFilter = 77;
  for (const bool has_nameless : {true, false}) {
    const int killed = status_of_child([&] {
      if (!has_nameless && !forbid_giving_names()) ::_exit(kNoFilter);
      auto out = NewFile::create(at("out"));
      if (out.ok() && out->write("half").ok()) ::raise(SIGKILL);
    });
    if (WIFEXITED(killed) && WEXITSTATUS(killed) == kNoFilter) GTEST_SKIP() << "system calls cannot be filtered";
    ASSERT_TRUE(WIFSIGNALED(killed)) << killed;
    if (!has_nameless) {
      EXPECT_EQ(n_entries(), 2u) << "out of the first turn, and what was left";
    }
    auto living = must(NewFile::create(at("out")));
    const int other = status_of_child([&] {
      if (!has_nameless && !forbid_giving_names()) ::_exit(kNoFilter);
      auto out = NewFile::create(at("out"));
      if (!out.ok() || !out->write("other").ok() || !out->commit().ok()) ::_exit(1);
    });
    EXPECT_EQ(other, 0);
    EXPECT_EQ(content(at("out")), "other");
    EXPECT_TRUE(living.write("living").ok() && living.commit().ok());
    EXPECT_EQ(content(at("out")), "living");
    EXPECT_EQ(n_entries(), 1u);
  }
}

TEST_F(Files, AWriteThatFailsSaysWhyAndLeavesNothing) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small { 4096, before.rlim_max };
  const auto handler_before = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  {
    auto out = must(NewFile::create(at("out")));
    const Status status = out.write(std::string(10000, 'x'));
    EXPECT_EQ(status.error().message, "cannot write " + at("out").string() + ": File too large");
    EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
    EXPECT_EQ(status.error().subject, "disk");
    EXPECT_EQ(out.reserve(10000).error().subject, "disk");
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler_before);
  EXPECT_EQ(n_entries(), 0u);
  EXPECT_EQ(NewFile::create(at("no/such/folder")).error().message,
            "cannot write " + at("no/such/folder").string() + ": No such file or directory");
}

TEST_F(Files, AFileForItsOwnerAloneReplacesWhateverIsThere) {
  const auto target = file("target", "another's");
  fs::create_symlink(target, at("link"));
  fs::permissions(file("open", "before"), fs::perms(0644));
  for (const char* name : {"link", "open"}) {
    auto out = NewFile::create(at(name), Readers::kOwnerAlone);
    ASSERT_TRUE(out.ok() && out->write("after").ok() && out->commit().ok());
    EXPECT_EQ(content(at(name)), "after");
    EXPECT_EQ(fs::symlink_status(at(name)).type(), fs::file_type::regular);
    EXPECT_EQ(fs::status(at(name)).permissions(), fs::perms(0600));
  }
  EXPECT_EQ(content(target), "another's");
  EXPECT_EQ(n_entries(), 3u);
}

TEST_F(Files, ReadsExactlyWhatIsAskedForOrNothing) {
  const auto opened = must(open_regular_file(file("five", "12345")));
  std::string three(3, ' ');
  EXPECT_TRUE(read_exactly(opened.fd, std::as_writable_bytes(std::span(three))));
  EXPECT_EQ(three, "123");
  EXPECT_FALSE(read_exactly(opened.fd, std::as_writable_bytes(std::span(three)))) << "two are left";
}

TEST_F(Files, WritesThroughALinkAndToADeviceAndNeverWaitsForAReader) {
  const auto target = file("target", "before");
  fs::create_symlink(target, at("link"));
  auto out = NewFile::create(at("link"));
  ASSERT_TRUE(out.ok() && out->write("after").ok() && out->commit().ok());
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(content(target), "after");
  auto null = NewFile::create("/dev/null");
  EXPECT_TRUE(null.ok() && null->write("gone").ok() && null->commit().ok());
  EXPECT_EQ(NewFile::create(fifo("pipe")).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace realizar
