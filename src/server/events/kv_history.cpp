#include "server/events/kv_history.h"

#include <utility>

namespace realizar::server {

constexpr size_t kNumberBytes = 8;

uint64_t KvHistory::add(std::string message) {
  n_bytes_ += message.size();
  messages_.push_back(std::move(message));
  while (messages_.size() > max_messages_ || (n_bytes_ > max_bytes_ && messages_.size() > 1)) {
    n_bytes_ -= messages_.front().size();
    messages_.pop_front();
    ++first_;
  }
  return next() - 1;
}

void KvHistory::begin_anew() {
  messages_.clear();
  n_bytes_ = 0;
  first_ = 0;
}

const std::string* KvHistory::find(uint64_t number) const {
  return number < first_ || number >= next() ? nullptr : &messages_[number - first_];
}

std::string kv_number_bytes(uint64_t number) {
  std::string bytes;
  for (size_t i = kNumberBytes; i-- > 0;) bytes.push_back(static_cast<char>(number >> (8 * i)));
  return bytes;
}

std::optional<uint64_t> read_kv_request(const std::vector<std::string>& frames) {
  if (frames.size() != 2 || !frames[0].empty() || frames[1].size() != kNumberBytes) return std::nullopt;
  uint64_t number = 0;
  for (const char byte : frames[1]) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

}  // namespace realizar::server
