// Runs a program and communicates with it over its standard input and output, line by line. It runs in its own process
// group, which ends with the object; if this process is killed, the program sees the end of its input.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "realizar/result.h"

namespace realizar::mcp {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct ProgramSource {
  std::string path;
  std::vector<std::string> args;  // without its name
  Environment environment;        // complete
  std::string folder;             // its working directory; empty: that of this process
};

// Splits bytes in pieces of any size into lines.
class LineSplitter {
 public:
  explicit LineSplitter(size_t max_bytes) : max_bytes_(max_bytes) {}

  using OnLine = std::function<void(std::string_view line)>;
  // Reports the lines that the bytes complete, without line ends. False if a line is longer than max_bytes: its rest is
  // skipped.
  bool push(std::string_view bytes, const OnLine& on_line);
  // Reports the text after the last line end, if there is any.
  void finish(const OnLine& on_line);

 private:
  size_t max_bytes_;
  std::string line_;
  bool is_skipping_ = false;
};

// Called on the program's own thread. The callbacks may write, but must not destroy the Program.
struct ProgramEvents {
  LineSplitter::OnLine on_line;        // from its output
  LineSplitter::OnLine on_error_line;  // from its standard error; long lines arrive in parts
  // Called once, as the last call: the program has ended, closed its output, or sent a line that is too long. `how`: a
  // description.
  std::function<void(const std::string& how)> on_end;
};

class Program {
 public:
  // Errors: NotFound, InvalidArgument (with the system's reason).
  static Result<std::unique_ptr<Program>> start(const ProgramSource& source, ProgramEvents events);
  // Closes its input, which asks it to end; then sends SIGTERM and SIGKILL to its whole group, after at most 1.5 s.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Any thread. Queues a line, which is written when the program reads. Errors: ResourceExhausted if too much is
  // queued.
  Status write_line(std::string_view line);
  // Any thread. Starts ending it, like the destructor, but does not wait.
  void stop();

 private:
  struct Pipes {
    FileDescriptor input, output, errors, wake_up;
  };
  Program(pid_t pid, Pipes pipes, ProgramEvents events);

  void run();
  std::string exchange();
  void write_some();
  void wake();
  void clear_wake_ups();
  std::string reap();

  const pid_t pid_;
  const Pipes pipes_;
  const ProgramEvents events_;
  const FileDescriptor pid_fd_;  // readable when it has ended
  std::mutex mutex_;             // guards the next two
  std::string outgoing_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace realizar::mcp
