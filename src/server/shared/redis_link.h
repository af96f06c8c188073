// A Redis that may be there or not. All workers share what is known of it, each has a connection of its own: once it is
// lost, only one of them tries to find it again, ever more rarely, and no request waits for that.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"
#include "server/shared/redis_connection.h"
#include "server/shared/shared_counters.h"

namespace realizar::server {

class RedisHealth {
 public:
  using Clock = std::chrono::steady_clock;

  RedisHealth(std::string name, SharedCounters& counters) : name_(std::move(name)), counters_(counters) {}

  bool is_up() const { return counters_.is_up.load(std::memory_order_relaxed); }
  // Connections of other numbers are from before it was lost.
  uint64_t n_losses() const;
  // Logs the first of several in a row.
  void note_lost(const std::string& why, Clock::time_point now);
  void note_found();
  // When to look for it again.
  Clock::time_point next_try() const;

  // Whether it takes values.
  bool takes_values(Clock::time_point now) const;
  // It took none, with this reason.
  void note_refused(std::string_view why, Clock::time_point now);
  void note_taken();

 private:
  const std::string name_;  // for the log
  SharedCounters& counters_;
  mutable std::mutex mutex_;
  uint64_t n_losses_ = 0;
  Clock::duration pause_{};
  Clock::time_point next_try_{}, next_value_{};
  bool is_refusing_ = false;
};

class RedisLink {
 public:
  using Clock = RedisHealth::Clock;
  using Command = RedisConnection::Command;

  // Most that a question without a deadline may take, however steadily its answer comes. One that takes longer means
  // that Redis is lost.
  static constexpr std::chrono::seconds kMostTime{30};

  RedisLink(const CacheUrl& url, const std::string& password, const StopSignal& stop, RedisHealth& health)
      : url_(url), password_(password), stop_(stop), health_(health) {}

  // The replies. Where it is lost by this, that is noted. Errors: those of RedisConnection.
  Result<std::vector<RedisReply>> ask(std::span<const Command> commands, const ReplyBounds& bounds,
                                      std::optional<Clock::time_point> deadline = {});
  // Bytes of the last question's answer.
  size_t n_received() const { return n_received_; }
  // Looks whether it is there. Errors: as ask.
  Status probe();

 private:
  Status connect(Clock::time_point deadline);

  const CacheUrl& url_;
  const std::string& password_;
  const StopSignal& stop_;
  RedisHealth& health_;
  std::unique_ptr<RedisConnection> connection_;
  uint64_t n_losses_ = 0;  // before the connection was made
  size_t n_received_ = 0;
};

}  // namespace realizar::server
