// Python's literals and Gemma's, written again as JSON while they arrive.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/output/json_value.h"
#include "text/output/text_window.h"

namespace realizar::text {

struct LiteralStyle {
  char open;  // around the arguments
  char close;
  char assign;                      // between an argument's name and its value; inside nested objects it is a colon
  std::vector<std::string> quotes;  // the form's own first; those of one byte have escapes
};

// Reads what stands between `open` and `close` and writes it as a JSON object; as a list where they are [ and ].
class LiteralReader {
 public:
  enum class Step { kNeedMore, kEnd, kInvalid };

  explicit LiteralReader(LiteralStyle style) : style_(std::move(style)) {}

  // `open` was taken.
  void start(std::string& json);
  Step read(TextWindow& window, std::string& json);
  void close(std::string& json);

 private:
  enum class State { kKey, kKeyWord, kAssign, kValue, kWord, kString, kAfter };
  // Why reading stops here; empty: it goes on with the next step.
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
  std::string stack_;   // the open brackets, as JSON's
  bool comma_ = false;  // to be written before the next item
  bool in_key_ = false;
  std::string_view quote_;
  JsonValueReader string_;  // what the literal's string is as JSON
};

// Whether `text` is one list or dictionary of Python's; then `json` is the same as JSON.
bool read_python_value(std::string_view text, std::string& json);

}  // namespace realizar::text
