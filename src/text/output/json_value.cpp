#include "text/output/json_value.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/encodings.h"

namespace realizar::text {
namespace {

constexpr std::string_view kReplacement = "\\ufffd";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void append_escaped_byte(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef", kCharacters = "\"\\\n\r\t", kLetters = "\"\\nrt";
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20 && c != '"' && c != '\\') {
    out += c;
  } else if (const size_t i = kCharacters.find(c); i != std::string_view::npos) {
    out += {'\\', kLetters[i]};
  } else {
    out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
  }
}

}  // namespace

JsonValueReader::Step JsonValueReader::push(char c, std::string& out) {
  switch (state_) {
    case State::kString:
      return push_string(c, out);
    case State::kEscape:
      return push_escape(c, out);
    case State::kNumber:
      return push_number(c, out);
    case State::kWord:
      return push_word(c, out);
    default:
      return push_structure(c, out);
  }
}

JsonValueReader::Step JsonValueReader::push_structure(char c, std::string& out) {
  if (is_json_space(c)) {
    gap_ += c;
    return Step::kTaken;
  }
  switch (state_) {
    case State::kFirstKey:
    case State::kKey:
      if (c == '}') return close_bracket(out);
      in_key_ = true;
      return c == '"' ? begin_value(c, out) : Step::kInvalid;
    case State::kColon:
      if (c != ':') return Step::kInvalid;
      gap_ += c;
      state_ = State::kMember;
      return Step::kTaken;
    case State::kFirstItem:
    case State::kItem:
      return c == ']' ? close_bracket(out) : begin_value(c, out);
    case State::kAfter:
      if (c == (stack_.back() == '{' ? '}' : ']')) return close_bracket(out);
      if (c != ',') return Step::kInvalid;
      gap_ += c;
      state_ = stack_.back() == '{' ? State::kKey : State::kItem;
      return Step::kTaken;
    default:
      return begin_value(c, out);
  }
}

JsonValueReader::Step JsonValueReader::begin_value(char c, std::string& out) {
  if (c == '{' || c == '[') return open(c, out);
  if (c == '"') {
    state_ = State::kString;
  } else if (c == '-' || is_digit(c)) {
    state_ = State::kNumber;
    number_ = c == '-' ? Number::kMinus : c == '0' ? Number::kZero : Number::kInteger;
  } else if (c == 't' || c == 'f' || c == 'n') {
    state_ = State::kWord;
    word_ = c == 't' ? "rue" : c == 'f' ? "alse" : "ull";
  } else {
    return Step::kInvalid;
  }
  flush_gap(out);
  out += c;
  return Step::kTaken;
}

JsonValueReader::Step JsonValueReader::open(char c, std::string& out) {
  if (stack_.size() >= kMaxDepth) return Step::kInvalid;
  flush_gap(out);
  out += c;
  stack_ += c;
  state_ = c == '{' ? State::kFirstKey : State::kFirstItem;
  return Step::kTaken;
}

JsonValueReader::Step JsonValueReader::close_bracket(std::string& out) {
  const bool after_comma = state_ == State::kKey || state_ == State::kItem;
  if (after_comma) gap_.clear();
  flush_gap(out);
  out += stack_.back() == '{' ? '}' : ']';
  stack_.pop_back();
  return end_value();
}

JsonValueReader::Step JsonValueReader::end_value() {
  state_ = State::kAfter;
  return stack_.empty() ? Step::kEnd : Step::kTaken;
}

void JsonValueReader::flush_gap(std::string& out) {
  out += gap_;
  gap_.clear();
}

JsonValueReader::Step JsonValueReader::push_string(char c, std::string& out) {
  if (c == '\\') {
    escape_ = c;
    state_ = State::kEscape;
    return Step::kTaken;
  }
  flush_high_surrogate(out);
  if (c != '"') {
    append_escaped_byte(out, c);
    return Step::kTaken;
  }
  out += c;
  if (!in_key_) return end_value();
  in_key_ = false;
  state_ = State::kColon;
  return stack_.empty() ? Step::kInvalid : Step::kTaken;
}

