// The chat on a terminal: line editing and history, /commands, Ctrl-C stops an answer.
#pragma once

#include <string>

#include "cli/generation.h"

namespace realizar::cli {

// Runs until /quit or end of input; gives the exit code.
int chat(LanguageModel& model, const AnswerOptions& options, const std::string& system, bool stats);

}  // namespace realizar::cli
