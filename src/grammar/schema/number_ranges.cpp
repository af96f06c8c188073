#include "grammar/schema/number_ranges.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace realizar::grammar {
namespace {

constexpr size_t kMaxDigits = 32, kMaxExponent = 400;

int compare_whole(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}
int compare_magnitude(const Decimal& a, const Decimal& b) {
  const int whole = compare_whole(a.whole, b.whole);
  return whole != 0 ? whole : a.fraction.compare(b.fraction);
}

std::string plus_one(std::string whole) {
  for (size_t i = whole.size(); i-- > 0; whole[i] = '0') {
    if (whole[i] != '9') {
      ++whole[i];
      return whole;
    }
  }
  return "1" + whole;
}
std::string minus_one(std::string whole) {  // at least 1
  for (size_t i = whole.size(); i-- > 0; whole[i] = '9') {
    if (whole[i] != '0') {
      --whole[i];
      break;
    }
  }
  const size_t kept = std::min(whole.find_first_not_of('0'), whole.size() - 1);
  return whole.substr(kept);
}

// Creates the rules of ranges. The result is nullopt if there is no number between two bounds.
class RangeRules {
 public:
  explicit RangeRules(RuleBook& book) : book_(book) {}

  std::optional<ExprId> integers(const Bound& nearest, const std::optional<Bound>& farthest);
  std::optional<ExprId> numbers(const Bound& low, const std::optional<Bound>& high);

  ExprId any_digits(size_t min, size_t max) {
    if (max == 0) return book_.literal("");
    return book_.repeat(book_.char_of({{'0', '9'}}), min, max);
  }
  ExprId digit_range(char first, char last) {
    if (first == last) return book_.literal(std::string_view(&first, 1));
    return book_.char_of({{static_cast<uint32_t>(first), static_cast<uint32_t>(last)}});
  }
  std::optional<ExprId> any_of(const std::vector<ExprId>& options) {
    return options.empty() ? std::nullopt : std::optional(book_.choice(options));
  }
  RuleBook& book() { return book_; }

 private:
  ExprId same_length(std::string_view low, std::string_view high);
  std::optional<ExprId> whole(const std::string& low, const std::optional<std::string>& high);

  RuleBook& book_;
};

// Digit strings from low to high, all of the same length.
ExprId RangeRules::same_length(std::string_view low, std::string_view high) {
  const size_t n = low.size();
  size_t n_shared = 0;
  while (n_shared < n && low[n_shared] == high[n_shared]) ++n_shared;
  const ExprId prefix = book_.literal(low.substr(0, n_shared));
  if (n_shared == n) return prefix;
  low = low.substr(n_shared);
  high = high.substr(n_shared);
  const size_t n_rest = low.size() - 1;
  char first = low[0], last = high[0];
  std::vector<ExprId> options;
  if (low.substr(1).find_first_not_of('0') != std::string_view::npos) {
    const ExprId own = digit_range(first, first);
    options.push_back(book_.sequence({own, same_length(low.substr(1), std::string(n_rest, '9'))}));
    ++first;
  }
  std::optional<ExprId> top;
  if (high.substr(1).find_first_not_of('9') != std::string_view::npos) {
    const ExprId own = digit_range(last, last);
    top = book_.sequence({own, same_length(std::string(n_rest, '0'), high.substr(1))});
    --last;
  }
  if (first <= last) options.push_back(book_.sequence({digit_range(first, last), any_digits(n_rest, n_rest)}));
  if (top) options.push_back(*top);
  return book_.sequence({prefix, book_.choice(options)});
}

// Natural numbers from low to high, or without an upper bound.
std::optional<ExprId> RangeRules::whole(const std::string& low, const std::optional<std::string>& high) {
  if (high && compare_whole(low, *high) > 0) return std::nullopt;
  std::vector<ExprId> options;
  const size_t last_length = high ? high->size() : low.size();
  for (size_t n = low.size(); n <= last_length; ++n) {
    const std::string from = n == low.size() ? low : "1" + std::string(n - 1, '0');
    const std::string to = high && n == high->size() ? *high : std::string(n, '9');
    options.push_back(same_length(from, to));
  }
  if (!high) {
    const ExprId more = any_digits(low.size(), std::max(kMaxDigits - 1, low.size()));
    options.push_back(book_.sequence({digit_range('1', '9'), more}));
  }
  return any_of(options);
}

// Fractions, including the decimal point, or none, for numbers whose whole part equals that of a bound. Proceeds digit
// by digit while the text equals the bounds: `at_low`, `at_high`.
class Fractions {
 public:
  Fractions(RangeRules& ranges, const Bound* low, const Bound* high) : ranges_(ranges), low_(low), high_(high) {}

