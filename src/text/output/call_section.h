// Reads a section of calls: the marks around them, lists of them, and their separators.
#pragma once

#include "text/output/call_reader.h"
#include "text/output/call_unit.h"

namespace realizar::text {

class CallSection final : public CallReader {
 public:
  CallSection(const CallForm& form, TextWindow& window, CallEmitter& emitter);

  void start(bool is_marked) override;
  Progress read() override;
  void close_arguments() override;
  bool has_whole_arguments() const override { return unit_ != nullptr && unit_->has_whole_arguments(); }

 private:
  enum class State { kOpeners, kChoose, kUnit, kAfter };
  // The reason for stopping; empty: continue with the next step.
  using Stop = std::optional<Progress>;

  Stop step();
  Stop openers();
  Stop choose();
  Stop list_or_unit(size_t at);
  CallUnit* unit_for(char c) const;
  Stop read_unit();
  Stop after();
  // Takes any of the marks at this position; kOpen: more text is needed to decide.
  Match take_any(const std::vector<std::string>& marks);
  bool goes_on(char c) const;

  CallForm form_;
  CallMarks marks_;
  CallUnitPtr object_, own_, literal_;
  CallUnit* unit_ = nullptr;  // of the current call
  State state_ = State::kOpeners;
  bool is_marked_ = false, in_list_ = false, is_closed_ = false;
  size_t n_calls_ = 0;
};

}  // namespace realizar::text
