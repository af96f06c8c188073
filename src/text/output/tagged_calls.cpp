// Calls whose arguments are written one by one between tags. Values are plain text, typed by the tool's schema if the
// tags do not state their type; a value that can only be a string is output as it arrives.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "text/output/argument_types.h"
#include "text/output/call_unit.h"

namespace realizar::text {
namespace {

using Json = nlohmann::ordered_json;
using Marks = std::vector<std::string>;

std::string first_mark(std::string_view text) {
  const Marks marks = split_marks(text);
  return marks.empty() ? "" : marks.front();
}

std::string common_begin(const std::string& a, const std::string& b) {
  return {a.begin(), std::ranges::mismatch(a, b).in1};
}

class TaggedUnit final : public CallUnit {
 public:
  TaggedUnit(const CallForm& form, TextWindow& window, CallEmitter& emitter)
      : CallUnit(window, emitter),
        marks_(marks_of(form)),
        key_open_(first_mark(form.tags->key_open)),
        key_close_(split_marks(form.tags->key_close)),
        json_key_close_(split_marks(form.tags->json_key_close)),
        key_end_(json_key_close_.empty() ? key_close_.front()
                                         : common_begin(key_close_.front(), json_key_close_.front())),
        value_close_(first_mark(form.tags->value_close)),
        has_own_lines_(form.tags->key_close.ends_with('\n') && form.tags->value_close.starts_with('\n')) {
    if (!marks_.call_begin.empty()) begin_.push_back(marks_.call_begin);
  }

  void start(bool /*is_marked*/) override {
    n_taken_ = 0;
    state_ = State::kBegin;
  }

  Step read() override {
    while (true) {
      const bool in_token = state_ == State::kName || state_ == State::kKey || state_ == State::kFirstLine ||
                            state_ == State::kValue || state_ == State::kObject;
      if (!in_token && !window_.skip_space()) return Step::kNeedMore;
      if (window_.empty()) return Step::kNeedMore;
      if (const Stop stop = step()) return *stop;
    }
  }

  void close_arguments() override {
    if (state_ == State::kObject) {
      std::string json;
      object_.close(json);
      return emitter_.arguments(json);
    }
    emitter_.arguments(state_ == State::kValue && streams_ ? "\"}" : "}");
  }

  bool has_whole_arguments() const override { return state_ == State::kNext; }

 private:
  enum class State { kBegin, kName, kNameEnd, kNext, kKey, kKeyClose, kFirstLine, kValue, kObject };
  enum class ValueKind { kBySchema, kString, kJson };
  // The reason for stopping; empty: continue with the next step.
  using Stop = std::optional<Step>;

  Stop step() {
    switch (state_) {
      case State::kBegin:
        return take(begin_, State::kName);
      case State::kName:
        return read_name();
      case State::kNameEnd: {
        const Stop stop = take(marks_.name_end, State::kNext);
        return stop ? stop : begin();
      }
      case State::kNext:
        return next();
      case State::kKey:
        return read_key();
      case State::kKeyClose:
        return close_key();
      case State::kFirstLine:
        return first_line();
      case State::kObject:
        return read_object();
      default:
        return read_value();
    }
  }

  Stop take(const Marks& marks, State then) {
    const Stop stop = take_marks(marks);
    if (!stop) state_ = then;
    return stop;
  }

  Stop read_name() {
    size_t n_bytes = 0;
    const bool has_end = !marks_.name_end.empty();
    const Match found = has_end ? window_.find(marks_.name_end.front(), n_bytes) : window_.find_any("\n<", n_bytes);
    if (found != Match::kYes) return found == Match::kOpen ? Step::kNeedMore : Step::kReject;
    name_ = without_space_around(window_.rest().substr(0, n_bytes));
    window_.take(n_bytes);
    state_ = State::kNameEnd;
    return std::nullopt;
  }

  Stop begin() {
    if (!begin_call(name_)) return Step::kReject;
    emitter_.arguments("{");
    static const Json kNoSchema = Json::object();
    const ToolSpec* tool = emitter_.find_tool(name_);
    parameters_ = tool == nullptr ? &kNoSchema : &tool->parameters;
    is_first_ = true;
    return std::nullopt;
  }

  Stop next() {
    if (is_first_ && window_.front() == '{') return begin_object();
    const Match key = window_.take(key_open_);
    const Match end = key == Match::kYes ? Match::kNo : window_.take(marks_.closers.front());
    if (key == Match::kYes) {
      state_ = State::kKey;
      return std::nullopt;
    }
    if (end != Match::kYes) return key == Match::kOpen || end == Match::kOpen ? Step::kNeedMore : Step::kReject;
    emitter_.arguments("}");
    end_call();
    return Step::kEnd;
  }

