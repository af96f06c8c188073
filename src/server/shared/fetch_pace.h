// How long a request may wait for shared prefixes, and how long they take. Only computes numbers, without a clock or
// threads.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

namespace realizar::server {

// The time to compute a token of a prompt, measured on recent prompts, which may have shared their steps.
class ComputeRate {
 public:
  // Most of a short prompt's time is the fixed time of a step.
  static constexpr uint32_t kLeastTokens = 16;
  // Used until a prompt was computed.
  static constexpr double kUnknownTokenMs = 0.25;

  void observe(uint32_t n_tokens, double ms) {
    if (n_tokens < kLeastTokens || ms <= 0) return;
    const double seen = ms / n_tokens;
    token_ms_ = token_ms_ == 0 ? seen : token_ms_ + (seen - token_ms_) * kNewest;
  }
  double ms_for(uint64_t n_tokens) const {
    return (token_ms_ == 0 ? kUnknownTokenMs : token_ms_) * static_cast<double>(n_tokens);
  }

 private:
  static constexpr double kNewest = 0.25;
  double token_ms_ = 0;
};

// The time that Redis takes: per question, and per byte of its answer. A measurement counts half as much ten seconds
// later, so that a Redis that was slow is tried again.
class FetchPace {
 public:
  using Clock = std::chrono::steady_clock;

  // For a question with a short answer.
  void observe_trip(double ms, Clock::time_point now) { trip_.observe(ms, now); }
  // For a question that brought n_bytes in that time, or not even all of them.
  void observe_bytes(size_t n_bytes, double ms, Clock::time_point now) {
    const double left_ms = std::max(ms - trip_.at(now), ms / 2);
    byte_.observe(left_ms / static_cast<double>(std::max<size_t>(n_bytes, 1)), now);
  }

  double ms_for(size_t n_questions, size_t n_bytes, Clock::time_point now) const {
    return trip_.at(now) * static_cast<double>(n_questions) + byte_.at(now) * static_cast<double>(n_bytes);
  }
  // How many bytes arrive in that time.
  size_t bytes_in(double ms, Clock::time_point now) const {
    const double byte_ms = byte_.at(now), left_ms = std::max(ms - trip_.at(now), 0.0);
    constexpr double kMost = 1e15;
    return static_cast<size_t>(byte_ms > 0 ? std::min(left_ms / byte_ms, kMost) : kMost);
  }

 private:
  class Fading {
   public:
    void observe(double value, Clock::time_point now) {
      value_ = value_ == 0 ? value : at(now) + (value - at(now)) * kNewest;
      seen_at_ = now;
    }
    double at(Clock::time_point now) const {
      if (value_ == 0) return 0;
      const double age_s = std::chrono::duration<double>(now - seen_at_).count();
      return value_ * std::exp2(-std::max(age_s, 0.0) / kHalfLifeS);
    }

   private:
    static constexpr double kNewest = 0.5, kHalfLifeS = 10;
    double value_ = 0;
    Clock::time_point seen_at_;
  };

  Fading trip_, byte_;
};

// Recently noted names, each with a number. Drops the oldest ones beyond a limit. One thread at a time.
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
