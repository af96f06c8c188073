// Calls that are JSON objects with a name and arguments, one or a list of them.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/output/call_families.h"

namespace realizar::text {
namespace {

using Step = JsonValueReader::Step;

// The string that a JSON string's text stands for; empty if it is none.
std::string decoded(const std::string& json) {
  const auto value = nlohmann::json::parse(json, nullptr, false);
  return value.is_string() ? value.get<std::string>() : std::string();
}

class JsonCalls final : public CallReader {
 public:
  JsonCalls(JsonForm form, TextWindow& window, CallEmitter& emitter)
      : CallReader(window, emitter), form_(std::move(form)) {}

  void start() override {
    state_ = State::kBegin;
    in_list_ = false;
  }
  Progress read() override;
  void close_arguments() override;

 private:
  enum class State { kBegin, kMember, kKey, kColon, kValue, kInValue, kAfterValue, kAfterObject, kClosing };
  enum class Role { kName, kArguments, kOther };

  void start_object();
  void start_reader(State state);
  bool step();
  bool begin_section_or_object(char c);
  bool begin_member(char c);
  bool read_key();
  bool begin_value(char c);
  bool read_value();
  bool end_value();
  bool is_whole_first() const;
  bool take_held_arguments();
  bool begin_with_arguments();
  bool end_object();
  void after_object(char c);

  JsonForm form_;
  State state_ = State::kBegin;
  bool in_list_ = false;

  // The object that is being read.
  std::string name_;
  std::string arguments_;  // held until the name is known
  bool has_arguments_ = false;
  bool streams_ = false;  // the value that is being read goes out as it comes
  Role role_ = Role::kOther;
  JsonValueReader reader_;  // of the key or value
  std::string text_;        // what reader_ wrote
};

CallReader::Progress JsonCalls::read() {
  while (true) {
    const bool in_token = state_ == State::kKey || state_ == State::kInValue;
    if (state_ == State::kClosing && form_.closing.empty()) return Progress::kEnd;
    if (!in_token && !window_.skip_space()) return Progress::kNeedMore;
    if (window_.empty()) return Progress::kNeedMore;
    if (state_ == State::kClosing)
      return window_.take(form_.closing) == Match::kOpen ? Progress::kNeedMore : Progress::kEnd;
    if (!step()) return Progress::kReject;
  }
}

bool JsonCalls::step() {
  const char c = window_.front();
  switch (state_) {
    case State::kBegin:
      return begin_section_or_object(c);
    case State::kMember:
      return begin_member(c);
    case State::kKey:
      return read_key();
    case State::kColon:
      if (c != ':') return false;
      window_.take(1);
      state_ = State::kValue;
      return true;
    case State::kValue:
      return begin_value(c);
    case State::kInValue:
      return read_value();
    case State::kAfterValue:
      if (c == '}') return end_object();
      if (c != ',') return false;
      window_.take(1);
      state_ = State::kMember;
      return true;
    default:
      after_object(c);
      return true;
  }
}

bool JsonCalls::begin_section_or_object(char c) {
  if (c == '[' && !in_list_) {
    in_list_ = true;
  } else if (c == ']' && in_list_) {
    state_ = State::kClosing;
  } else if (c == '{') {
    start_object();
  } else {
    return false;
  }
  window_.take(1);
  return true;
}

void JsonCalls::start_object() {
  name_.clear();
  arguments_.clear();
  has_arguments_ = false;
  streams_ = false;
  state_ = State::kMember;
}

void JsonCalls::start_reader(State state) {
  reader_ = {};
  text_.clear();
  state_ = state;
}

bool JsonCalls::begin_member(char c) {
  if (c == '}') return end_object();
  start_reader(State::kKey);
  return c == '"';
}

bool JsonCalls::read_key() {
  const Step step = read_json(reader_, text_);
  if (step != Step::kEnd) return step == Step::kTaken;
  const std::string key = decoded(text_);
  if (name_.empty() && (key == "name" || key == "tool_name")) {
    role_ = Role::kName;
  } else if (!has_arguments_ && (key == "arguments" || key == "parameters")) {
    role_ = Role::kArguments;
  } else {
    role_ = Role::kOther;
  }
  state_ = State::kColon;
  return role_ != Role::kOther || !form_.is_bare || key == "type" || key == "id";
}

bool JsonCalls::begin_value(char c) {
  start_reader(State::kInValue);
  streams_ = role_ == Role::kArguments && c == '{' && !name_.empty() && !is_whole_first();
  return !streams_ || begin_call(name_);
}

bool JsonCalls::read_value() {
  const Step step = streams_ ? stream_arguments(reader_) : read_json(reader_, text_);
  if (step == Step::kTaken) return true;
  if (step == Step::kInvalid) return false;
  return end_value();
}

bool JsonCalls::end_value() {
  state_ = State::kAfterValue;
  if (role_ == Role::kArguments) {
    has_arguments_ = true;
    return streams_ || take_held_arguments();
  }
  if (role_ != Role::kName) return true;
  name_ = decoded(text_);
  if (is_whole_first()) return emitter_.may_call(name_);
  return emitter_.may_call(name_) && (!has_arguments_ || begin_with_arguments());
}

// Nothing but its form says that the object is a call, and that shows at its end.
bool JsonCalls::is_whole_first() const {
  return form_.is_bare && emitter_.find_tool(name_) == nullptr;
}

// Arguments that are an object written as a string, as in OpenAI's own format, or null, are accepted too.
bool JsonCalls::take_held_arguments() {
  const std::string text = text_.front() == '"' ? decoded(text_) : text_;
  const bool is_none = text.empty() || text == "null";
  if (is_none) {
    arguments_ = "{}";
  } else if (!read_json_value(text, arguments_) || arguments_.front() != '{') {
    return false;
  }
  return name_.empty() || is_whole_first() || begin_with_arguments();
}

bool JsonCalls::begin_with_arguments() {
  if (!begin_call(name_)) return false;
  emitter_.arguments(arguments_);
  return true;
}

bool JsonCalls::end_object() {
  if (!emitter_.is_open()) {
    if (is_whole_first() && !has_arguments_) return false;
    if (!has_arguments_) arguments_ = "{}";
    if (!begin_with_arguments()) return false;
  }
  window_.take(1);
  end_call();
  state_ = State::kAfterObject;
  return true;
}

void JsonCalls::after_object(char c) {
  state_ = State::kClosing;
  if (c == ',' || c == ';') {
    window_.take(1);
    state_ = State::kBegin;
  } else if (c == ']' && in_list_) {
    window_.take(1);
  } else if (c == '{') {
    state_ = State::kBegin;
  }
}

void JsonCalls::close_arguments() {
  if (!streams_ || state_ != State::kInValue) return;
  std::string json;
  reader_.close(json);
  emitter_.arguments(json);
}

class JsonOrOther final : public CallReader {
 public:
  JsonOrOther(CallReaderPtr other, JsonForm form, TextWindow& window, CallEmitter& emitter)
      : CallReader(window, emitter),
        json_(make_json_calls(std::move(form), window, emitter)),
        other_(std::move(other)) {}

