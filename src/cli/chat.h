// The chat on a terminal: line editing and history, /commands, Ctrl-C stops an answer. Where standard output is no
// terminal it holds the answers alone, and the rest goes to standard error.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/options.h"
#include "cli/tool_box.h"
#include "cli/trace_report.h"
#include "cli/writer.h"

namespace realizar::cli {

struct ChatOptions {
  AnswerOptions answer;
  std::string model;             // as it was named
  std::string system, messages;  // messages: of the model, before all turns, a JSON list
  bool stats = false;            // after each answer
  bool leaves_out = true;        // the oldest turns, where the context is full; else that is an error
  // Keeps what is typed, and the conversation for --continue; only where standard input is a terminal.
  bool keeps_history = true;
  bool continues = false;                                                         // with the last conversation
  StoreFlags store;                                                               // where /model looks for names
  std::function<Result<std::unique_ptr<Writer>>(const std::string& model)> open;  // another for /model
  SamplingFlags sampling;
  TraceFlags trace;
  std::unique_ptr<ToolBox> tools;  // null: none
};

// Runs until /quit or end of input; gives the exit code.
int chat(std::unique_ptr<Writer> writer, ChatOptions options);

}  // namespace realizar::cli
