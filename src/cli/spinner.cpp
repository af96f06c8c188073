#include "cli/spinner.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

namespace realizar::cli {

Spinner::Spinner(std::string what, bool shown) : what_(std::move(what)) {
  if (!shown) return;
  try {
    thread_ = std::thread([this] { draw(); });
  } catch (const std::system_error&) {
    // Without a free thread, the answer appears without a spinner.
  }
}

void Spinner::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Spinner::draw() {
  constexpr std::chrono::milliseconds kUnnoticed{400}, kFrame{100};
  constexpr std::array kFrames = {"|", "/", "-", "\\"};
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, kUnnoticed, [this] { return ends_; })) return;
  for (size_t i = 0; !ends_; ++i) {
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::fprintf(stderr, "\r%s %s, %.0f s ", kFrames[i % kFrames.size()], what_.c_str(), s);
    changed_.wait_for(lock, kFrame, [this] { return ends_; });
  }
  std::fputs("\r\033[K", stderr);
}

}  // namespace realizar::cli
