#include "text/output/literal_value.h"

#include <nlohmann/json.hpp>

#include "text/output/argument_types.h"

namespace realizar::text {

void LiteralReader::start(std::string& json) {
  stack_ = style_.open == '[' ? "[" : "{";
  state_ = next_item();
  comma_ = false;
  in_key_ = false;
  json += stack_;
}

LiteralReader::Step LiteralReader::read(TextWindow& window, std::string& json) {
  while (true) {
    const bool in_token = state_ == State::kKeyWord || state_ == State::kWord || state_ == State::kString;
    if (!in_token && !window.skip_space()) return Step::kNeedMore;
    if (window.empty()) return Step::kNeedMore;
    if (const Stop stop = step(window, json)) return *stop;
  }
}

LiteralReader::Stop LiteralReader::step(TextWindow& window, std::string& json) {
  switch (state_) {
    case State::kKey:
      return at_key(window, json);
    case State::kKeyWord:
      return read_key_word(window, json);
    case State::kAssign:
      return at_assign(window, json);
    case State::kValue:
      return at_value(window, json);
    case State::kWord:
      return read_word(window, json);
    case State::kString:
      return read_string(window, json);
    default:
      return after_value(window, json);
  }
}

LiteralReader::Stop LiteralReader::at_key(TextWindow& window, std::string& json) {
  if (window.front() == closer()) return close_bracket(window, json);
  in_key_ = true;
  state_ = State::kKeyWord;
  return open_quote(window, json);
}

LiteralReader::Stop LiteralReader::read_key_word(TextWindow& window, std::string& json) {
  size_t n_bytes = 0;
  const TextWindow::Match found = window.find_any(":=,(){}[]\"' \t\r\n", n_bytes);
  if (found == TextWindow::Match::kOpen) return Step::kNeedMore;
  if (found == TextWindow::Match::kNo || n_bytes == 0) return Step::kInvalid;
  write_comma(json);
  json += '"';
  append_json_escaped(json, window.rest().substr(0, n_bytes));
  json += '"';
  window.take(n_bytes);
  state_ = State::kAssign;
  return std::nullopt;
}

LiteralReader::Stop LiteralReader::at_assign(TextWindow& window, std::string& json) {
  if (window.front() != (stack_.size() == 1 ? style_.assign : ':')) return Step::kInvalid;
  window.take(1);
  json += ": ";
  in_key_ = false;
  state_ = State::kValue;
  return std::nullopt;
}

LiteralReader::Stop LiteralReader::at_value(TextWindow& window, std::string& json) {
  const char c = window.front();
  if (stack_.back() == '[' && c == ']') return close_bracket(window, json);
  if (c == '{' || c == '[') return open_bracket(c, window, json);
  state_ = State::kWord;
  return open_quote(window, json);
}

LiteralReader::Stop LiteralReader::open_bracket(char c, TextWindow& window, std::string& json) {
  if (stack_.size() >= JsonValueReader::kMaxDepth) return Step::kInvalid;
  write_comma(json);
  json += c;
  stack_ += c;
  window.take(1);
  state_ = next_item();
  return std::nullopt;
}

// Begins a string if there is a quote at this position; else the state stays.
LiteralReader::Stop LiteralReader::open_quote(TextWindow& window, std::string& json) {
  for (const std::string& quote : style_.quotes) {
    const TextWindow::Match match = window.take(quote);
    if (match == TextWindow::Match::kOpen) {
      state_ = in_key_ ? State::kKey : State::kValue;
      return Step::kNeedMore;
    }
    if (match == TextWindow::Match::kNo) continue;
    quote_ = quote;
    string_ = {};
    write_comma(json);
    string_.push('"', json);
    state_ = State::kString;
    break;
  }
  return std::nullopt;
}

LiteralReader::Stop LiteralReader::read_string(TextWindow& window, std::string& json) {
  while (!window.empty()) {
    const TextWindow::Match end = window.take(quote_);
    if (end == TextWindow::Match::kYes) return end_string(json);
    if (end == TextWindow::Match::kOpen) return Step::kNeedMore;
    const char c = window.front();
    if (c == '\\' && quote_.size() == 1) {
      if (!push_escape(window, json)) return Step::kNeedMore;
    } else {
      push_plain(c, json);
      window.take(1);
    }
  }
  return Step::kNeedMore;
}

LiteralReader::Stop LiteralReader::end_string(std::string& json) {
  string_.push('"', json);
  state_ = in_key_ ? State::kAssign : State::kAfter;
  return std::nullopt;
}

// False if the byte after the backslash has not arrived.
bool LiteralReader::push_escape(TextWindow& window, std::string& json) {
  if (window.rest().size() < 2) return false;
  const char c = window.rest()[1];
  if (c == '\'') {
    string_.push(c, json);
  } else {
    string_.push('\\', json);
    string_.push(c, json);
  }
  window.take(2);
  return true;
}

void LiteralReader::push_plain(char c, std::string& json) {
  if (c == '"' || c == '\\') string_.push('\\', json);
  string_.push(c, json);
}

// Numbers, and Python's or JSON's words; anything else is a string.
LiteralReader::Stop LiteralReader::read_word(TextWindow& window, std::string& json) {
  size_t n_bytes = 0;
  const TextWindow::Match found = window.find_any(",(){}[]:= \t\r\n", n_bytes);
  if (found == TextWindow::Match::kOpen) return Step::kNeedMore;
  if (found == TextWindow::Match::kNo || n_bytes == 0) return Step::kInvalid;
  write_comma(json);
  json += typed_argument(nlohmann::ordered_json(), "", window.rest().substr(0, n_bytes));
  window.take(n_bytes);
  state_ = State::kAfter;
  return std::nullopt;
}

LiteralReader::Stop LiteralReader::after_value(TextWindow& window, std::string& json) {
  if (window.front() == closer()) return close_bracket(window, json);
  if (window.front() != ',') return Step::kInvalid;
  window.take(1);
  comma_ = true;
  state_ = next_item();
  return std::nullopt;
}

LiteralReader::Stop LiteralReader::close_bracket(TextWindow& window, std::string& json) {
  window.take(1);
  comma_ = false;
  json += stack_.back() == '{' ? '}' : ']';
  stack_.pop_back();
  state_ = State::kAfter;
  return stack_.empty() ? Stop(Step::kEnd) : std::nullopt;
}

void LiteralReader::write_comma(std::string& json) {
  if (comma_) json += ", ";
  comma_ = false;
}

void LiteralReader::close(std::string& json) {
  const bool key_is_open = state_ == State::kAssign || (state_ == State::kString && in_key_);
  const bool lacks_value =
      !stack_.empty() && stack_.back() == '{' && (state_ == State::kValue || state_ == State::kWord);
  if (state_ == State::kString) string_.close(json);
  if (key_is_open) json += ": ";
  if (key_is_open || lacks_value) json += "null";
  for (; !stack_.empty(); stack_.pop_back()) json += stack_.back() == '{' ? '}' : ']';
  state_ = State::kAfter;
}

bool read_python_value(std::string_view text, std::string& json) {
  TextWindow window;
  window.append(text);
  window.end();
  const bool is_list = text.starts_with('[');
  if (!is_list && !text.starts_with('{')) return false;
  LiteralReader reader({is_list ? '[' : '{', is_list ? ']' : '}', ':', {"\"", "'"}});
  window.take(1);
  json.clear();
  reader.start(json);
  return reader.read(window, json) == LiteralReader::Step::kEnd && window.empty();
}

}  // namespace realizar::text
