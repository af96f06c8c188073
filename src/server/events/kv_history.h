// The messages that were published last, numbered from 0, for subscribers that have missed some. llm-d takes a reply
// only where it begins with the message that was asked for and leaves none out, and takes numbers that begin at 0 anew
// for a server that has: so where the first messages are not kept any more, numbers begin anew.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace realizar::server {

class KvHistory {
 public:
  static constexpr size_t kMaxMessages = 10'000;  // as vLLM keeps
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  explicit KvHistory(size_t max_messages = kMaxMessages, size_t max_bytes = kMaxBytes)
      : max_messages_(max_messages), max_bytes_(max_bytes) {}

  // Gives the message's number.
  uint64_t add(std::string message);
  // Forgets all; the next number is 0.
  void begin_anew();
  uint64_t next() const { return first_ + messages_.size(); }
  // Null: it is not kept, or was not published yet.
  const std::string* find(uint64_t number) const;

 private:
  size_t max_messages_, max_bytes_, n_bytes_ = 0;
  uint64_t first_ = 0;  // that is kept
  std::deque<std::string> messages_;
};

// The eight bytes of a number, as they stand in messages.
std::string kv_number_bytes(uint64_t number);

// A message of a subscriber to the replay socket, without its identity: an empty frame, which REQ sockets add by
// themselves, and the first number that is wanted. nullopt: something else.
std::optional<uint64_t> read_kv_request(const std::vector<std::string>& frames);

}  // namespace realizar::server
