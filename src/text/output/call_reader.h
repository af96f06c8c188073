// Reads a section of calls from the window, step by step: a CallSection, or a format's own reader (gpt-oss).
#pragma once

#include <memory>

#include "text/output/call_emitter.h"
#include "text/output/json_value.h"
#include "text/output/text_window.h"

namespace realizar::text {

class CallReader {
 public:
  enum class Progress {
    kNeedMore,   // the window is used up, or more of its text is needed
    kEnd,        // the section is over; content follows
    kReasoning,  // the section is over; reasoning follows (channels)
    kContent,    // like kEnd, but white space that follows belongs to the text (channels)
    kReject,     // not a call: the text taken since the last commit is content
  };

  CallReader(TextWindow& window, CallEmitter& emitter) : window_(window), emitter_(emitter) {}
  virtual ~CallReader() = default;
  CallReader(const CallReader&) = delete;
  CallReader& operator=(const CallReader&) = delete;

  // A new section begins at the window's front. `is_marked`: with a mark, not only with a text with which calls may
  // begin.
  virtual void start(bool is_marked) = 0;
  virtual Progress read() = 0;
  // Completes the open call's arguments to valid JSON.
  virtual void close_arguments() = 0;
  // Whether the open call's arguments are already complete.
  virtual bool has_whole_arguments() const = 0;

 protected:
  using Match = TextWindow::Match;

  TextWindow& window_;
  CallEmitter& emitter_;
};

using CallReaderPtr = std::unique_ptr<CallReader>;

}  // namespace realizar::text
