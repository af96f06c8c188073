// Answers many prompts from a file together: `realizar run --prompts FILE`.
#pragma once

#include <string>

#include "cli/generation.h"
#include "realizar/engine.h"

namespace realizar::cli {

struct PromptsArgs {
  std::string file;             // "-": standard input
  std::string system;           // for prompts that set none
  std::string messages;         // the model's, before each prompt, a JSON list
  bool is_raw = false;          // the prompts are used unchanged, without the chat template
  std::string order = "input";  // of the answers: the file's order, or "finished"
  std::string resume;           // a file with answers that are not repeated; "": none
};

// A line of the file is a prompt, or a JSON object with "prompt" and, optionally, "system", "max_tokens", "temperature"
// and "seed". Prints one JSON object per prompt, as soon as it is done, in the file's order after those before it: its
// text and how it ended, or its error. Prints nothing for an interrupted answer, and never an incomplete line to a
// file. Returns the exit code: kFailure if any prompt has an error.
Result<int> answer_prompts(LanguageModel& model, const PromptsArgs& args, const AnswerOptions& options);

}  // namespace realizar::cli
