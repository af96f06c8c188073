// The loop of byte-pair encoding: among all adjacent symbols that have a merge, the pair with the lowest rank is
// merged, the leftmost of equals first, until none is left.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

namespace realizar::text {

struct Merge {
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  uint32_t rank = kNone;
  int32_t id = -1;  // the symbol that the pair becomes
};

// Up to this many symbols the quadratic loop, which needs no additional memory, is faster.
inline constexpr size_t kShortWord = 48;

// `lookup(left, right)` returns the Merge of two symbols. Merges in place; returns the number of symbols left.
// symbols.size() <= kShortWord.
template <class Lookup>
size_t merge_short(std::span<int32_t> symbols, const Lookup& lookup) {
  Merge merges[kShortWord];  // merges[i]: of symbols i and i + 1
  size_t n = symbols.size();
  for (size_t i = 0; i + 1 < n; ++i) merges[i] = lookup(symbols[i], symbols[i + 1]);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == Merge::kNone) break;
    symbols[best] = merges[best].id;
    --n;
    for (size_t i = best + 1; i < n; ++i) {
      symbols[i] = symbols[i + 1];
      merges[i - 1] = merges[i];
    }
    if (best > 0) merges[best - 1] = lookup(symbols[best - 1], symbols[best]);
    if (best + 1 < n) merges[best] = lookup(symbols[best], symbols[best + 1]);
  }
  return n;
}

// The positions that wait for a merge of one rank, returned from left to right. Positions mostly arrive in that order,
// so they are a list; a heap holds the few that arrive late.
class PositionQueue {
 public:
  void push(uint32_t position) {
    if (in_order_.empty() || in_order_.back() < position) {
      in_order_.push_back(position);
    } else {
      late_.push(position);
    }
  }
  bool empty() const { return next_ == in_order_.size() && late_.empty(); }
  uint32_t pop() {
    if (late_.empty() || (next_ < in_order_.size() && in_order_[next_] < late_.top())) return in_order_[next_++];
    const uint32_t position = late_.top();
    late_.pop();
    return position;
  }

 private:
  std::vector<uint32_t> in_order_;
  size_t next_ = 0;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> late_;
};

// Merges words of any length in near linear time. symbols.size() < 2^32.
template <class Lookup>
class LongMerger {
 public:
  LongMerger(std::span<int32_t> symbols, const Lookup& lookup) : symbols_(symbols), lookup_(lookup) {}

  size_t run() {
    link();
    while (!ranks_.empty()) {
      const uint32_t rank = ranks_.top();
      PositionQueue& queue = waiting_[rank];
      if (queue.empty()) {
        waiting_.erase(rank);
        ranks_.pop();
        continue;
      }
      const uint32_t left = queue.pop();
      if (links_[left].merge.rank == rank) merge_at(left);
    }
    return compact();
  }

 private:
  static constexpr uint32_t kEnd = 0xFFFFFFFF;
  struct Link {
    uint32_t previous = kEnd;
    uint32_t next = kEnd;
    Merge merge;  // of this symbol and the next
  };

  void link() {
    const auto n = static_cast<uint32_t>(symbols_.size());
    links_.resize(n);
    for (uint32_t i = 0; i < n; ++i) {
      if (i > 0) links_[i].previous = i - 1;
      if (i + 1 < n) links_[i].next = i + 1;
    }
    for (uint32_t i = 0; i < n; ++i) update(i);
  }

  void update(uint32_t left) {
    Link& link = links_[left];
    link.merge = link.next == kEnd ? Merge{} : lookup_(symbols_[left], symbols_[link.next]);
    if (link.merge.rank == Merge::kNone) return;
    const auto [entry, is_new] = waiting_.try_emplace(link.merge.rank);
    if (is_new) ranks_.push(link.merge.rank);
    entry->second.push(left);
  }

  void merge_at(uint32_t left) {
    const uint32_t right = links_[left].next;
    symbols_[left] = links_[left].merge.id;
    links_[left].next = links_[right].next;
    if (links_[right].next != kEnd) links_[links_[right].next].previous = left;
    links_[right].merge = {};
    update(left);
    if (links_[left].previous != kEnd) update(links_[left].previous);
  }

  size_t compact() {
    size_t n = 0;
    for (uint32_t i = 0; i != kEnd; i = links_[i].next) symbols_[n++] = symbols_[i];
    return n;
  }

  std::span<int32_t> symbols_;
  const Lookup& lookup_;
  std::vector<Link> links_;                                                     // one per symbol
  std::unordered_map<uint32_t, PositionQueue> waiting_;                         // by rank
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ranks_;  // the keys of waiting_
};

template <class Lookup>
size_t merge_symbols(std::span<int32_t> symbols, const Lookup& lookup) {
  if (symbols.size() <= kShortWord) return merge_short(symbols, lookup);
  return LongMerger<Lookup>(symbols, lookup).run();
}

}  // namespace realizar::text
