// The chat on a terminal: line editing and history, /commands, Ctrl-C stops an answer. Where standard output is no
// terminal it holds the answers alone, and the rest goes to standard error.
#pragma once

#include <memory>
#include <string>

#include "cli/generation.h"
#include "cli/options.h"
#include "cli/tool_box.h"
#include "cli/trace_report.h"

namespace realizar::cli {

struct ChatOptions {
  AnswerOptions answer;
  std::string model;             // as it was named
  std::string system, messages;  // messages: of the model, before all turns, a JSON list
  bool stats = false;            // after each answer
  bool leaves_out = true;        // the oldest turns, where the context is full; else that is an error
  // Keeps what is typed, and the conversation for --continue; only where standard input is a terminal.
  bool keeps_history = true;
  bool continues = false;  // with the last conversation
  LoadFlags load;          // how /model loads another
  SamplingFlags sampling;
  TraceFlags trace;
  std::unique_ptr<ToolBox> tools;  // null: none
};

// Runs until /quit or end of input; gives the exit code.
int chat(LanguageModel model, ChatOptions options);

}  // namespace realizar::cli