  std::optional<ExprId> run() {
    std::vector<ExprId> options;
    if (may_stop(0, low_ != nullptr, high_ != nullptr)) options.push_back(book().literal(""));
    if (const auto digits = from(0, low_ != nullptr, high_ != nullptr)) {
      options.push_back(book().sequence({book().literal("."), *digits}));
    }
    return ranges_.any_of(options);
  }

 private:
  RuleBook& book() { return ranges_.book(); }
  static char digit(const Bound* bound, size_t at) {
    return at < bound->value.fraction.size() ? bound->value.fraction[at] : '0';
  }
  static bool is_done(const Bound* bound, size_t at) { return at >= bound->value.fraction.size(); }

  // Whether the number may end after `at` digits of its fraction; the rest are implied zeros. Bounds have no trailing
  // zero.
  bool may_stop(size_t at, bool at_low, bool at_high) const {
    if (at_low && (!is_done(low_, at) || low_->exclusive)) return false;
    return !at_high || !is_done(high_, at) || !high_->exclusive;
  }

  // One more digit, and its possible continuations.
  std::optional<ExprId> from(size_t at, bool at_low, bool at_high) {
    if (!at_low && !at_high) return ranges_.any_digits(1, kMaxDigits);
    if ((!at_low || is_done(low_, at)) && (!at_high || is_done(high_, at))) return after_bounds(at_low, at_high);
    const char first = at_low ? digit(low_, at) : '0', last = at_high ? digit(high_, at) : '9';
    std::vector<ExprId> options;
    add(options, first, first, at, at_low, at_high && first == last);
    if (first < last) {
      const auto inner_first = static_cast<char>(first + 1), inner_last = static_cast<char>(last - 1);
      if (inner_first <= inner_last) add(options, inner_first, inner_last, at, false, false);
      add(options, last, last, at, false, at_high);
    }
    return ranges_.any_of(options);
  }

  void add(std::vector<ExprId>& options, char first, char last, size_t at, bool at_low, bool at_high) {
    const ExprId own = ranges_.digit_range(first, last);
    if (!at_low && !at_high) {
      options.push_back(book().sequence({own, ranges_.any_digits(0, kMaxDigits)}));
      return;
    }
    const auto rest = from(at + 1, at_low, at_high);
    const bool stops = may_stop(at + 1, at_low, at_high);
    if (rest) {
      options.push_back(book().sequence({own, stops ? book().optional(*rest) : *rest}));
    } else if (stops) {
      options.push_back(own);
    }
  }

  // The bounds have no further digits: a number equal to the upper one can only continue with zeros.
  std::optional<ExprId> after_bounds(bool at_low, bool at_high) {
    const auto zeros = [&](uint64_t min, uint64_t max) { return book().repeat(book().literal("0"), min, max); };
    if (at_high) return may_stop(kMaxExponent, at_low, at_high) ? std::optional(zeros(1, 32)) : std::nullopt;
    if (!low_->exclusive) return ranges_.any_digits(1, kMaxDigits);
    return book().sequence({zeros(0, 31), ranges_.digit_range('1', '9'), ranges_.any_digits(0, kMaxDigits)});
  }

