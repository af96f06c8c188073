// Calls written as name(key="text", n=2) or call:name{key:<|"|>text<|"|>,n:2}: Python's literals and Gemma's, which are
// written again as JSON.
#include <nlohmann/json.hpp>
#include <optional>

#include "text/output/argument_types.h"
#include "text/output/call_families.h"

namespace realizar::text {
namespace {

// Reads what stands between `open` and `close` and writes it as a JSON object.
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

void LiteralReader::start(std::string& json) {
  state_ = State::kKey;
  stack_ = "{";
  comma_ = false;
  in_key_ = false;
  json += '{';
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

// Begins a string if a quote stands here; else the state stays.
LiteralReader::Stop LiteralReader::open_quote(TextWindow& window, std::string& json) {
  for (std::string_view quote : style_.quotes) {
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
    if (c == '\\' && style_.has_escapes) {
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

// False if the byte after the backslash has not come.
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

// Numbers and Python's or JSON's words; anything else is a string.
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

class LiteralCalls final : public CallReader {
 public:
  LiteralCalls(LiteralForm form, TextWindow& window, CallEmitter& emitter)
      : CallReader(window, emitter), form_(std::move(form)), reader_(form_.style) {}

  void start() override {
    state_ = State::kBegin;
    in_list_ = false;
  }
  Progress read() override;

  void close_arguments() override {
    std::string json;
    reader_.close(json);
    emitter_.arguments(json);
  }

 private:
  enum class State { kBegin, kName, kArguments, kAfterCall, kClosing };
  using Stop = std::optional<Progress>;

  Stop step();
  Stop begin();
  Stop read_name();
  Stop read_arguments();
  void after_call(char c);

  LiteralForm form_;
  LiteralReader reader_;
  State state_ = State::kBegin;
  bool in_list_ = false;
};

CallReader::Progress LiteralCalls::read() {
  while (true) {
    if (state_ == State::kClosing && form_.closing.empty()) return Progress::kEnd;
    const bool in_token = state_ == State::kName || state_ == State::kArguments;
    if (!in_token && !window_.skip_space()) return Progress::kNeedMore;
    if (window_.empty()) return Progress::kNeedMore;
    if (const Stop stop = step()) return *stop;
  }
}

LiteralCalls::Stop LiteralCalls::step() {
  switch (state_) {
    case State::kBegin:
      return begin();
    case State::kName:
      return read_name();
    case State::kArguments:
      return read_arguments();
    case State::kAfterCall:
      after_call(window_.front());
      return std::nullopt;
    default:
      return window_.take(form_.closing) == Match::kOpen ? Progress::kNeedMore : Progress::kEnd;
  }
}

LiteralCalls::Stop LiteralCalls::begin() {
  if (window_.front() == '[' && !in_list_) {
    window_.take(1);
    in_list_ = true;
    return std::nullopt;
  }
  const Match prefix = window_.take(form_.name_prefix);
  if (prefix != Match::kYes) return prefix == Match::kOpen ? Progress::kNeedMore : Progress::kReject;
  state_ = State::kName;
  return std::nullopt;
}

LiteralCalls::Stop LiteralCalls::read_name() {
  size_t n_bytes = 0;
  const Match found = window_.find_any(std::string_view(&form_.style.open, 1), n_bytes);
  if (found != Match::kYes) return found == Match::kOpen ? Progress::kNeedMore : Progress::kReject;
  std::string name(window_.rest().substr(0, n_bytes));
  name.erase(name.find_last_not_of(kJsonSpace) + 1);
  const bool has_suffix = name.ends_with(form_.name_suffix);
  if (has_suffix) name.resize(name.size() - form_.name_suffix.size());
  window_.take(n_bytes + 1);
  // Without the suffix it may be a program's text.
  if (!has_suffix && emitter_.find_tool(name) == nullptr) return Progress::kReject;
  if (!begin_call(name)) return Progress::kReject;
  std::string json;
  reader_.start(json);
  emitter_.arguments(json);
  state_ = State::kArguments;
  return std::nullopt;
}

LiteralCalls::Stop LiteralCalls::read_arguments() {
  std::string json;
  const LiteralReader::Step step = reader_.read(window_, json);
  emitter_.arguments(json);
  window_.commit();
  if (step == LiteralReader::Step::kNeedMore) return Progress::kNeedMore;
  if (step == LiteralReader::Step::kInvalid) return Progress::kReject;
  end_call();
  state_ = State::kAfterCall;
  return std::nullopt;
}

void LiteralCalls::after_call(char c) {
  state_ = c == ',' || c == ';' ? State::kBegin : State::kClosing;
  if (state_ == State::kBegin || (c == ']' && in_list_)) window_.take(1);
}

}  // namespace

CallReaderPtr make_literal_calls(LiteralForm form, TextWindow& window, CallEmitter& emitter) {
  return std::make_unique<LiteralCalls>(std::move(form), window, emitter);
}

LiteralStyle python_style() {
  return {'(', ')', '=', {"\"", "'"}, true};
}

}  // namespace realizar::text
