// Replies of a Redis, which are not trusted: they are limited in size, and read by hiredis's parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "realizar/result.h"

struct redisReader;

namespace realizar::server {

struct RedisReply {
  enum class Kind : uint8_t { kNil, kText, kStatus, kError, kNumber, kList };
  Kind kind = Kind::kNil;
  std::string text;  // of a text, a status or an error
  int64_t number = 0;
  std::vector<RedisReply> list;  // nested lists contain no further lists

  bool is_error() const { return kind == Kind::kError; }
};

// The limits on the replies to a question.
struct ReplyBounds {
  size_t n_bytes = 64 << 10;  // in total, as received
  size_t n_items = 16;        // in lists, in total
};

class RedisReader {
 public:
  RedisReader();
  ~RedisReader();
  RedisReader(RedisReader&&) noexcept;
  RedisReader& operator=(RedisReader&&) noexcept;

  // Apply to data fed from now on.
  void set_bounds(const ReplyBounds& bounds);
  // Adds received data. Errors: FormatError (not a reply of RESP2, or beyond the limits); nothing can be read after it.
  Status feed(std::span<const char> bytes);
  // The next complete reply; nullopt: more data is needed. Errors: as for feed.
  Result<std::optional<RedisReply>> next();

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  std::unique_ptr<ReplyBounds> left_;  // of the limits
  std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace realizar::server
