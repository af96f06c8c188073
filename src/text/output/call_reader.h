// Reads a section of calls from the window, step by step: a CallSection, or one of a format's own (gpt-oss).
#pragma once

#include <memory>

#include "text/output/call_emitter.h"
#include "text/output/json_value.h"
#include "text/output/text_window.h"

namespace realizar::text {

class CallReader {
 public:
  enum class Progress {
    kNeedMore,   // the window's text is used up, or more of it is needed
    kEnd,        // the section is over; content follows
    kReasoning,  // the section is over; reasoning follows (channels)
    kContent,    // as kEnd, and white space that follows is the model's (channels)
    kReject,     // this is no call: what was taken since the last commit is content
  };

  CallReader(TextWindow& window, CallEmitter& emitter) : window_(window), emitter_(emitter) {}
  virtual ~CallReader() = default;
  CallReader(const CallReader&) = delete;
  CallReader& operator=(const CallReader&) = delete;

  // A new section begins at the window's front. `is_marked`: with a mark, not only with text that calls begin with.
  virtual void start(bool is_marked) = 0;
  virtual Progress read() = 0;
  // Writes what makes the open call's arguments valid JSON.
  virtual void close_arguments() = 0;
  // Whether the open call's arguments are whole already.
  virtual bool has_whole_arguments() const = 0;

 protected:
  using Match = TextWindow::Match;

  TextWindow& window_;
  CallEmitter& emitter_;
};

using CallReaderPtr = std::unique_ptr<CallReader>;

}  // namespace realizar::text
