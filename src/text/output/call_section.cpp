#include "text/output/call_section.h"

#include <algorithm>

namespace realizar::text {
namespace {

using Arguments = CallForm::Arguments;

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

CallForm as_code(CallForm form) {
  form.arguments = Arguments::kLiteral;
  form.open = form.close = "";
  form.name_end = "(";
  form.tags = ArgumentTags{.key_open = "", .key_close = "=", .value_close = "", .between = ", ", .quote = "\""};
  return form;
}

CallUnitPtr own_unit(const CallForm& form, TextWindow& window, CallEmitter& emitter) {
  switch (form.arguments) {
    case Arguments::kObjectAfter:
      return make_object_after_unit(form, window, emitter);
    case Arguments::kTagged:
      return make_tagged_unit(form, window, emitter);
    case Arguments::kLiteral:
      return make_literal_unit(form, window, emitter);
    default:
      return nullptr;
  }
}

}  // namespace

CallSection::CallSection(const CallForm& form, TextWindow& window, CallEmitter& emitter)
    : CallReader(window, emitter),
      form_(form),
      marks_(marks_of(form)),
      object_(make_object_unit(form, window, emitter)),
      own_(own_unit(form, window, emitter)) {
  if (form.reads_literals) literal_ = make_literal_unit(as_code(form), window, emitter);
}

void CallSection::start(bool is_marked) {
  state_ = State::kOpeners;
  unit_ = nullptr;
  is_marked_ = is_marked;
  in_list_ = is_closed_ = false;
  n_calls_ = 0;
}

CallReader::Progress CallSection::read() {
  while (true) {
    if (state_ != State::kUnit && !window_.skip_space()) return Progress::kNeedMore;
    if (window_.empty()) return Progress::kNeedMore;
    if (const Stop stop = step()) return *stop;
  }
}

CallSection::Stop CallSection::step() {
  switch (state_) {
    case State::kOpeners:
      return openers();
    case State::kChoose:
      return choose();
    case State::kUnit:
      return read_unit();
    default:
      return after();
  }
}

CallSection::Match CallSection::take_any(const std::vector<std::string>& marks) {
  Match best = Match::kNo;
  for (const std::string& mark : marks) {
    const Match match = window_.take(mark);
    if (match == Match::kYes) return match;
    if (match == Match::kOpen) best = match;
  }
  return best;
}

CallSection::Stop CallSection::openers() {
  const Match opened = take_any(marks_.openers);
  if (opened == Match::kOpen) return Progress::kNeedMore;
  if (opened == Match::kYes) is_marked_ = true;
  if (opened == Match::kNo) state_ = State::kChoose;
  return std::nullopt;
}

// A list of calls contains objects, or calls in code syntax. A section may be empty.
CallSection::Stop CallSection::choose() {
  if (is_marked_ && n_calls_ == 0) {
    const Match closed = take_any(marks_.closers);
    if (closed != Match::kNo) return closed == Match::kYes ? Progress::kEnd : Progress::kNeedMore;
  }
  size_t at = 0;
  if (window_.front() == '[' && !in_list_) {
    const std::string_view start = window_.rest().substr(0, TextWindow::kMaxHeaderBytes);
    at = std::min(start.find_first_not_of(kJsonSpace, 1), start.size());
    if (at == window_.rest().size() && !window_.ended()) return Progress::kNeedMore;
  }
  return list_or_unit(at);
}

CallSection::Stop CallSection::list_or_unit(size_t at) {
  const std::string_view rest = window_.rest().substr(at);
  const char c = rest.empty() ? '\0' : rest.front();
  const bool is_empty_list = c == ']' && (at > 0 || in_list_) && (is_marked_ || n_calls_ > 0);
  unit_ = is_empty_list ? nullptr : unit_for(c);
  if (at > 0 && unit_ != nullptr && unit_ == own_.get() && form_.arguments != Arguments::kLiteral) unit_ = nullptr;
  if (unit_ == nullptr && !is_empty_list) return Progress::kReject;
  window_.take(at);
  in_list_ = in_list_ || at > 0;
  state_ = is_empty_list ? State::kAfter : State::kUnit;
  if (unit_ != nullptr) unit_->start(is_marked_);
  return std::nullopt;
}

CallUnit* CallSection::unit_for(char c) const {
  if (c == '{') return object_.get();
  if (literal_ != nullptr && begins_name(c)) return literal_.get();
  return own_.get();
}

CallSection::Stop CallSection::read_unit() {
  switch (unit_->read()) {
    case CallUnit::Step::kNeedMore:
      return Progress::kNeedMore;
    case CallUnit::Step::kReject:
      return Progress::kReject;
    default:
      ++n_calls_;
      state_ = State::kAfter;
      return std::nullopt;
  }
}

// Whether another call follows without a mark.
bool CallSection::goes_on(char c) const {
  if (is_closed_) return false;
  if (c == ',' || c == ';') return true;
  if (unit_ != nullptr && unit_ == object_.get()) return c == '{';
  const bool is_open_section = !marks_.is_bare && !marks_.closers.empty() && !in_list_;
  return is_open_section && form_.arguments == Arguments::kLiteral && begins_name(c);
}

CallSection::Stop CallSection::after() {
  const char c = window_.front();
  if (c == ']' && in_list_) {
    window_.take(1);
    window_.commit();
    in_list_ = false;
    is_closed_ = true;
    return std::nullopt;
  }
  const Match closed = take_any(marks_.closers);
  if (closed == Match::kOpen) return Progress::kNeedMore;
  if (closed == Match::kYes) {
    window_.commit();
    is_closed_ = true;
    return std::nullopt;
  }
  if (!goes_on(c)) return Progress::kEnd;
  if (c == ',' || c == ';') window_.take(1);
  state_ = State::kOpeners;
  return std::nullopt;
}

void CallSection::close_arguments() {
  if (unit_ != nullptr) unit_->close_arguments();
}

}  // namespace realizar::text
