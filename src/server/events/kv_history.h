// The most recently published messages, numbered from 0, for subscribers that have missed some. llm-d accepts a reply
// only if it begins with the requested message and has no gaps, and takes a sequence that restarts at 0 for a restarted
// server: so when the first messages are no longer kept, numbering restarts.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace realizar::server {

class KvHistory {
 public:
  static constexpr size_t kMaxMessages = 10'000;  // as in vLLM
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  explicit KvHistory(size_t max_messages = kMaxMessages, size_t max_bytes = kMaxBytes)
      : max_messages_(max_messages), max_bytes_(max_bytes) {}

  // Returns the message's number.
  uint64_t add(std::string message);
  // Drops all messages; the next number is 0.
  void begin_anew();
  uint64_t next() const { return first_ + messages_.size(); }
  // Null: no longer kept, or not yet published.
  const std::string* find(uint64_t number) const;

 private:
  size_t max_messages_, max_bytes_, n_bytes_ = 0;
  uint64_t first_ = 0;  // the first kept number
  std::deque<std::string> messages_;
};

// The eight bytes of a number in a message.
std::string kv_number_bytes(uint64_t number);

// A subscriber's message to the replay socket, without its identity: an empty frame, which REQ sockets add by
// themselves, and the first requested number. nullopt: anything else.
std::optional<uint64_t> read_kv_request(const std::vector<std::string>& frames);

}  // namespace realizar::server
