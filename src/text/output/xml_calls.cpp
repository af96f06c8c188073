// Calls whose arguments stand one by one between tags. Values are bare text, typed by the tool's schema; a value that
// can only be a string goes out as it comes.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "text/output/argument_types.h"
#include "text/output/call_families.h"

namespace realizar::text {
namespace {

class XmlCalls final : public CallReader {
 public:
  XmlCalls(XmlForm form, TextWindow& window, CallEmitter& emitter)
      : CallReader(window, emitter), form_(std::move(form)) {}

  void start() override { state_ = State::kNameBegin; }
  Progress read() override;
  void close_arguments() override;

 private:
  enum class State { kNameBegin, kName, kNext, kKey, kValueBegin, kFirstLine, kValue, kSectionEnd };
  // Why reading stops here; empty: it goes on with the next step.
  using Stop = std::optional<Progress>;

  Stop step();
  Stop expect(std::string_view literal, State then);
  Stop read_name();
  Stop next();
  Stop read_key();
  Stop first_line();
  Stop read_value();
  Stop end_section();
  void write_value(std::string_view text);
  void begin_argument();
  void end_value();

  XmlForm form_;
  State state_ = State::kNameBegin;
  const nlohmann::ordered_json* parameters_ = nullptr;  // the tool's schema
  std::string key_;
  std::string value_;     // held where its type shows only at its end
  bool streams_ = false;  // the value can only be a string
  bool is_first_ = true;
};

CallReader::Progress XmlCalls::read() {
  while (true) {
    const bool skips_space = state_ == State::kNameBegin || state_ == State::kNext || state_ == State::kValueBegin ||
                             state_ == State::kSectionEnd;
    if (skips_space && !window_.skip_space()) return Progress::kNeedMore;
    if (window_.empty()) return Progress::kNeedMore;
    if (const Stop stop = step()) return *stop;
  }
}

XmlCalls::Stop XmlCalls::step() {
  switch (state_) {
    case State::kNameBegin:
      return expect(form_.name_begin, State::kName);
    case State::kName:
      return read_name();
    case State::kNext:
      return next();
    case State::kKey:
      return read_key();
    case State::kValueBegin:
      return expect(form_.value_begin, State::kFirstLine);
    case State::kFirstLine:
      return first_line();
    case State::kValue:
      return read_value();
    default:
      return end_section();
  }
}

XmlCalls::Stop XmlCalls::expect(std::string_view literal, State then) {
  const Match match = window_.take(literal);
  if (match != Match::kYes) return match == Match::kOpen ? Progress::kNeedMore : Progress::kReject;
  state_ = then;
  return std::nullopt;
}

XmlCalls::Stop XmlCalls::read_name() {
  size_t n_bytes = 0;
  const Match found = window_.find_any(form_.name_ends, n_bytes);
  if (found != Match::kYes) return found == Match::kOpen ? Progress::kNeedMore : Progress::kReject;
  std::string name(window_.rest().substr(0, n_bytes));
  name.erase(name.find_last_not_of(" \t\r") + 1);
  window_.take(n_bytes + (form_.takes_name_end ? 1 : 0));
  if (!begin_call(name)) return Progress::kReject;
  emitter_.arguments("{");
  static const nlohmann::ordered_json kNoSchema = nlohmann::ordered_json::object();
  const ToolSpec* tool = emitter_.find_tool(name);
  parameters_ = tool == nullptr ? &kNoSchema : &tool->parameters;
  is_first_ = true;
  state_ = State::kNext;
  return std::nullopt;
}

XmlCalls::Stop XmlCalls::next() {
  const Match key = window_.take(form_.key_begin);
  const Match end = key == Match::kYes ? Match::kNo : window_.take(form_.call_end);
  if (key == Match::kYes) {
    state_ = State::kKey;
    return std::nullopt;
  }
  if (end != Match::kYes) {
    return key == Match::kOpen || end == Match::kOpen ? Progress::kNeedMore : Progress::kReject;
  }
  emitter_.arguments("}");
  end_call();
  state_ = State::kSectionEnd;
  if (form_.section_end.empty()) return Progress::kEnd;
  return std::nullopt;
}

XmlCalls::Stop XmlCalls::read_key() {
  size_t n_bytes = 0;
  const Match found = window_.find(form_.key_end, n_bytes);
  if (found != Match::kYes) return found == Match::kOpen ? Progress::kNeedMore : Progress::kReject;
  key_ = window_.rest().substr(0, n_bytes);
  window_.take(n_bytes + form_.key_end.size());
  window_.commit();
  state_ = form_.value_begin.empty() ? State::kFirstLine : State::kValueBegin;
  return std::nullopt;
}

XmlCalls::Stop XmlCalls::first_line() {
  if (form_.value_has_own_lines && window_.front() == '\n') window_.take(1);
  streams_ = is_string_only(*parameters_, key_);
  value_.clear();
  if (streams_) {
    begin_argument();
    emitter_.arguments("\"");
  }
  state_ = State::kValue;
  return std::nullopt;
}

XmlCalls::Stop XmlCalls::read_value() {
  const std::string own_line_end = "\n" + form_.value_end;
  const std::string_view rest = window_.rest();
  size_t at = rest.find_first_of("\n<");
  Match end = Match::kNo;
  for (; at != std::string_view::npos; at = rest.find_first_of("\n<", at + 1)) {
    const bool at_own_line = form_.value_has_own_lines && rest[at] == '\n';
    end = window_.match(at_own_line ? own_line_end : form_.value_end, at);
    if (end != Match::kNo) break;
  }
  const size_t n_bytes = std::min(at, rest.size());
  const bool has_own_line = n_bytes < rest.size() && rest[n_bytes] == '\n';
  write_value(rest.substr(0, n_bytes));
  window_.take(n_bytes);
  window_.commit();
  if (end != Match::kYes) return Progress::kNeedMore;
  window_.take((has_own_line ? 1 : 0) + form_.value_end.size());
  end_value();
  window_.commit();
  return std::nullopt;
}

void XmlCalls::write_value(std::string_view text) {
  if (!streams_) {
    value_ += text;
    return;
  }
  std::string json;
  append_json_escaped(json, text);
  emitter_.arguments(json);
}

void XmlCalls::begin_argument() {
  std::string json = is_first_ ? "\"" : ", \"";
  append_json_escaped(json, key_);
  emitter_.arguments(json + "\": ");
  is_first_ = false;
}

void XmlCalls::end_value() {
  state_ = State::kNext;
  if (streams_) {
    emitter_.arguments("\"");
    return;
  }
  begin_argument();
  emitter_.arguments(typed_argument(*parameters_, key_, value_));
}

XmlCalls::Stop XmlCalls::end_section() {
  return window_.take(form_.section_end) == Match::kOpen ? Progress::kNeedMore : Progress::kEnd;
}

void XmlCalls::close_arguments() {
  emitter_.arguments(state_ == State::kValue && streams_ ? "\"}" : "}");
}

}  // namespace

CallReaderPtr make_xml_calls(XmlForm form, TextWindow& window, CallEmitter& emitter) {
  return std::make_unique<XmlCalls>(std::move(form), window, emitter);
}

}  // namespace realizar::text
