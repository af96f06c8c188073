// Calls that are JSON objects with a name and arguments, one or a list of them.
#include <nlohmann/json.hpp>

#include "text/output/call_syntax.h"

namespace realizar::text {
namespace {

using Step = JsonValueReader::Step;

// The string that a JSON string's text stands for; empty if it is none.
std::string decoded(const std::string& json) {
  const auto value = nlohmann::json::parse(json, nullptr, false);
  return value.is_string() ? value.get<std::string>() : std::string();
}

class JsonCalls final : public CallSyntax {
 public:
  // `closing`: what ends the section; may be empty. `is_bare`: no marker says that an object is a call, so that one
  // with any member that calls do not have is none.
  JsonCalls(std::string closing, bool is_bare, TextWindow& window, CallEmitter& emitter)
      : CallSyntax(window, emitter), closing_(std::move(closing)), is_bare_(is_bare) {}

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
  bool take_held_arguments();
  bool begin_with_arguments();
  bool end_object();
  void after_object(char c);

  std::string closing_;
  bool is_bare_;
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

CallSyntax::Progress JsonCalls::read() {
  while (true) {
    const bool in_token = state_ == State::kKey || state_ == State::kInValue;
    if (state_ == State::kClosing && closing_.empty()) return Progress::kEnd;
    if (!in_token && !window_.skip_space()) return Progress::kNeedMore;
    if (window_.empty()) return Progress::kNeedMore;
    if (state_ == State::kClosing) return window_.take(closing_) == Match::kOpen ? Progress::kNeedMore : Progress::kEnd;
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
  return role_ != Role::kOther || !is_bare_ || key == "type" || key == "id";
}

bool JsonCalls::begin_value(char c) {
  start_reader(State::kInValue);
  streams_ = role_ == Role::kArguments && c == '{' && !name_.empty();
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
  return emitter_.find_tool(name_) && (!has_arguments_ || begin_with_arguments());
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
  return name_.empty() || begin_with_arguments();
}

bool JsonCalls::begin_with_arguments() {
  if (!begin_call(name_)) return false;
  emitter_.arguments(arguments_);
  return true;
}

bool JsonCalls::end_object() {
  if (!emitter_.is_open()) {
    arguments_ = "{}";
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

}  // namespace

std::unique_ptr<CallSyntax> make_json_calls(ToolFormat format, TextWindow& window, CallEmitter& emitter) {
  std::string closing;
  if (format == ToolFormat::kHermes) closing = "</tool_call>";
  if (format == ToolFormat::kCohere) closing = "<|END_ACTION|>";
  if (format == ToolFormat::kLfm2) closing = "<|tool_call_end|>";
  return std::make_unique<JsonCalls>(std::move(closing), format == ToolFormat::kLlama3Json, window, emitter);
}

}  // namespace realizar::text
