// Calls that name the function before a marker, and whose arguments are a JSON object after it.
#include <algorithm>
#include <optional>

#include "text/output/call_families.h"

namespace realizar::text {
namespace {

using Step = JsonValueReader::Step;

class NamedCalls final : public CallReader {
 public:
  NamedCalls(NamedForm form, TextWindow& window, CallEmitter& emitter)
      : CallReader(window, emitter), form_(std::move(form)) {}

  void start() override {
    state_ = form_.call_begin.empty() ? State::kName : State::kNext;
    n_calls_ = 0;
  }
  Progress read() override;
  void close_arguments() override;

 private:
  enum class State { kNext, kName, kBeforeArguments, kFence, kArguments, kAfterArguments, kAfterFence };
  // Why reading stops here; empty: it goes on with the next step.
  using Stop = std::optional<Progress>;

  Stop step();
  Stop next_call();
  Stop read_name();
  Stop before_arguments();
  Stop read_typed_name();
  Stop read_arguments();
  Stop take_if_there(std::string_view literal, State then);
  bool begin();

  NamedForm form_;
  State state_ = State::kNext;
  std::string name_;
  bool is_typed_ = false;
  size_t n_calls_ = 0;  // of this section
  JsonValueReader reader_;
};

CallReader::Progress NamedCalls::read() {
  while (true) {
    const bool in_token = state_ == State::kName || state_ == State::kArguments;
    if (!in_token && !window_.skip_space()) return Progress::kNeedMore;
    if (window_.empty()) return Progress::kNeedMore;
    if (const Stop stop = step()) return *stop;
  }
}

NamedCalls::Stop NamedCalls::step() {
  switch (state_) {
    case State::kNext:
      return next_call();
    case State::kName:
      return read_name();
    case State::kBeforeArguments:
      return before_arguments();
    case State::kFence:
      return take_if_there("```json", State::kBeforeArguments);
    case State::kArguments:
      return read_arguments();
    case State::kAfterArguments:
      return take_if_there(form_.has_typed_calls ? "```" : "", State::kAfterFence);
    default:
      return take_if_there(form_.call_end, State::kNext);
  }
}

NamedCalls::Stop NamedCalls::next_call() {
  if (form_.call_begin.empty()) return Progress::kEnd;
  const Match begins = window_.take(form_.call_begin);
  const Match ends = begins == Match::kYes ? Match::kNo : window_.take(form_.section_end);
  if (ends == Match::kYes) return Progress::kEnd;
  if (begins == Match::kOpen || ends == Match::kOpen) return Progress::kNeedMore;
  if (begins == Match::kNo) return n_calls_ > 0 ? Progress::kEnd : Progress::kReject;
  state_ = State::kName;
  return std::nullopt;
}

NamedCalls::Stop NamedCalls::read_name() {
  size_t n_bytes = 0;
  const Match found = window_.find(form_.name_end, n_bytes);
  if (found != Match::kYes) return found == Match::kOpen ? Progress::kNeedMore : Progress::kReject;
  name_ = window_.rest().substr(0, n_bytes);
  window_.take(n_bytes + form_.name_end.size());
  is_typed_ = false;
  state_ = State::kBeforeArguments;
  return std::nullopt;
}

NamedCalls::Stop NamedCalls::before_arguments() {
  if (window_.front() == '{') {
    reader_ = {};
    state_ = State::kArguments;
    return begin() ? Stop() : Progress::kReject;
  }
  const Match no_arguments = form_.call_end.empty() ? Match::kNo : window_.match(form_.call_end);
  if (no_arguments == Match::kOpen) return Progress::kNeedMore;
  if (no_arguments == Match::kNo) return read_typed_name();
  if (!begin()) return Progress::kReject;
  emitter_.arguments("{}");
  end_call();
  state_ = State::kAfterFence;
  return std::nullopt;
}

NamedCalls::Stop NamedCalls::read_typed_name() {
  if (!form_.has_typed_calls || is_typed_) return Progress::kReject;
  size_t n_bytes = 0;
  const Match found = window_.find_any("\n", n_bytes);
  if (found != Match::kYes) return found == Match::kOpen ? Progress::kNeedMore : Progress::kReject;
  name_ = window_.rest().substr(0, n_bytes);
  window_.take(n_bytes);
  is_typed_ = true;
  state_ = State::kFence;
  return std::nullopt;
}

NamedCalls::Stop NamedCalls::read_arguments() {
  const Step step = stream_arguments(reader_);
  if (step == Step::kTaken) return Progress::kNeedMore;
  if (step != Step::kEnd) return Progress::kReject;
  end_call();
  state_ = State::kAfterArguments;
  return std::nullopt;
}

NamedCalls::Stop NamedCalls::take_if_there(std::string_view literal, State then) {
  if (window_.take(literal) == Match::kOpen) return Progress::kNeedMore;
  if (!emitter_.is_open() && n_calls_ > 0) window_.commit();
  state_ = then;
  return std::nullopt;
}

// Kimi writes functions.name:0; tools are known by the name alone.
bool NamedCalls::begin() {
  std::string_view name = name_;
  name.remove_prefix(std::min(name.find_first_not_of(kJsonSpace), name.size()));
  if (!form_.name_suffix.empty()) name = name.substr(0, name.rfind(form_.name_suffix));
  name = name.substr(0, name.find_last_not_of(kJsonSpace) + 1);
  if (name.starts_with("functions.") && !emitter_.find_tool(name)) name.remove_prefix(10);
  if (!begin_call(name)) return false;
  ++n_calls_;
  return true;
}

void NamedCalls::close_arguments() {
  std::string json;
  reader_.close(json);
  emitter_.arguments(json);
}

}  // namespace

CallReaderPtr make_named_calls(NamedForm form, TextWindow& window, CallEmitter& emitter) {
  return std::make_unique<NamedCalls>(std::move(form), window, emitter);
}

}  // namespace realizar::text
