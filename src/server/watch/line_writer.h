// Lines for a file, pipe or terminal: a separate thread writes them, so that nobody waits for a stalled reader or a
// disk. Lines that arrive faster than they can be written are dropped and counted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/files.h"
#include "realizar/result.h"

namespace realizar::server {

class LineWriter {
 public:
  // "-": standard error; otherwise a file to append to. Errors: InvalidArgument (not writable; a pipe without a
  // reader). `on_first_loss` is called once, on the writer's thread, with the reason why lines are lost.
  static Result<std::unique_ptr<LineWriter>> open(const std::string& path,
                                                  void (*on_first_loss)(const std::string& reason),
                                                  Readers readers = Readers::kAsTheUserHasIt);
  // For standard output or standard error, which stay open.
  static std::unique_ptr<LineWriter> over(int fd, const std::string& name,
                                          void (*on_first_loss)(const std::string& reason));
  // Writes the remaining lines, for at most a second.
  ~LineWriter();

  // Any thread; never waits.
  void write(std::string line);
  // Any thread. Later lines go to the file that then has the name, for example after a log was moved; if it cannot be
  // opened, they continue in the old file.
  void reopen();
  uint64_t n_lost() const;

 private:
  struct State;
  explicit LineWriter(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;  // shared with the thread: if it hangs in a write, it outlives this
};

}  // namespace realizar::server
