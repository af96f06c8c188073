// A connection to a Redis: questions go out together, their replies are read, and all of it ends at a deadline. Its
// thread waits meanwhile, unless a StopSignal ends that too.
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

// Ends what waits at connections, from any thread, for good.
class StopSignal {
 public:
  StopSignal();
  void send() const;
  int fd() const { return event_.get(); }

 private:
  FileDescriptor event_;
};

// Errors that a connection gives have this subject where the deadline has passed, else "redis", save those by which
// Redis refuses the user or the password.
inline constexpr const char* kRedisIsSlow = "redis_slow";
inline constexpr const char* kRedisRefuses = "redis_password";

class RedisConnection {
 public:
  using Clock = std::chrono::steady_clock;
  using Command = std::vector<std::string_view>;

  // Connects, gives the password, where there is one, and chooses the database. `stop` must outlive it. Errors:
  // NotFound (nobody answers there, with the reason; at once or for two seconds), FormatError, and InvalidArgument
  // (kRedisRefuses).
  static Result<std::unique_ptr<RedisConnection>> open(const CacheUrl& url, const std::string& password,
                                                       const StopSignal& stop, Clock::time_point deadline);
  virtual ~RedisConnection() = default;

  // The replies to all commands, in their order; those that are errors stand among them. After an error of this
  // function the connection is of no use any more. Errors: NotFound (it is lost, or silent for two seconds),
  // FormatError.
  virtual Result<std::vector<RedisReply>> ask(std::span<const Command> commands, const ReplyBounds& bounds,
                                              Clock::time_point deadline) = 0;
  // Bytes that the last question has brought, whether or not it went well.
  virtual size_t n_received() const = 0;
};

}  // namespace realizar::server
