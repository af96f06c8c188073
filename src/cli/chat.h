// The chat on a terminal: line editing and history, /commands, Ctrl-C to stop an answer. If standard output is not a
// terminal it only gets the answers, and everything else goes to standard error.
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
  std::string model;             // as the user named it
  std::string system, messages;  // messages: the model's, before all turns, a JSON list
  bool stats = false;            // print them after each answer
  bool leaves_out = true;        // drop the oldest turns if the context is full; else that is an error
  // Keeps input, and the conversation for --continue; only if standard input is a terminal.
  bool keeps_history = true;
  bool continues = false;                                                         // resumes the last conversation
  StoreFlags store;                                                               // where /model looks up names
  std::function<Result<std::unique_ptr<Writer>>(const std::string& model)> open;  // opens another model for /model
  SamplingFlags sampling;
  TraceFlags trace;
  std::unique_ptr<ToolBox> tools;  // null: none
};

// Runs until /quit or end of input; returns the exit code.
int chat(std::unique_ptr<Writer> writer, ChatOptions options);

}  // namespace realizar::cli
