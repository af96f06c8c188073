// Lines on their way to a file, pipe or terminal: a thread of its own writes them, so that nobody waits for a reader
// that sleeps or for a disk. What comes faster than it can be written is dropped and counted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/files.h"
#include "realizar/result.h"

namespace realizar::server {

class LineWriter {
 public:
  // "-": standard error; else a file that is appended to. Errors: InvalidArgument (it cannot be written; a pipe that
  // nobody reads). `on_first_loss` is called once, on the writer's thread, with the reason why lines are lost.
  static Result<std::unique_ptr<LineWriter>> open(const std::string& path,
                                                  void (*on_first_loss)(const std::string& reason),
                                                  Readers readers = Readers::kAsTheUserHasIt);
  // The same over standard output or standard error, which stay open.
  static std::unique_ptr<LineWriter> over(int fd, const std::string& name,
                                          void (*on_first_loss)(const std::string& reason));
  // Writes what waits, for a second at most.
  ~LineWriter();

  // Any thread; never waits.
  void write(std::string line);
  // Any thread. The lines after this go to what then has the file's name, which somebody may have moved or removed;
  // where it cannot be opened they go on in the old file.
  void reopen();
  uint64_t n_lost() const;

 private:
  struct State;
  explicit LineWriter(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;  // the thread's too: one that hangs in a write outlives this
};

}  // namespace realizar::server
