// The other ranks of this host as processes: their end is noticed at once, without MPI.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace realizar::ranks {

class Neighbours {
 public:
  Neighbours() = default;
  Neighbours(Neighbours&& other) noexcept : ranks_(std::move(other.ranks_)), files_(std::move(other.files_)) {
    other.files_.clear();
  }
  Neighbours& operator=(Neighbours&&) = delete;
  ~Neighbours();

  // Starts to watch the process, if Linux is 5.3 or newer. Precondition: it is running.
  void add(uint32_t rank, pid_t pid);
  // A rank whose process has ended, for any reason.
  std::optional<uint32_t> ended() { return wait(std::chrono::milliseconds(0)); }
  // Waits for such a rank, for at most `time`.
  std::optional<uint32_t> wait(std::chrono::milliseconds time);

 private:
  std::vector<uint32_t> ranks_;
  std::vector<pollfd> files_;  // pidfds of their processes
};

}  // namespace realizar::ranks
