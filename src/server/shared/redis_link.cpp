#include "server/shared/redis_link.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "base/try.h"

namespace realizar::server {
namespace {

constexpr std::chrono::milliseconds kFirstPause{250}, kLongestPause{15'000};
constexpr std::chrono::seconds kRefusalPause{10};

}  // namespace

uint64_t RedisHealth::n_losses() const {
  const std::lock_guard lock(mutex_);
  return n_losses_;
}

void RedisHealth::note_lost(const std::string& why, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const bool was_up = counters_.is_up.exchange(false, std::memory_order_relaxed);
  counters_.n_lost.fetch_add(1, std::memory_order_relaxed);
  ++n_losses_;
  pause_ = std::clamp<Clock::duration>(pause_ * 2, kFirstPause, kLongestPause);
  next_try_ = now + pause_;
  if (was_up) spdlog::warn("{} is lost: {}; prefixes are not shared until it answers again", name_, why);
}

void RedisHealth::note_found() {
  const std::lock_guard lock(mutex_);
  pause_ = {};
  if (counters_.is_up.exchange(true, std::memory_order_relaxed)) return;
  spdlog::info("{} answers: prefixes are shared there", name_);
}

RedisHealth::Clock::time_point RedisHealth::next_try() const {
  const std::lock_guard lock(mutex_);
  return next_try_;
}

bool RedisHealth::takes_values(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return now >= next_value_;
}

void RedisHealth::note_refused(std::string_view why, Clock::time_point now) {
  counters_.n_refused.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  next_value_ = now + kRefusalPause;
  if (std::exchange(is_refusing_, true)) return;
  spdlog::warn("{} refuses prefixes: {}; trying again every {} s", name_, realizar::shown(why), kRefusalPause.count());
}

void RedisHealth::note_taken() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_refusing_, false)) spdlog::info("{} takes prefixes again", name_);
}

Status RedisLink::connect(Clock::time_point deadline) {
  const uint64_t n_losses = health_.n_losses();
  if (connection_ != nullptr && n_losses == n_losses_) return {};
  connection_.reset();
  RZ_TRY(connection_, RedisConnection::open(url_, password_, stop_, deadline));
  n_losses_ = n_losses;
  return {};
}

Result<std::vector<RedisReply>> RedisLink::ask(std::span<const Command> commands, const ReplyBounds& bounds,
                                               std::optional<Clock::time_point> deadline) {
  n_received_ = 0;
  const auto end = deadline.value_or(Clock::now() + kMostTime);
  const Status connected = connect(end);
  auto replies =
      connected.ok() ? connection_->ask(commands, bounds, end) : Result<std::vector<RedisReply>>(connected.error());
  if (connection_ != nullptr) n_received_ = connection_->n_received();
  if (replies.ok()) return replies;
  connection_.reset();
  const Error& error = replies.error();
  const bool was_hurried = error.subject == kRedisIsSlow && deadline.has_value();
  if (!was_hurried && error.code != ErrorCode::kCancelled) health_.note_lost(error.message, Clock::now());
  return replies;
}

Status RedisLink::probe() {
  const Command ping[] = {{"PING"}};
  RZ_TRY(const auto replies, ask(ping, {}));
  if (replies.front().is_error()) {
    const std::string& why = replies.front().text;
    health_.note_lost(realizar::shown(why), Clock::now());
    return not_found(realizar::shown(why), "redis");
  }
  health_.note_found();
  return {};
}

}  // namespace realizar::server
