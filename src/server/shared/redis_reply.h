// Replies of a Redis, of which nothing is believed: they are of bounded size, read by hiredis's parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

struct redisReader;

namespace realizar::server {

struct RedisReply {
  enum class Kind : uint8_t { kNil, kText, kStatus, kError, kNumber, kList };
  Kind kind = Kind::kNil;
  std::string text;  // of a text, a status or an error
  int64_t number = 0;
  std::vector<RedisReply> list;  // lists in it have none in themselves

  bool is_error() const { return kind == Kind::kError; }
};

// The most that the replies to a question may have.
struct ReplyBounds {
  size_t n_bytes = 64 << 10;  // all together, as they arrive
  size_t n_items = 16;        // in lists, all together
};

class RedisReader {
 public:
  RedisReader();
  ~RedisReader();
  RedisReader(RedisReader&&) noexcept;
  RedisReader& operator=(RedisReader&&) noexcept;

  // Hold for what is fed from now on.
  void set_bounds(const ReplyBounds& bounds);
  // Takes what has arrived. Errors: FormatError (no reply of RESP2, or beyond the bounds); nothing can be read after
  // it.
  Status feed(std::span<const char> bytes);
  // The next whole reply; nullopt: more has to arrive. Errors: as feed.
  Result<std::optional<RedisReply>> next();

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  std::unique_ptr<ReplyBounds> left_;  // of the bounds
  std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace realizar::server
