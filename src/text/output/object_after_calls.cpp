// Calls that name the function, followed by the arguments as a JSON object.
#include <algorithm>
#include <optional>

#include "text/output/call_unit.h"

namespace realizar::text {
namespace {

class ObjectAfterUnit final : public CallUnit {
 public:
  ObjectAfterUnit(const CallForm& form, TextWindow& window, CallEmitter& emitter)
      : CallUnit(window, emitter), marks_(marks_of(form)), id_mark_(form.id_mark) {
    if (!marks_.call_begin.empty()) begin_.push_back(marks_.call_begin);
  }

  void start(bool is_marked) override {
    is_marked_ = is_marked;
    state_ = State::kBegin;
    n_taken_ = 0;
  }

  Step read() override {
    while (true) {
      const bool in_token = state_ == State::kName || state_ == State::kNameEnd || state_ == State::kArguments;
      if (!in_token && !window_.skip_space()) return Step::kNeedMore;
      if (window_.empty()) return Step::kNeedMore;
      if (const Stop stop = step()) return *stop;
    }
  }

  void close_arguments() override {
    std::string json;
    reader_.close(json);
    emitter_.arguments(json);
  }

  bool has_whole_arguments() const override { return state_ == State::kEnd; }

 private:
  enum class State { kBegin, kName, kNameEnd, kBeforeArguments, kArguments, kEnd };
  using Stop = std::optional<Step>;

  Stop step() {
    switch (state_) {
      case State::kBegin:
        return take(begin_, State::kName);
      case State::kName:
        return read_name();
      case State::kNameEnd:
        return take(marks_.name_end, State::kBeforeArguments);
      case State::kBeforeArguments:
        return before_arguments();
      default:
        return read_arguments();
    }
  }

  Stop take(const std::vector<std::string>& marks, State then) {
    const Stop stop = take_marks(marks);
    if (!stop) state_ = then;
    return stop;
  }

  Stop read_name() {
    size_t n_bytes = 0;
    const Match found = find_name_end(n_bytes);
    if (found != Match::kYes) return found == Match::kOpen ? Step::kNeedMore : Step::kReject;
    name_ = window_.rest().substr(0, n_bytes);
    window_.take(n_bytes);
    state_ = State::kNameEnd;
    return std::nullopt;
  }

  Match find_name_end(size_t& n_bytes) const {
    if (marks_.name_end.empty()) return window_.find_any("{\n", n_bytes);
    return window_.find(marks_.name_end.front(), n_bytes);
  }

  // The call ends without an object: it has no arguments.
  Stop before_arguments() {
    if (window_.front() == '{') {
      reader_ = {};
      state_ = State::kArguments;
      return begin() ? Stop() : Step::kReject;
    }
    const Match ends = marks_.closers.empty() ? Match::kNo : window_.match(marks_.closers.front());
    if (ends == Match::kOpen) return Step::kNeedMore;
    if (ends == Match::kNo || !begin()) return Step::kReject;
    emitter_.arguments("{}");
    end_call();
    return Step::kEnd;
  }

  Stop read_arguments() {
    const JsonValueReader::Step step = stream_arguments(reader_);
    if (step == JsonValueReader::Step::kTaken) return Step::kNeedMore;
    if (step != JsonValueReader::Step::kEnd) return Step::kReject;
    state_ = State::kEnd;
    end_call();
    return Step::kEnd;
  }

  bool begin() {
    std::string_view name = without_space_around(name_);
    if (!id_mark_.empty()) name = without_space_after(name.substr(0, name.rfind(id_mark_)));
    const std::string& prefix = marks_.name_prefix;
    if (!prefix.empty() && name.starts_with(prefix) && emitter_.find_tool(name) == nullptr) {
      name.remove_prefix(prefix.size());
    }
    if (!is_marked_ && emitter_.find_tool(name) == nullptr) return false;
    return begin_call(name);
  }

  CallMarks marks_;
  std::string id_mark_;
  std::vector<std::string> begin_;  // the call's own first mark
  State state_ = State::kBegin;
  bool is_marked_ = true;
  std::string name_;
  JsonValueReader reader_;
};

}  // namespace

CallUnitPtr make_object_after_unit(const CallForm& form, TextWindow& window, CallEmitter& emitter) {
  return std::make_unique<ObjectAfterUnit>(form, window, emitter);
}

}  // namespace realizar::text
