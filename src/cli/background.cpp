#include "cli/background.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/service.h"
#include "hub/user_folders.h"
#include "server/http/unix_socket.h"

namespace realizar::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCommand = "serve", kFlag = "--background";
constexpr auto kBetweenLooks = std::chrono::milliseconds(20);

// The arguments of this process, each followed by a zero byte.
std::vector<std::string> own_words() {
  FILE* file = std::fopen("/proc/self/cmdline", "re");
  std::vector<std::string> words;
  std::string word;
  for (int c = 0; file != nullptr && (c = std::fgetc(file)) != EOF;) {
    if (c != 0) {
      word += static_cast<char>(c);
      continue;
    }
    words.push_back(std::exchange(word, {}));
  }
  if (file != nullptr) std::fclose(file);
  return words;
}

// A file of options may contain --background too, and the command line takes precedence over it: a server that was
// started in the background must not start another one.
std::vector<std::string> words_of_server() {
  std::vector<std::string> words = own_words();
  std::erase_if(words, [](const std::string& word) {
    return word == kFlag || (word.starts_with(kFlag) && word[kFlag.size()] == '=');
  });
  const auto command = std::ranges::find(words, kCommand);
  words.insert(command == words.end() ? command : command + 1, std::string(kFlag) + "=false");
  return words;
}

Result<fs::path> open_log(FileDescriptor& log) {
  const auto folder = hub::state_folder();
  if (!folder) return not_found("neither HOME nor XDG_STATE_HOME is set, for the server's log", "background");
  std::error_code error;
  fs::create_directories(*folder, error);
  fs::path path = *folder / "serve.log";
  log = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (log.get() < 0) return invalid_argument(fmt::format("{}: {}", path.string(), std::strerror(errno)), "background");
  return path;
}

Result<pid_t> spawn(const std::vector<std::string>& words, int log) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, log, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, log, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return Error{ErrorCode::kInternal, fmt::format("cannot start: {}", std::strerror(error)), ""};
  return pid;
}

// Checks that the server can create its socket: without it, it would still start.
Status check_socket(const std::string& path) {
  RZ_TRY(const int fd, server::open_owner_socket(path));
  ::unlink(path.c_str());
  ::close(fd);
  return {};
}

// Waits until the server answers; false: it has ended.
bool wait_for(pid_t pid, const std::string& socket) {
  while (::waitpid(pid, nullptr, WNOHANG) == 0) {
    if (Service(socket).pid() == pid) return true;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return false;
}

std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  ::unsetenv(name);
  return text;
}

}  // namespace

int take_passed_socket() {
  constexpr int kFirst = 3;  // SD_LISTEN_FDS_START
  const std::string pid = take_variable("LISTEN_PID"), n_fds = take_variable("LISTEN_FDS");
  if (pid != std::to_string(::getpid()) || n_fds.empty()) return -1;
  int is_listening = 0;
  socklen_t n_bytes = sizeof is_listening;
  if (::getsockopt(kFirst, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &n_bytes) != 0 || is_listening == 0) return -1;
  const bool is_set = ::fcntl(kFirst, F_SETFD, FD_CLOEXEC) == 0 && ::fcntl(kFirst, F_SETFL, O_NONBLOCK) == 0;
  return is_set ? kFirst : -1;
}

Result<int> start_in_background() {
  const auto socket = hub::service_socket();
  if (!socket) {
    return invalid_argument(
        "--background: other commands would not find the server, since XDG_RUNTIME_DIR is not set; a login session has "
        "it",
        "background");
  }
  if (const int pid = Service(socket->string()).pid(); pid != 0) {
    return invalid_argument(fmt::format("--background: a server of this user is running, process {}", pid),
                            "background");
  }
  RZ_CHECK_OK(check_socket(socket->string()));
  FileDescriptor log;
  RZ_TRY(const fs::path path, open_log(log));
  RZ_TRY(const pid_t pid, spawn(words_of_server(), log.get()));
  if (!wait_for(pid, socket->string())) {
    return Error{ErrorCode::kInternal, fmt::format("the server has ended; {} says why", path.string()), "background"};
  }
  const bool is_printed =
      print_line(fmt::format("the server runs as process {}; realizar stop --server ends it, {} is "
                             "its log",
                             pid, printable(path.string())));
  return is_printed ? kOk : kFailure;
}

}  // namespace realizar::cli
