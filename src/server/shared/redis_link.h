// A Redis that may be reachable or not. All workers share its state, each has its own connection: once it is lost, only
// one of them tries to reach it again, less and less often, and no request waits for that.
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
  // Connections with another number were made before it was lost.
  uint64_t n_losses() const;
  // Logs the first of several in a row.
  void note_lost(const std::string& why, Clock::time_point now);
  void note_found();
  // When to look for it again.
  Clock::time_point next_try() const;

  // Whether it accepts values.
  bool takes_values(Clock::time_point now) const;
  // It refused a value, with this reason.
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

  // The maximum time of a question without a deadline, however steadily its answer arrives. A longer time means that
  // Redis is lost.
  static constexpr std::chrono::seconds kMostTime{30};

  RedisLink(const CacheUrl& url, const std::string& password, const StopSignal& stop, RedisHealth& health)
      : url_(url), password_(password), stop_(stop), health_(health) {}

  // The replies. If Redis is lost, this is noted. Errors: those of RedisConnection.
  Result<std::vector<RedisReply>> ask(std::span<const Command> commands, const ReplyBounds& bounds,
                                      std::optional<Clock::time_point> deadline = {});
  // Bytes of the last question's answer.
  size_t n_received() const { return n_received_; }
  // Checks whether it answers. Errors: as for ask.
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
