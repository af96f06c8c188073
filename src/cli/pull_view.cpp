#include "cli/pull_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>

#include "base/amounts.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/output.h"
#include "hub/name_table.h"

namespace realizar::cli {
namespace {

std::atomic<bool> is_cancelled{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// While it exists, SIGINT and SIGTERM cancel the download: the downloaded part is kept either way.
class CancelScope {
 public:
  CancelScope() {
    is_cancelled = false;
    struct sigaction action {};
    action.sa_handler = [](int) { is_cancelled = true; };
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &interrupt_before_);
    ::sigaction(SIGTERM, &action, &terminate_before_);
    // A file that reaches its size limit is an error, but must not kill the process.
    std::signal(SIGXFSZ, SIG_IGN);
  }
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;
  ~CancelScope() {
    ::sigaction(SIGINT, &interrupt_before_, nullptr);
    ::sigaction(SIGTERM, &terminate_before_, nullptr);
  }

 private:
  struct sigaction interrupt_before_ {
  }, terminate_before_{};
};

// Shown before a server's first answer, which may take long.
Status tell_of_search(const hub::ModelName& name, const hub::HubSettings& settings) {
  RZ_TRY(const std::string server, hub::server_of(name, settings));
  const hub::ModelName source = hub::source_of(name);
  const std::string meaning = source == name ? "" : fmt::format(" ({})", hub::to_string(source));
  warn(fmt::format("looking for {}{} at {}", hub::to_string(name), meaning, server));
  return {};
}

}  // namespace

std::string time_text(double seconds) {
  constexpr double kMost = 1e7;
  const auto n = static_cast<uint64_t>(std::lround(std::clamp(seconds, 0.0, kMost)));
  const uint64_t hours = n / 3600, minutes = n / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, n % 60) : fmt::format("{}:{:02}", minutes, n % 60);
}

std::string progress_text(const hub::PullProgress& progress, double bytes_per_second) {
  using hub::PullStage;
  if (progress.stage == PullStage::kWaiting) return printable(progress.file) + "  another process downloads it";
  if (progress.stage == PullStage::kWriting) return "writing the manifest";
  const uint64_t percent = progress.total_bytes > 0 ? progress.total_done * 100 / progress.total_bytes : 100;
  std::string text = fmt::format("{}  {:>3} %  {} of {}", printable(progress.file), percent,
                                 bytes_text(progress.total_done), bytes_text(progress.total_bytes));
  if (progress.stage == PullStage::kChecking) return text + "  checking";
  if (bytes_per_second < 1) return text;
  const auto n_left = static_cast<double>(progress.total_bytes - std::min(progress.total_bytes, progress.total_done));
  return text + fmt::format("  {}/s  {} left", bytes_text(static_cast<uint64_t>(bytes_per_second)),
                            time_text(n_left / bytes_per_second));
}

PullView::PullView() : is_terminal_(obeys_escapes(2)) {}

PullView::~PullView() {
  clear();
}

void PullView::clear() {
  if (is_drawn_) std::fputs("\r\033[K", stderr);
  is_drawn_ = false;
}

// Over the last seconds: data from before the first sample was not downloaded now.
double PullView::bytes_per_second(uint64_t n_done, Clock::time_point now) {
  constexpr auto kWindow = std::chrono::seconds(5);
  if (!samples_.empty() && n_done < samples_.back().n_done) samples_.clear();
  samples_.push_back({now, n_done});
  while (samples_.size() > 2 && now - samples_.front().time > kWindow) samples_.pop_front();
  const std::chrono::duration<double> seconds = now - samples_.front().time;
  constexpr double kLeast = 0.5;
  return seconds.count() < kLeast ? 0 : static_cast<double>(n_done - samples_.front().n_done) / seconds.count();
}

void PullView::update(const hub::PullProgress& progress) {
  const bool is_new = progress.file != file_;
  const bool begins_to_wait = progress.stage == hub::PullStage::kWaiting && !has_waited_;
  if (!is_terminal_) {
    if (is_new && progress.file_bytes > 0) warn(fmt::format("{}: {}", progress.file, bytes_text(progress.file_bytes)));
    if (begins_to_wait) warn(progress.file + ": another process downloads it");
  }
  has_waited_ |= begins_to_wait;
  file_ = progress.file;
  const auto now = Clock::now();
  if (!is_terminal_ || (now < next_ && !is_new)) return;
  next_ = now + std::chrono::milliseconds(200);
  const double rate = bytes_per_second(progress.total_done, now);
  std::string text = progress_text(progress, rate);
  const uint32_t n_columns = terminal_columns(2);
  if (text.size() >= n_columns) text.resize(n_columns > 1 ? n_columns - 1 : 0);
  std::fputs(("\r\033[K" + text).c_str(), stderr);
  std::fflush(stderr);
  is_drawn_ = true;
}

Result<hub::StoredModel> pull_shown(const hub::ModelName& name, const hub::Store& store,
                                    const hub::HubSettings& settings,
                                    const std::function<bool(uint64_t n_bytes)>& agrees) {
  const CancelScope scope;
  if (!settings.offline) RZ_CHECK_OK(tell_of_search(name, settings));
  hub::HubSettings telling = settings;
  telling.download.on_retry = [](const Error& error, std::chrono::milliseconds wait) {
    const std::chrono::duration<double> seconds = wait;
    warn(fmt::format("{}; trying again in {:.1f} s", error.message, seconds.count()));
  };
  RZ_TRY(const hub::RemoteModel remote, hub::look_up(name, telling, is_cancelled));
  if (agrees && !agrees(hub::total_bytes(remote))) {
    return Error{ErrorCode::kCancelled, fmt::format("{} is not downloaded", hub::to_string(name)), ""};
  }
  PullView view;
  return hub::pull(
      name, remote, store, settings, [&view](const hub::PullProgress& progress) { view.update(progress); },
      is_cancelled);
}

}  // namespace realizar::cli