  RangeRules& ranges_;
  const Bound* low_;
  const Bound* high_;
};

// Unsigned numbers from low (at least zero) to high.
std::optional<ExprId> RangeRules::numbers(const Bound& low, const std::optional<Bound>& high) {
  if (high && compare_whole(low.value.whole, high->value.whole) > 0) return std::nullopt;
  std::vector<ExprId> options;
  const auto add_with_fractions = [&](const std::string& whole_part, const Bound* from, const Bound* to) {
    const auto fractions = Fractions(*this, from, to).run();
    if (fractions) options.push_back(book_.sequence({book_.literal(whole_part), *fractions}));
  };
  const bool same_whole = high && high->value.whole == low.value.whole;
  add_with_fractions(low.value.whole, &low, same_whole ? &*high : nullptr);
  if (same_whole) return any_of(options);
  const auto last = high ? std::optional(minus_one(high->value.whole)) : std::nullopt;
  if (const auto between = whole(plus_one(low.value.whole), last)) {
    const ExprId any_fraction = book_.sequence({book_.literal("."), any_digits(1, kMaxDigits)});
    options.push_back(book_.sequence({*between, book_.optional(any_fraction)}));
  }
  if (high) add_with_fractions(high->value.whole, nullptr, &*high);
  return any_of(options);
}

// Unsigned integers, from the bound nearest to zero on.
std::optional<ExprId> RangeRules::integers(const Bound& nearest, const std::optional<Bound>& farthest) {
  const bool next = !nearest.value.fraction.empty() || nearest.exclusive;
  const std::string from = next ? plus_one(nearest.value.whole) : nearest.value.whole;
  if (!farthest) return whole(from, std::nullopt);
  const bool previous = farthest->value.fraction.empty() && farthest->exclusive;
  if (previous && farthest->value.whole == "0") return std::nullopt;
  return whole(from, previous ? minus_one(farthest->value.whole) : farthest->value.whole);
}

// Splits at zero; `range(low, high)` handles unsigned numbers. `-0` is never written.
std::optional<ExprId> signed_range(RangeRules ranges, const std::optional<Bound>& low, const std::optional<Bound>& high,
                                   std::optional<ExprId> (RangeRules::*range)(const Bound&,
                                                                              const std::optional<Bound>&)) {
  if (low && high && compare(low->value, high->value) > 0) return std::nullopt;
  const auto mirrored = [](Bound bound) {
    bound.value.negative = false;
    return bound;
  };
  std::vector<ExprId> options;
  if (!low || low->value.negative) {
    const bool reaches_zero = !high || !high->value.negative;
    const Bound nearest = reaches_zero ? Bound{{}, true} : mirrored(*high);
    const auto farthest = low ? std::optional(mirrored(*low)) : std::nullopt;
    if (const auto negative = (ranges.*range)(nearest, farthest)) {
      options.push_back(ranges.book().sequence({ranges.book().literal("-"), *negative}));
    }
  }
  if (!high || !high->value.negative) {
    const Bound from = low && !low->value.negative ? *low : Bound{};
    if (const auto positive = (ranges.*range)(from, high)) options.push_back(*positive);
  }
  return ranges.any_of(options);
}

}  // namespace

std::optional<Decimal> decimal_of(std::string_view text) {
  Decimal out;
  out.negative = text.starts_with('-');
  if (out.negative) text.remove_prefix(1);
  const size_t e = text.find_first_of("eE");
  int exponent = 0;
  if (e != std::string_view::npos) {
    exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
    text = text.substr(0, e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  if (point < text.size()) digits += text.substr(point + 1);
  if (digits.size() > kMaxExponent || std::abs(exponent) > static_cast<int>(kMaxExponent)) return std::nullopt;
  int n_whole = static_cast<int>(point) + exponent;
  if (n_whole < 0) {
    digits.insert(0, static_cast<size_t>(-n_whole), '0');
    n_whole = 0;
  }
  if (static_cast<size_t>(n_whole) > digits.size()) digits.append(static_cast<size_t>(n_whole) - digits.size(), '0');
  out.whole = digits.substr(0, static_cast<size_t>(n_whole));
  out.fraction = digits.substr(static_cast<size_t>(n_whole));
  out.whole.erase(0, out.whole.find_first_not_of('0'));
  if (out.whole.empty()) out.whole = "0";
  out.fraction.erase(out.fraction.find_last_not_of('0') + 1);
  if (out.is_zero()) out.negative = false;
  return out;
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  return a.negative ? compare_magnitude(b, a) : compare_magnitude(a, b);
}

std::optional<ExprId> integer_range(RuleBook& book, const std::optional<Bound>& low, const std::optional<Bound>& high) {
  return signed_range(RangeRules(book), low, high, &RangeRules::integers);
}

std::optional<ExprId> number_range(RuleBook& book, const std::optional<Bound>& low, const std::optional<Bound>& high) {
  return signed_range(RangeRules(book), low, high, &RangeRules::numbers);
}

}  // namespace realizar::grammar