// An escape that JSON does not define is read as a backslash and the character after it.
JsonValueReader::Step JsonValueReader::push_escape(char c, std::string& out) {
  const bool is_unicode = escape_.size() > 1;
  const bool fits = is_unicode ? hex_digit(c) >= 0 : std::string_view("\"\\/bfnrtu").find(c) != std::string_view::npos;
  if (!fits) {
    flush_high_surrogate(out);
    out += '\\' + escape_;
    state_ = State::kString;
    return push_string(c, out);
  }
  escape_ += c;
  if (escape_[1] == 'u' && escape_.size() < 6) return Step::kTaken;
  state_ = State::kString;
  if (escape_[1] == 'u') {
    end_unicode_escape(out);
  } else {
    flush_high_surrogate(out);
    out += escape_;
  }
  return Step::kTaken;
}

void JsonValueReader::end_unicode_escape(std::string& out) {
  unsigned unit = 0;
  std::from_chars(escape_.data() + 2, escape_.data() + escape_.size(), unit, 16);
  const bool is_low = unit >= 0xDC00 && unit < 0xE000;
  if (is_low && !high_.empty()) {
    out += high_ + escape_;
    high_.clear();
    return;
  }
  flush_high_surrogate(out);
  if (unit >= 0xD800 && unit < 0xDC00) {
    high_ = escape_;
  } else {
    out += is_low ? kReplacement : escape_;
  }
}

void JsonValueReader::flush_high_surrogate(std::string& out) {
  if (!high_.empty()) out += kReplacement;
  high_.clear();
}

JsonValueReader::Step JsonValueReader::push_number(char c, std::string& out) {
  const auto next = [&]() -> std::optional<Number> {
    const bool digit = is_digit(c);
    const bool is_e = c == 'e' || c == 'E';
    switch (number_) {
      case Number::kMinus:
        if (digit) return c == '0' ? Number::kZero : Number::kInteger;
        return std::nullopt;
      case Number::kInteger:
        if (digit) return Number::kInteger;
        [[fallthrough]];
      case Number::kZero:
        if (c == '.') return Number::kDot;
        return is_e ? std::optional(Number::kE) : std::nullopt;
      case Number::kFraction:
        if (is_e) return Number::kE;
        [[fallthrough]];
      case Number::kDot:
        return digit ? std::optional(Number::kFraction) : std::nullopt;
      case Number::kE:
        if (c == '+' || c == '-') return Number::kSign;
        [[fallthrough]];
      default:
        return digit ? std::optional(Number::kExponent) : std::nullopt;
    }
  }();
  if (next) {
    number_ = *next;
    out += c;
    return Step::kTaken;
  }
  const bool complete = number_ == Number::kZero || number_ == Number::kInteger || number_ == Number::kFraction ||
                        number_ == Number::kExponent;
  if (!complete) return Step::kInvalid;
  return end_value() == Step::kEnd ? Step::kEndBefore : push_structure(c, out);
}

JsonValueReader::Step JsonValueReader::push_word(char c, std::string& out) {
  if (c != word_.front()) return Step::kInvalid;
  out += c;
  word_.remove_prefix(1);
  return word_.empty() ? end_value() : Step::kTaken;
}

void JsonValueReader::close(std::string& out) {
  switch (state_) {
    case State::kString:
    case State::kEscape:
      flush_high_surrogate(out);
      out += in_key_ ? "\": null" : "\"";
      break;
    case State::kColon:
    case State::kMember:
      out += ": null";
      break;
    case State::kNumber:
      if (number_ != Number::kZero && number_ != Number::kInteger && number_ != Number::kFraction &&
          number_ != Number::kExponent)
        out += '0';
      break;
    case State::kWord:
      out += word_;
      break;
    case State::kTop:
      out += "null";
      break;
    default:
      break;
  }
  for (; !stack_.empty(); stack_.pop_back()) out += stack_.back() == '{' ? '}' : ']';
  state_ = State::kAfter;
}

bool read_json_value(std::string_view text, std::string& json) {
  JsonValueReader reader;
  json.clear();
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  for (size_t i = 0; i < text.size(); ++i) {
    const JsonValueReader::Step step = reader.push(text[i], json);
    if (step == JsonValueReader::Step::kTaken) continue;
    return step == JsonValueReader::Step::kEnd && i + 1 == text.size();
  }
  std::string rest;
  if (text.empty() || reader.push(' ', rest) != JsonValueReader::Step::kEndBefore) return false;
  return true;
}

void append_json_escaped(std::string& out, std::string_view text) {
  for (char c : text) append_escaped_byte(out, c);
}

}  // namespace realizar::text
