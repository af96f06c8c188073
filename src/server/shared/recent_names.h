// Recently noted names, each with a number. Drops the oldest ones beyond a limit. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

namespace realizar::server {

class RecentNames {
 public:
  explicit RecentNames(size_t most) : most_(most) {}

  // A known name keeps its age.
  void note(uint64_t name, int64_t mark) {
    const auto [known, is_new] = marks_.try_emplace(name, mark);
    known->second = mark;
    if (!is_new) return;
    order_.push_back(name);
    while (order_.size() > most_) {
      marks_.erase(order_.front());
      order_.pop_front();
    }
  }

  // The number of a name among the most recent ones.
  std::optional<int64_t> find(uint64_t name) const {
    const auto known = marks_.find(name);
    return known != marks_.end() ? std::optional(known->second) : std::nullopt;
  }

  size_t size() const { return marks_.size(); }

 private:
  size_t most_;
  std::unordered_map<uint64_t, int64_t> marks_;
  std::deque<uint64_t> order_;  // in the order of first being noted
};

}  // namespace realizar::server
