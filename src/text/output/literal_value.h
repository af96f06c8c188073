// Converts Python's literals and Gemma's to JSON while they arrive.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/output/json_value.h"
#include "text/output/text_window.h"

namespace realizar::text {

struct LiteralStyle {
  char open;  // enclose the arguments
  char close;
  char assign;                      // separates an argument's name from its value; inside nested objects it is a colon
  std::vector<std::string> quotes;  // the form's own first; single-byte quotes have escapes
};

// Reads the text between `open` and `close` and writes it as a JSON object, or as a list if they are [ and ].
class LiteralReader {
 public:
  enum class Step { kNeedMore, kEnd, kInvalid };

  explicit LiteralReader(LiteralStyle style) : style_(std::move(style)) {}

  // Call after `open` was read.
  void start(std::string& json);
  Step read(TextWindow& window, std::string& json);
  void close(std::string& json);

 private:
  enum class State { kKey, kKeyWord, kAssign, kValue, kWord, kString, kAfter };
  // The reason for stopping; empty: continue with the next step.
  using Stop = std::optional<Step>;

  Stop step(TextWindow& window, std::string& json);
  Stop at_key(TextWindow& window, std::string& json);
  Stop at_assign(TextWindow& window, std::string& json);
  Stop at_value(TextWindow& window, std::string& json);
  Stop after_value(TextWindow& window, std::string& json);
  Stop read_key_word(TextWindow& window, std::string& json);
  Stop read_word(TextWindow& window, std::string& json);
  Stop read_string(TextWindow& window, std::string& json);
  Stop open_quote(TextWindow& window, std::string& json);
  Stop open_bracket(char c, TextWindow& window, std::string& json);
  Stop close_bracket(TextWindow& window, std::string& json);
  Stop end_string(std::string& json);
  bool push_escape(TextWindow& window, std::string& json);
  void push_plain(char c, std::string& json);
  void write_comma(std::string& json);
  char closer() const { return stack_.size() == 1 ? style_.close : stack_.back() == '{' ? '}' : ']'; }
  State next_item() const { return stack_.back() == '{' ? State::kKey : State::kValue; }

  LiteralStyle style_;
  State state_ = State::kKey;
  std::string stack_;   // the open brackets, as in JSON
  bool comma_ = false;  // pending before the next item
  bool in_key_ = false;
  std::string_view quote_;
  JsonValueReader string_;  // writes the literal's string as JSON
};

// Whether `text` is one Python list or dictionary; if it is, `json` is its JSON.
bool read_python_value(std::string_view text, std::string& json);

}  // namespace realizar::text
