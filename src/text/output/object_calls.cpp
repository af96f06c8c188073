// Calls that are JSON objects with a name and arguments.
#include <nlohmann/json.hpp>

#include "text/output/call_unit.h"

namespace realizar::text {
namespace {

using JsonStep = JsonValueReader::Step;

// The string value of a JSON string; empty if it is not one.
std::string decoded(const std::string& json) {
  const auto value = nlohmann::json::parse(json, nullptr, false);
  return value.is_string() ? value.get<std::string>() : std::string();
}

class ObjectUnit final : public CallUnit {
 public:
  ObjectUnit(bool name_is_key, TextWindow& window, CallEmitter& emitter)
      : CallUnit(window, emitter), name_is_key_(name_is_key) {}

  void start(bool is_marked) override {
    is_marked_ = is_marked;
    state_ = State::kObject;
    n_open_ = 0;
    name_.clear();
    arguments_.clear();
    has_arguments_ = false;
    streams_ = false;
  }

  Step read() override {
    while (true) {
      const bool in_token = state_ == State::kKey || state_ == State::kInValue;
      if (!in_token && !window_.skip_space()) return Step::kNeedMore;
      if (window_.empty()) return Step::kNeedMore;
      const bool was_open = n_open_ > 0;
      if (!step()) return Step::kReject;
      if (was_open && n_open_ == 0) return Step::kEnd;
    }
  }

  void close_arguments() override {
    if (!streams_ || state_ != State::kInValue) return;
    std::string json;
    reader_.close(json);
    emitter_.arguments(json);
  }

  bool has_whole_arguments() const override { return has_arguments_ && state_ != State::kInValue; }

 private:
  enum class State { kObject, kMember, kKey, kColon, kValue, kInValue, kAfterValue };
  enum class Role { kName, kFunction, kArguments, kOther };

  bool step() {
    const char c = window_.front();
    switch (state_) {
      case State::kObject:
        if (c != '{') return false;
        window_.take(1);
        ++n_open_;
        state_ = State::kMember;
        return true;
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
      default:
        if (c == '}') return end_object();
        if (c != ',') return false;
        window_.take(1);
        state_ = State::kMember;
        return true;
    }
  }

  void start_reader(State state) {
    reader_ = {};
    text_.clear();
    state_ = state;
  }

  bool begin_member(char c) {
    if (c == '}') return end_object();
    start_reader(State::kKey);
    return c == '"';
  }

  bool read_key() {
    const JsonStep step = read_json(window_, reader_, text_);
    if (step != JsonStep::kEnd) return step == JsonStep::kTaken;
    const std::string key = decoded(text_);
    state_ = State::kColon;
    const bool is_call_of_key = name_is_key_ && name_.empty() && emitter_.may_call(key);
    role_ = is_call_of_key ? Role::kArguments : role_of(key);
    if (is_call_of_key) name_ = key;
    return role_ != Role::kOther || is_marked_ || key == "type" || key == "id";
  }

  Role role_of(const std::string& key) const {
    if (name_.empty() && (key == "name" || key == "tool_name")) return Role::kName;
    if (name_.empty() && n_open_ == 1 && key == "function") return Role::kFunction;
    if (!has_arguments_ && (key == "arguments" || key == "parameters")) return Role::kArguments;
    return Role::kOther;
  }

  bool begin_value(char c) {
    if (role_ == Role::kFunction && c == '{') {
      state_ = State::kObject;
      return true;
    }
    start_reader(State::kInValue);
    streams_ = role_ == Role::kArguments && c == '{' && !name_.empty() && !is_whole_first();
    return !streams_ || begin_call(name_);
  }

  bool read_value() {
    const JsonStep step = streams_ ? stream_arguments(reader_) : read_json(window_, reader_, text_);
    if (step == JsonStep::kTaken) return true;
    if (step == JsonStep::kEndBefore) return end_value();
    return step != JsonStep::kInvalid && end_value();
  }

  bool end_value() {
    state_ = State::kAfterValue;
    if (role_ == Role::kArguments) {
      has_arguments_ = true;
      return streams_ || take_held_arguments();
    }
    const bool is_name = role_ == Role::kName || (role_ == Role::kFunction && text_.front() == '"');
    return !is_name || take_name(decoded(text_));
  }

  bool take_name(std::string name) {
    name_ = std::move(name);
    if (!emitter_.may_call(name_)) return false;
    return is_whole_first() || !has_arguments_ || begin_with_arguments();
  }

  // Only its form shows that the object is a call, and that is not known before its end.
  bool is_whole_first() const { return !is_marked_ && emitter_.find_tool(name_) == nullptr; }

  // Also accepts arguments that are an object in a string, as in OpenAI's own format, or null.
  bool take_held_arguments() {
    const std::string text = text_.front() == '"' ? decoded(text_) : text_;
    const bool is_none = text.empty() || text == "null";
    if (is_none) {
      arguments_ = "{}";
    } else if (!read_json_value(text, arguments_) || arguments_.front() != '{') {
      return false;
    }
    return name_.empty() || is_whole_first() || begin_with_arguments();
  }

  bool begin_with_arguments() {
    if (!begin_call(name_)) return false;
    emitter_.arguments(arguments_);
    return true;
  }

  bool end_object() {
    if (n_open_ > 1) {
      window_.take(1);
      --n_open_;
      state_ = State::kAfterValue;
      return true;
    }
    if (!emitter_.is_open()) {
      if (is_whole_first() && !has_arguments_) return false;
      if (!has_arguments_) arguments_ = "{}";
      if (!begin_with_arguments()) return false;
    }
    window_.take(1);
    n_open_ = 0;
    end_call();
    return true;
  }

  const bool name_is_key_;  // {"f": {...}}
  bool is_marked_ = true;
  State state_ = State::kObject;
  size_t n_open_ = 0;  // open objects: the call's own, and "function" in it
  std::string name_;
  std::string arguments_;  // held until the name is known
  bool has_arguments_ = false;
  bool streams_ = false;  // the current value is output as it arrives
  Role role_ = Role::kOther;
  JsonValueReader reader_;  // for the key or value
  std::string text_;        // the output of reader_
};

}  // namespace

CallUnitPtr make_object_unit(const CallForm& form, TextWindow& window, CallEmitter& emitter) {
  const std::string_view open = without_space_after(form.open);
  const bool name_is_key = form.arguments == CallForm::Arguments::kInObject && open.ends_with("{\"");
  return std::make_unique<ObjectUnit>(name_is_key, window, emitter);
}

}  // namespace realizar::text
