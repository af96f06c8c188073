#include "grammar/schema/multiples.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace realizar::grammar {
namespace {

constexpr uint64_t kMaxDivisor = uint64_t{1} << 31;
constexpr size_t kMaxPlaces = 32;
constexpr size_t kMaxRemainders = 5'000;

// value / 10^places
struct Scaled {
  uint64_t value = 0;
  size_t places = 0;
};

std::optional<Scaled> scaled(const Decimal& number) {
  const std::string digits = number.whole + number.fraction;
  Scaled out{0, number.fraction.size()};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.value);
  if (error != std::errc() || out.value > kMaxDivisor || out.places > kMaxPlaces) return std::nullopt;
  return out;
}

// With p and k such that the divisor is p / 10^k, a number is a multiple if its whole part followed by the first k
// digits of its fraction is a multiple of p, and the rest are zeros. A state is the remainder of the digits so far and
// the number of fraction digits among them. Remainders with the same completions are one state (Myhill and Nerode), so
// that a divisor of 1,000,000 needs only a few states.
class Multiples {
 public:
  Multiples(uint64_t p, size_t k, bool is_integer) : p_(p), k_(k), is_integer_(is_integer) {
    for (uint64_t power = 1; power < p_; power *= 10) ++n_digits_;
  }

  std::optional<TextMachine> run() {
    out_.states.resize(1);
    states_ = {{Phase::kStart, 0, 0}};
    for (uint32_t id = 0; id < states_.size(); ++id) {
      add_edges(id);
      if (states_.size() > kMaxRemainders) return std::nullopt;
    }
    return std::move(out_);
  }

 private:
  enum class Phase : uint8_t { kStart, kSign, kWhole, kPoint, kFraction };
  struct State {
    Phase phase;
    size_t n_fraction;
    uint64_t remainder;
  };
  using Key = std::pair<std::pair<Phase, size_t>, std::vector<uint64_t>>;
  static constexpr uint64_t kNever = ~uint64_t{0};

  // The number of n digits that completes a multiple; kNever if there is none.
  uint64_t completion(uint64_t remainder, size_t n) const {
    uint64_t power = 1;
    for (size_t i = 0; i < n; ++i) {
      remainder = remainder * 10 % p_;
      power = std::min(power * 10, 10 * kMaxDivisor);
    }
    const uint64_t missing = (p_ - remainder) % p_;
    return missing < power ? missing : kNever;
  }

  Key key_of(const State& state) const {
    Key key{{state.phase, state.n_fraction}, {}};
    if (state.phase == Phase::kWhole) {
      for (size_t n = k_; n <= std::max(k_, n_digits_); ++n) key.second.push_back(completion(state.remainder, n));
    } else {
      key.second.push_back(completion(state.remainder, k_ - state.n_fraction));
    }
    return key;
  }

  bool is_dead(const State& state) const {
    return state.phase >= Phase::kPoint && completion(state.remainder, k_ - state.n_fraction) == kNever;
  }

  uint32_t id_of(const State& state) {
    const auto [found, is_new] = ids_.try_emplace(key_of(state), static_cast<uint32_t>(states_.size()));
    if (is_new) {
      states_.push_back(state);
      const bool has_digit = state.phase == Phase::kWhole || state.phase == Phase::kFraction;
      const bool accepting = has_digit && completion(state.remainder, k_ - state.n_fraction) == 0;
      out_.states.push_back({accepting, {}});
    }
    return found->second;
  }

  void add_edges(uint32_t id) {
    const State state = states_[id];
    std::map<uint32_t, CodeRanges> digits_by_state;
    for (uint32_t digit = 0; digit < 10; ++digit) {
      const auto next = after(state, digit);
      if (next && !is_dead(*next)) digits_by_state[id_of(*next)].push_back({'0' + digit, '0' + digit});
    }
    std::vector<TextMachine::Edge> edges;
    for (const auto& [to, digits] : digits_by_state) edges.push_back({digits, to});
    if (state.phase == Phase::kStart) edges.push_back({{{'-', '-'}}, id_of({Phase::kSign, 0, 0})});
    const State point{Phase::kPoint, 0, state.remainder};
    if (state.phase == Phase::kWhole && !is_integer_ && !is_dead(point)) {
      edges.push_back({{{'.', '.'}}, id_of(point)});
    }
    out_.states[id].edges = std::move(edges);
  }

  std::optional<State> after(const State& state, uint64_t digit) const {
    const uint64_t remainder = (state.remainder * 10 + digit) % p_;
    if (state.phase < Phase::kPoint) return State{Phase::kWhole, 0, remainder};
    if (state.n_fraction < k_) return State{Phase::kFraction, state.n_fraction + 1, remainder};
    return digit == 0 ? std::optional(State{Phase::kFraction, k_, state.remainder}) : std::nullopt;
  }

  uint64_t p_;
  size_t k_;
  bool is_integer_;
  size_t n_digits_ = 0;        // 10^n_digits is at least p
  std::vector<State> states_;  // by id
  std::map<Key, uint32_t> ids_;
  TextMachine out_;
};

}  // namespace

std::optional<TextMachine> multiples_of(const Decimal& divisor, bool is_integer) {
  auto number = scaled(divisor);
  if (!number) return std::nullopt;
  for (; is_integer && number->places > 0; --number->places) number->value /= std::gcd(number->value, uint64_t{10});
  return Multiples(number->value, number->places, is_integer).run();
}

std::optional<Decimal> common_multiple(const Decimal& a, const Decimal& b) {
  auto x = scaled(a), y = scaled(b);
  if (!x || !y) return std::nullopt;
  for (; x->places < y->places && x->value <= kMaxDivisor; ++x->places) x->value *= 10;
  for (; y->places < x->places && y->value <= kMaxDivisor; ++y->places) y->value *= 10;
  if (x->places != y->places) return std::nullopt;
  const uint64_t factor = y->value / std::gcd(x->value, y->value);
  if (x->value > kMaxDivisor || factor > kMaxDivisor || x->value * factor > kMaxDivisor) return std::nullopt;
  return decimal_of(std::to_string(x->value * factor) + "e-" + std::to_string(x->places));
}

}  // namespace realizar::grammar
