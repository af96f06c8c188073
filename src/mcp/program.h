// A program that is spoken to over its standard input and output, a line at a time. It runs in a process group of its
// own, all of which ends with the object; where this process is killed, the end of its input tells the program.
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
  Environment environment;        // all of it
  std::string folder;             // that it starts in; empty: that of this process
};

// Bytes in pieces of any size in, lines out.
class LineSplitter {
 public:
  explicit LineSplitter(size_t max_bytes) : max_bytes_(max_bytes) {}

  using OnLine = std::function<void(std::string_view line)>;
  // Tells the lines that the bytes complete, without their ends. False where one is longer than max_bytes: the rest of
  // it is passed over.
  bool push(std::string_view bytes, const OnLine& on_line);
  // Tells what came after the last end of a line, if there is any.
  void finish(const OnLine& on_line);

 private:
  size_t max_bytes_;
  std::string line_;
  bool is_skipping_ = false;
};

// Called on the program's own thread. What is called may write, and must not destroy the Program.
struct ProgramEvents {
  LineSplitter::OnLine on_line;        // of its output
  LineSplitter::OnLine on_error_line;  // of its standard error; long ones come in part
  // Once, and last: it has ended, or closed its output, or sent a line that is too long. `how`: in words.
  std::function<void(const std::string& how)> on_end;
};

class Program {
 public:
  // Errors: NotFound, InvalidArgument (with the system's reason).
  static Result<std::unique_ptr<Program>> start(const ProgramSource& source, ProgramEvents events);
  // Closes its input, which asks it to end; then come SIGTERM, and SIGKILL for all of its group, 1.5 s at most.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Any thread. Has the line written when the program reads. Errors: ResourceExhausted where too much waits for that.
  Status write_line(std::string_view line);
  // Any thread. Begins its end, as the destructor does, and does not wait for it.
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
  std::mutex mutex_;             // of the next two
  std::string outgoing_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace realizar::mcp
