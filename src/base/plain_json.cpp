#include "base/plain_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "base/utf8.h"

namespace realizar {
namespace {

constexpr std::string_view kLargest = "1.7976931348623157e308", kNumberChars = "0123456789+-.eE";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

size_t skip_digits(std::string_view text, size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// The parts of a number as JSON writes it.
struct Number {
  bool is_negative = false;
  std::string_view whole, fraction;
  std::string_view exponent;  // with sign
  bool is_integer() const { return fraction.empty() && exponent.empty(); }
};

std::optional<Number> parse_number(std::string_view text) {
  Number number;
  number.is_negative = text.starts_with('-');
  const size_t first = number.is_negative ? 1 : 0;
  size_t at = skip_digits(text, first);
  number.whole = text.substr(first, at - first);
  if (number.whole.empty() || (number.whole.size() > 1 && number.whole[0] == '0')) return std::nullopt;
  if (at < text.size() && text[at] == '.') {
    const size_t end = skip_digits(text, at + 1);
    number.fraction = text.substr(at + 1, end - at - 1);
    if (number.fraction.empty()) return std::nullopt;
    at = end;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const bool is_signed = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-');
    const size_t digits = at + 1 + (is_signed ? 1 : 0), end = skip_digits(text, digits);
    if (end == digits) return std::nullopt;
    number.exponent = text.substr(at + 1, end - at - 1);
    at = end;
  }
  return at == text.size() ? std::optional(number) : std::nullopt;
}

// Whether a number beyond the range of double is too large, rather than too small.
bool is_above_doubles(const Number& number) {
  int32_t exponent = 0;
  const std::string_view digits = number.exponent.substr(number.exponent.starts_with('+') ? 1 : 0);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (parsed.ec == std::errc::result_out_of_range) return !number.exponent.starts_with('-');
  const size_t first = number.whole.find_first_not_of('0');
  if (first != std::string_view::npos) return int64_t{exponent} + static_cast<int64_t>(number.whole.size() - first) > 0;
  return int64_t{exponent} - static_cast<int64_t>(number.fraction.find_first_not_of('0')) > 0;
}

// Nullopt if the number can stay as it is.
std::optional<std::string> plain_number(std::string_view text) {
  constexpr double kMostExact = 9007199254740992.0;  // 2^53
  const auto number = parse_number(text);
  if (!number) return std::nullopt;
  const char *const begin = text.data(), *const end = begin + text.size();
  if (number->is_integer()) {
    int64_t negative = 0;
    uint64_t positive = 0;
    const auto parsed =
        number->is_negative ? std::from_chars(begin, end, negative) : std::from_chars(begin, end, positive);
    if (parsed.ec == std::errc()) return std::nullopt;
  }
  double value = 0;
  if (std::from_chars(begin, end, value).ec != std::errc()) {
    if (!is_above_doubles(*number)) return std::nullopt;
    return (number->is_negative ? "-" : "") + std::string(kLargest);
  }
  if (number->is_integer()) return std::string(text) + ".0";
  const bool is_whole = std::trunc(value) == value && std::abs(value) <= kMostExact;
  if (!is_whole || (value == 0 && number->is_negative)) return std::nullopt;
  return std::to_string(static_cast<int64_t>(value));
}

class PlainJson {
 public:
  explicit PlainJson(std::string_view text) : text_(text) {}

  std::string run() && {
    size_t at = 0;
    while (at < text_.size()) {
      const char c = text_[at];
      if (c == '"') {
        at = pass_string(at + 1);
      } else if (c == '-' || is_digit(c) || c == 'I' || c == 'N') {
        at = pass_number(at);
      } else {
        ++at;
      }
    }
    result_ += text_.substr(copied_);
    return std::move(result_);
  }

 private:
  void replace(size_t begin, size_t end, std::string_view by) {
    result_ += text_.substr(copied_, begin - copied_);
    result_ += by;
    copied_ = end;
  }

  // Returns the index after the string's text.
  size_t pass_string(size_t at) {
    while (true) {
      while (at < text_.size() && text_[at] != '"' && text_[at] != '\\') ++at;
      if (at >= text_.size()) return text_.size();
      if (text_[at] == '"') return at + 1;
      at = at + 1 < text_.size() && text_[at + 1] == 'u' ? pass_escape(at) : at + 2;
    }
  }

  // A code unit of UTF-16 in hexadecimal digits after "\u"; nullopt if there is none.
  std::optional<uint32_t> code_unit(size_t at) const {
    constexpr size_t kDigits = 4;
    if (text_.substr(std::min(at, text_.size()), 2) != "\\u") return std::nullopt;
    const std::string_view digits = text_.substr(at + 2, kDigits);
    uint32_t unit = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    const bool is_whole = digits.size() == kDigits && parsed.ptr == digits.data() + digits.size();
    return is_whole ? std::optional(unit) : std::nullopt;
  }

  size_t pass_escape(size_t at) {
    constexpr size_t kBytes = 6;  // length of an escape
    const auto unit = code_unit(at);
    if (!unit) return at + 2;
    if (*unit < 0xD800 || *unit > 0xDFFF) return at + kBytes;
    const auto next = code_unit(at + kBytes);
    if (*unit < 0xDC00 && next && *next >= 0xDC00 && *next <= 0xDFFF) return at + 2 * kBytes;
    replace(at, at + kBytes, "\\ufffd");
    return at + kBytes;
  }

  size_t pass_number(size_t at) {
    const size_t sign = text_[at] == '-' ? 1 : 0;
    const std::string_view rest = text_.substr(at + sign);
    constexpr std::string_view kInfinity = "Infinity", kNan = "NaN";
    if (rest.starts_with(kInfinity)) {
      const size_t word = at + sign, end = word + kInfinity.size();
      replace(word, end, kLargest);
      return end;
    }
    if (sign == 0 && rest.starts_with(kNan)) {
      replace(at, at + kNan.size(), "null");
      return at + kNan.size();
    }
    const size_t end = std::min(text_.find_first_not_of(kNumberChars, at + 1), text_.size());
    if (const auto plain = plain_number(text_.substr(at, end - at))) replace(at, end, *plain);
    return end;
  }

  std::string_view text_;
  size_t copied_ = 0;  // everything before it is in the result
  std::string result_;
};

}  // namespace

std::string plain_json(std::string_view text) {
  return PlainJson(after_byte_order_mark(text)).run();
}

}  // namespace realizar
