// How one format writes calls: reads a section of calls from the window, step by step.
#pragma once

#include <string_view>

#include "text/output/call_emitter.h"
#include "text/output/json_value.h"
#include "text/output/text_window.h"

namespace realizar::text {

inline constexpr std::string_view kJsonSpace = " \t\r\n";  // of JSON

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

  // A new section begins: an opening marker was taken, or a leading one stands at the window's front.
  virtual void start() = 0;
  virtual Progress read() = 0;
  // Writes what makes the open call's arguments valid JSON.
  virtual void close_arguments() = 0;

 protected:
  using Match = TextWindow::Match;

  // False if no call may have that name. Once true, the call's text so far is not given back.
  bool begin_call(std::string_view name) {
    if (!emitter_.begin(name)) return false;
    window_.commit();
    return true;
  }
  void end_call() {
    emitter_.end();
    window_.commit();
  }

  // Feeds the window's text to `reader` until its value ends; kTaken if the text ended first.
  JsonValueReader::Step read_json(JsonValueReader& reader, std::string& out);
  // The same for an open call's arguments, which go out as they come.
  JsonValueReader::Step stream_arguments(JsonValueReader& reader);

  TextWindow& window_;
  CallEmitter& emitter_;
};

}  // namespace realizar::text
