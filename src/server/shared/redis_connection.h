// A connection to a Redis: sends questions together and reads their replies, all with a deadline. The calling thread
// waits for them, unless a StopSignal ends that too.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "realizar/result.h"
#include "server/shared/cache_url.h"
#include "server/shared/redis_reply.h"

namespace realizar::server {

// Permanently ends waits on connections, from any thread.
class StopSignal {
 public:
  StopSignal();
  void send() const;
  int fd() const { return event_.get(); }

 private:
  FileDescriptor event_;
};

// The subject of a connection's errors if the deadline has passed; otherwise "redis", except for errors by which Redis
// refuses the user or the password.
inline constexpr const char* kRedisIsSlow = "redis_slow";
inline constexpr const char* kRedisRefuses = "redis_password";

class RedisConnection {
 public:
  using Clock = std::chrono::steady_clock;
  using Command = std::vector<std::string_view>;

  // Connects, sends the password, if any, and selects the database. `stop` must outlive it. Errors: NotFound (no server
  // answers, with the reason; at once or after two seconds), FormatError, and InvalidArgument (kRedisRefuses).
  static Result<std::unique_ptr<RedisConnection>> open(const CacheUrl& url, const std::string& password,
                                                       const StopSignal& stop, Clock::time_point deadline);
  virtual ~RedisConnection() = default;

  // The replies to all commands, in order, including error replies. After an error of this function the connection can
  // no longer be used. Errors: NotFound (lost, or silent for two seconds), FormatError.
  virtual Result<std::vector<RedisReply>> ask(std::span<const Command> commands, const ReplyBounds& bounds,
                                              Clock::time_point deadline) = 0;
  // Bytes received for the last question, whether or not it succeeded.
  virtual size_t n_received() const = 0;
};

}  // namespace realizar::server