  void start() override { chosen_ = nullptr; }

  Progress read() override {
    if (!chosen_ && !choose()) return Progress::kNeedMore;
    return chosen_->read();
  }

  void close_arguments() override {
    if (chosen_) chosen_->close_arguments();
  }

 private:
  // False if more text decides. A list is JSON's if it holds objects: LFM2 writes calls in brackets too.
  bool choose() {
    if (!window_.skip_space()) return false;
    size_t at = 0;
    if (window_.front() == '[') {
      const std::string_view start = window_.rest().substr(0, TextWindow::kMaxHeaderBytes);
      at = std::min(start.find_first_not_of(" \t\r\n", 1), start.size());
      if (at == window_.rest().size() && !window_.ended()) return false;
    }
    const bool is_json = window_.match("{", at) == Match::kYes || window_.match("]", at) == Match::kYes;
    chosen_ = is_json ? json_.get() : other_.get();
    chosen_->start();
    return true;
  }

  CallReaderPtr json_;
  CallReaderPtr other_;
  CallReader* chosen_ = nullptr;
};

}  // namespace

CallReaderPtr make_json_calls(JsonForm form, TextWindow& window, CallEmitter& emitter) {
  return std::make_unique<JsonCalls>(std::move(form), window, emitter);
}

CallReaderPtr make_json_or(CallReaderPtr other, JsonForm form, TextWindow& window, CallEmitter& emitter) {
  return std::make_unique<JsonOrOther>(std::move(other), std::move(form), window, emitter);
}

}  // namespace realizar::text