  Stop read_key() {
    size_t n_bytes = 0;
    const Match found = window_.find(key_end_, n_bytes);
    if (found != Match::kYes) return found == Match::kOpen ? Step::kNeedMore : Step::kReject;
    key_ = window_.rest().substr(0, n_bytes);
    window_.take(n_bytes);
    window_.commit();
    state_ = State::kKeyClose;
    return std::nullopt;
  }

  Stop close_key() {
    if (json_key_close_.empty()) {
      value_kind_ = ValueKind::kBySchema;
      return take(key_close_, State::kFirstLine);
    }
    if (n_taken_ == 0) {
      const Match json = window_.match(json_key_close_.front());
      if (json == Match::kOpen) return Step::kNeedMore;
      value_kind_ = json == Match::kYes ? ValueKind::kJson : ValueKind::kString;
    }
    return take(value_kind_ == ValueKind::kJson ? json_key_close_ : key_close_, State::kFirstLine);
  }

  Stop first_line() {
    if (has_own_lines_ && window_.front() == '\n') window_.take(1);
    const bool is_string = value_kind_ == ValueKind::kBySchema && is_string_only(*parameters_, key_);
    streams_ = value_kind_ == ValueKind::kString || is_string;
    value_.clear();
    if (streams_) {
      begin_argument();
      emitter_.arguments("\"");
    }
    state_ = State::kValue;
    return std::nullopt;
  }

  Stop read_value() {
    const std::string own_line_end = "\n" + value_close_;
    const std::string stops = has_own_lines_ ? "\n" + value_close_.substr(0, 1) : value_close_.substr(0, 1);
    const std::string_view rest = window_.rest();
    size_t at = rest.find_first_of(stops);
    Match end = Match::kNo;
    for (; at != std::string_view::npos; at = rest.find_first_of(stops, at + 1)) {
      const bool at_own_line = has_own_lines_ && rest[at] == '\n';
      end = window_.match(at_own_line ? own_line_end : value_close_, at);
      if (end != Match::kNo) break;
    }
    const size_t n_bytes = std::min(at, rest.size());
    const bool has_own_line = has_own_lines_ && n_bytes < rest.size() && rest[n_bytes] == '\n';
    write_value(rest.substr(0, n_bytes));
    window_.take(n_bytes);
    window_.commit();
    if (end != Match::kYes) return Step::kNeedMore;
    window_.take((has_own_line ? 1 : 0) + value_close_.size());
    end_value();
    window_.commit();
    return std::nullopt;
  }

  // Models may also write an object instead of the tags. Its opening bracket is already written.
  Stop begin_object() {
    std::string open;
    object_ = {};
    object_.push('{', open);
    window_.take(1);
    state_ = State::kObject;
    return std::nullopt;
  }

  Stop read_object() {
    const JsonValueReader::Step step = stream_arguments(object_);
    if (step == JsonValueReader::Step::kTaken) return Step::kNeedMore;
    if (step != JsonValueReader::Step::kEnd) return Step::kReject;
    end_call();
    return Step::kEnd;
  }

  void write_value(std::string_view text) {
    if (!streams_) {
      value_ += text;
      return;
    }
    std::string json;
    append_json_escaped(json, text);
    emitter_.arguments(json);
  }

  void begin_argument() {
    std::string json = is_first_ ? "\"" : ", \"";
    append_json_escaped(json, key_);
    emitter_.arguments(json + "\": ");
    is_first_ = false;
  }

  void end_value() {
    state_ = State::kNext;
    if (streams_) {
      emitter_.arguments("\"");
      return;
    }
    begin_argument();
    static const Json kAnySchema = Json::object();
    emitter_.arguments(typed_argument(value_kind_ == ValueKind::kJson ? kAnySchema : *parameters_, key_, value_));
  }

  CallMarks marks_;
  std::string key_open_;
  Marks key_close_, json_key_close_;
  std::string key_end_;  // common beginning of all variants of key_close
  std::string value_close_;
  bool has_own_lines_;  // the line breaks at the beginning and end of a value belong to the tags
  Marks begin_;

  State state_ = State::kBegin;
  const Json* parameters_ = nullptr;  // the tool's schema
  std::string name_, key_;
  ValueKind value_kind_ = ValueKind::kBySchema;
  std::string value_;     // held until its type is known at its end
  bool streams_ = false;  // the value can only be a string
  bool is_first_ = true;
  JsonValueReader object_;  // used instead of tags
};

}  // namespace

CallUnitPtr make_tagged_unit(const CallForm& form, TextWindow& window, CallEmitter& emitter) {
  return std::make_unique<TaggedUnit>(form, window, emitter);
}

}  // namespace realizar::text
