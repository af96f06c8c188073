// What a step costs that computes prompt tokens: a fixed part and one for each token. Both are learned from durations
// alone, by a Kalman filter (R. E. Kalman, 1960) whose state they are: a machine's speed drifts and contexts grow
// deeper, so both may walk; single steps are interrupted, so no duration moves them far.
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
  // Steps of different sizes have told the parts apart.
  bool is_split_known() const { return var_token_ < square(kSure * token_ms_); }

  // A first guess.
  void start(double fixed_ms, double token_ms) {
    fixed_ms_ = fixed_ms;
    token_ms_ = std::max(token_ms, kLeastTokenMs);
    doubt();
  }

  // As `other`, with a fixed part that is `more_ms` longer, give or take `deviation_ms`.
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
    // One is an interruption; several alike mean that the costs are others.
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
  // Standard deviations, as shares of what they belong to: of a duration, first and learned; of what the parts change
  // from one step to the next; of a token's cost that is a guess, and of one that is known.
  static constexpr double kNoise = 0.15, kLeastNoise = 0.05, kMostNoise = 0.3;
  static constexpr double kWalk = 0.02, kUnsure = 0.5, kSure = 0.15;
  static constexpr double kNewest = 0.05;    // the weight of a duration in the noise that is learned
  static constexpr double kMaxSurprise = 2;  // standard deviations that a duration counts for at most
  static constexpr uint32_t kManyAlike = 3;
  static constexpr double kFixedTokens = 64;  // a fixed part that is not known may cost as much as these
  static constexpr double kLeastTokenMs = 1e-5;

  static double square(double x) { return x * x; }

  void doubt() {
    var_fixed_ = square(most_fixed_deviation());
    var_token_ = square(kUnsure * token_ms_);
    covariance_ = 0;
    n_alike_ = 0;
  }

  // What one part may not give the other one does, as far as they go together.
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

  // Where no step tells the parts apart, their variances must not grow for ever.
  void grow(double& variance, double deviation, double most) {
    variance += square(deviation);
    if (variance <= square(most)) return;
    covariance_ *= most / std::sqrt(variance);
    variance = square(most);
  }

  double fixed_ms_ = 0, token_ms_ = 0;
  double var_fixed_ = 0, var_token_ = 0, covariance_ = 0;
  double last_error_ms_ = 0;
  uint32_t n_alike_ = 0;  // surprises in a row, all too long or all too short
  double var_noise_ = square(kNoise);
};

}  // namespace realizar::engine
