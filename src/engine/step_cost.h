// The cost of a step with prompt tokens: a fixed part and one for each token. Both are learned from durations by a
// Kalman filter (R. E. Kalman, 1960) whose state they are: a machine's speed drifts and contexts grow deeper, so both
// may drift; single steps are interrupted, so no duration moves them far.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace realizar::engine {

class StepCost {
 public:
  bool is_known() const { return token_ms_ > 0; }
  double fixed_ms() const { return fixed_ms_; }
  double token_ms() const { return token_ms_; }
  double ms(uint32_t n_tokens) const { return fixed_ms_ + token_ms_ * n_tokens; }
  // Steps of different sizes have separated the two parts.
  bool is_split_known() const { return var_token_ < square(kSure * token_ms_); }

  // An initial estimate.
  void start(double fixed_ms, double token_ms) {
    fixed_ms_ = fixed_ms;
    token_ms_ = std::max(token_ms, kLeastTokenMs);
    doubt();
  }

  // Like `other`, with a fixed part that is longer by `more_ms`, plus or minus `deviation_ms`.
  void start_like(const StepCost& other, double more_ms, double deviation_ms) {
    *this = other;
    fixed_ms_ = std::max(fixed_ms_ + more_ms, 0.0);
    var_fixed_ += square(deviation_ms);
  }

  // A step of n_tokens took `measured_ms`.
  void observe(uint32_t n_tokens, double measured_ms) {
    const double n = n_tokens, expected_ms = ms(n_tokens);
    walk(expected_ms);
    const double with_fixed = var_fixed_ + covariance_ * n, with_token = covariance_ + var_token_ * n;
    const double variance = with_fixed + with_token * n + var_noise_ * square(expected_ms);
    const double most = kMaxSurprise * std::sqrt(variance), error_ms = measured_ms - expected_ms;
    const double surprise = std::clamp(error_ms, -most, most) / variance;
    // A single large error is an interruption; several in the same direction mean that the costs have changed.
    const bool is_alike = std::abs(error_ms) > most && std::signbit(error_ms) == std::signbit(last_error_ms_);
    n_alike_ = is_alike ? n_alike_ + 1 : 0;
    last_error_ms_ = error_ms;
    fixed_ms_ += with_fixed * surprise;
    token_ms_ += with_token * surprise;
    var_fixed_ -= with_fixed * with_fixed / variance;
    var_token_ -= with_token * with_token / variance;
    covariance_ -= with_fixed * with_token / variance;
    keep_positive();
    if (n_alike_ == kManyAlike) doubt();
    const double share = std::clamp(std::abs(error_ms) / expected_ms, kLeastNoise, kMostNoise);
    var_noise_ += (square(share) - var_noise_) * kNewest;
  }

 private:
  // Relative standard deviations: of a duration, initial and learned; of the change of the parts between steps; of an
  // estimated token cost, and of a known one.
  static constexpr double kNoise = 0.15, kLeastNoise = 0.05, kMostNoise = 0.3;
  static constexpr double kWalk = 0.02, kUnsure = 0.5, kSure = 0.15;
  static constexpr double kNewest = 0.05;    // weight of one duration in the learned noise
  static constexpr double kMaxSurprise = 2;  // standard deviations by which a duration counts at most
  static constexpr uint32_t kManyAlike = 3;
  static constexpr double kFixedTokens = 64;  // an unknown fixed part may cost as much as this many tokens
  static constexpr double kLeastTokenMs = 1e-5;

  static double square(double x) { return x * x; }

  void doubt() {
    var_fixed_ = square(most_fixed_deviation());
    var_token_ = square(kUnsure * token_ms_);
    covariance_ = 0;
    n_alike_ = 0;
  }

  // The amount by which one part would become negative is moved to the other, as far as they are correlated.
  void keep_positive() {
    if (fixed_ms_ < 0) {
      token_ms_ -= covariance_ / var_fixed_ * fixed_ms_;
      fixed_ms_ = 0;
    }
    if (token_ms_ < kLeastTokenMs) {
      fixed_ms_ = std::max(fixed_ms_ + covariance_ / var_token_ * (kLeastTokenMs - token_ms_), 0.0);
      token_ms_ = kLeastTokenMs;
    }
  }

  double most_fixed_deviation() const { return fixed_ms_ + kFixedTokens * token_ms_; }

  void walk(double expected_ms) {
    grow(var_fixed_, kWalk * expected_ms, most_fixed_deviation());
    grow(var_token_, kWalk * token_ms_, kUnsure * token_ms_);
  }

  // If no step separates the parts, their variances must not grow without limit.
  void grow(double& variance, double deviation, double most) {
    variance += square(deviation);
    if (variance <= square(most)) return;
    covariance_ *= most / std::sqrt(variance);
    variance = square(most);
  }

  double fixed_ms_ = 0, token_ms_ = 0;
  double var_fixed_ = 0, var_token_ = 0, covariance_ = 0;
  double last_error_ms_ = 0;
  uint32_t n_alike_ = 0;  // consecutive errors in the same direction
  double var_noise_ = square(kNoise);
};

}  // namespace realizar::engine
