// Reads one call, by the kind of its arguments. CallSection reads the text around calls (call_section.h).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "text/output/call_emitter.h"
#include "text/output/call_form.h"
#include "text/output/json_value.h"
#include "text/output/text_window.h"

namespace realizar::text {

// Feeds the window's text to `reader` until its value ends; kTaken if the text ended first.
JsonValueReader::Step read_json(TextWindow& window, JsonValueReader& reader, std::string& out);

class CallUnit {
 public:
  enum class Step { kNeedMore, kEnd, kReject };

  CallUnit(TextWindow& window, CallEmitter& emitter) : window_(window), emitter_(emitter) {}
  virtual ~CallUnit() = default;
  CallUnit(const CallUnit&) = delete;
  CallUnit& operator=(const CallUnit&) = delete;

  // A call begins at this position. `is_marked`: a mark before it announced it.
  virtual void start(bool is_marked) = 0;
  virtual Step read() = 0;
  // Completes the open call's arguments to valid JSON.
  virtual void close_arguments() = 0;
  // Whether the arguments are already complete, even if the text around them is not.
  virtual bool has_whole_arguments() const { return false; }

 protected:
  using Match = TextWindow::Match;

  // False if no call may have that name. Once true, the call's text so far can no longer be given back.
  bool begin_call(std::string_view name);
  void end_call();
  // read_json for an open call's arguments, which are output as they arrive.
  JsonValueReader::Step stream_arguments(JsonValueReader& reader);
  // Takes the marks in order, with white space between them. Nullopt: all of them; else the reason for stopping.
  std::optional<Step> take_marks(const std::vector<std::string>& marks);

  TextWindow& window_;
  CallEmitter& emitter_;
  size_t n_taken_ = 0;  // of the current sequence of marks
};

using CallUnitPtr = std::unique_ptr<CallUnit>;

CallUnitPtr make_object_unit(const CallForm& form, TextWindow& window, CallEmitter& emitter);
CallUnitPtr make_object_after_unit(const CallForm& form, TextWindow& window, CallEmitter& emitter);
CallUnitPtr make_tagged_unit(const CallForm& form, TextWindow& window, CallEmitter& emitter);
CallUnitPtr make_literal_unit(const CallForm& form, TextWindow& window, CallEmitter& emitter);

}  // namespace realizar::text
