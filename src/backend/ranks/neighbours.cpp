#include "backend/ranks/neighbours.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace realizar::ranks {

Neighbours::~Neighbours() {
  for (const pollfd& file : files_) ::close(file.fd);
}

void Neighbours::add(uint32_t rank, pid_t pid) {
  const auto file = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (file < 0) return;
  ranks_.push_back(rank);
  files_.push_back({file, POLLIN, 0});
}

std::optional<uint32_t> Neighbours::wait(std::chrono::milliseconds time) {
  if (::poll(files_.data(), files_.size(), static_cast<int>(time.count())) <= 0) return std::nullopt;
  for (size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].revents != 0) return ranks_[i];
  }
  return std::nullopt;
}

}  // namespace realizar::ranks
