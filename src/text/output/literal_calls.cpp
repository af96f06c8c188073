// Calls written as name(key="text", n=2) or call:name{key:<|"|>text<|"|>,n:2}: Python's literals and Gemma's, which are
// converted to JSON.
#include <optional>

#include "text/output/call_unit.h"
#include "text/output/literal_value.h"

namespace realizar::text {
namespace {

constexpr std::string_view kNotInNames = " \t\r\n\"'<>[]{}(),;:=";

LiteralStyle style_of(const CallForm& form) {
  const char open = form.name_end.empty() ? '(' : form.name_end.back();
  LiteralStyle style{open, open == '{' ? '}' : ')', form.tags->key_close == ":" ? ':' : '=', {}};
  if (form.tags->quote.size() > 1) style.quotes.push_back(form.tags->quote);
  style.quotes.insert(style.quotes.end(), {"\"", "'"});
  return style;
}

class LiteralUnit final : public CallUnit {
 public:
  LiteralUnit(const CallForm& form, TextWindow& window, CallEmitter& emitter)
      : CallUnit(window, emitter),
        marks_(marks_of(form)),
        name_end_(form.name_end.empty() ? "" : form.name_end.substr(0, form.name_end.size() - 1)),
        suffix_(form.code_suffix),
        style_(style_of(form)),
        reader_(style_) {}

  void start(bool is_marked) override {
    is_marked_ = is_marked;
    state_ = State::kName;
  }

  Step read() override {
    while (true) {
      if (window_.empty()) return Step::kNeedMore;
      if (const Stop stop = state_ == State::kName ? read_name() : read_arguments()) return *stop;
    }
  }

  void close_arguments() override {
    std::string json;
    reader_.close(json);
    emitter_.arguments(json);
  }
  bool has_whole_arguments() const override { return state_ == State::kEnd; }

 private:
  enum class State { kName, kArguments, kEnd };
  using Stop = std::optional<Step>;

  Stop read_name() {
    size_t n_bytes = 0;
    const Match found = find_bracket(n_bytes);
    if (found != Match::kYes) return found == Match::kOpen ? Step::kNeedMore : Step::kReject;
    std::string name(without_space_after(window_.rest().substr(0, n_bytes)));
    if (name.starts_with(marks_.name_prefix)) name.erase(0, marks_.name_prefix.size());
    const std::string_view end = without_space_around(name_end_);
    const bool has_suffix = name.ends_with(suffix_);
    if (has_suffix) name.resize(name.size() - suffix_.size());
    if (!name.ends_with(end)) return Step::kReject;
    name = without_space_after(std::string_view(name).substr(0, name.size() - end.size()));
    window_.take(n_bytes + 1);
    // Without the suffix or a mark it may be program code.
    const bool may_be_other = !has_suffix || !is_marked_;
    if (may_be_other && emitter_.find_tool(name) == nullptr) return Step::kReject;
    if (!begin_call(name)) return Step::kReject;
    std::string json;
    reader_.start(json);
    emitter_.arguments(json);
    state_ = State::kArguments;
    return std::nullopt;
  }

  // The position of the bracket; a name does not extend over white space.
  Match find_bracket(size_t& n_bytes) const {
    const Match found = window_.find_any(std::string_view(&style_.open, 1), n_bytes);
    if (is_marked_ || !name_end_.empty()) return found;
    const std::string_view name = window_.rest().substr(0, found == Match::kYes ? n_bytes : std::string_view::npos);
    return without_space_after(name).find_first_of(kNotInNames) == std::string_view::npos ? found : Match::kNo;
  }

  Stop read_arguments() {
    std::string json;
    const LiteralReader::Step step = reader_.read(window_, json);
    emitter_.arguments(json);
    window_.commit();
    if (step == LiteralReader::Step::kNeedMore) return Step::kNeedMore;
    if (step == LiteralReader::Step::kInvalid) return Step::kReject;
    state_ = State::kEnd;
    end_call();
    return Step::kEnd;
  }

  CallMarks marks_;
  std::string name_end_;  // between the name and the bracket
  std::string suffix_;    // after the name
  LiteralStyle style_;
  LiteralReader reader_;
  State state_ = State::kName;
  bool is_marked_ = true;
};

}  // namespace

CallUnitPtr make_literal_unit(const CallForm& form, TextWindow& window, CallEmitter& emitter) {
  return std::make_unique<LiteralUnit>(form, window, emitter);
}

}  // namespace realizar::text
