// Reads one JSON value byte by byte and writes it, byte by byte, as valid JSON: corrects models' mistakes inside
// strings (raw control characters, unknown escapes, lone surrogates) and commas before a closing bracket.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace realizar::text {

class JsonValueReader {
 public:
  enum class Step {
    kTaken,      // the byte belongs to the value, which continues
    kEnd,        // the byte was the value's last
    kEndBefore,  // the value, a number, ended before this byte
    kInvalid,    // no JSON value continues with this byte
  };
  static constexpr size_t kMaxDepth = 128;

  // Appends the certain part to `out`. UTF-8 is not checked.
  Step push(char c, std::string& out);
  // Completes a value that was cut off: closes open strings, members and brackets.
  void close(std::string& out);

 private:
  enum class State {
    kTop,
    kFirstKey,
    kKey,
    kColon,
    kMember,
    kFirstItem,
    kItem,
    kAfter,
    kString,
    kEscape,
    kNumber,
    kWord
  };
  enum class Number { kMinus, kZero, kInteger, kDot, kFraction, kE, kSign, kExponent };

  Step push_structure(char c, std::string& out);
  Step begin_value(char c, std::string& out);
  Step open(char c, std::string& out);
  Step close_bracket(std::string& out);
  Step push_string(char c, std::string& out);
  Step push_escape(char c, std::string& out);
  void end_unicode_escape(std::string& out);
  void flush_high_surrogate(std::string& out);
  Step push_number(char c, std::string& out);
  Step push_word(char c, std::string& out);
  Step end_value();
  void flush_gap(std::string& out);

  State state_ = State::kTop;
  Number number_ = Number::kMinus;
  std::string stack_;      // the open brackets
  std::string gap_;        // white space, commas and colons since the last token, written with the next one
  std::string escape_;     // an incomplete escape
  std::string high_;       // the escape of a high surrogate whose other half has not arrived
  std::string_view word_;  // the missing rest of true, false or null
  bool in_key_ = false;
};

// Whether `text`, apart from surrounding white space, is one JSON value; if it is, `json` is its corrected text.
bool read_json_value(std::string_view text, std::string& json);

// Appends `text` in the form that it has inside a JSON string, without the quotes.
void append_json_escaped(std::string& out, std::string_view text);

inline constexpr std::string_view kJsonSpace = " \t\r\n";

inline bool is_json_space(char c) {
  return kJsonSpace.find(c) != std::string_view::npos;
}

// Without the white space before it, after it, or both.
inline std::string_view without_space_before(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kJsonSpace), text.size()));
}
inline std::string_view without_space_after(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kJsonSpace) + 1);
}
inline std::string_view without_space_around(std::string_view text) {
  return without_space_after(without_space_before(text));
}

}  // namespace realizar::text
