// Many prompts from a file, answered together: `realizar run --prompts FILE`.
#pragma once

#include <string>

#include "cli/generation.h"
#include "realizar/engine.h"

namespace realizar::cli {

struct PromptsArgs {
  std::string file;             // "-": standard input
  std::string system;           // of the prompts that name none
  std::string messages;         // of the model, before each prompt, a JSON list
  bool is_raw = false;          // the prompts are used as they are, without the chat template
  std::string order = "input";  // of the answers: that of the file, or "finished"
  std::string resume;           // a file with answers that are not made again; "": none
};

// A line of the file is a prompt, or a JSON object with "prompt" and, where wanted, "system", "max_tokens",
// "temperature" and "seed". Prints one JSON object a prompt, as soon as it is done, and in the order of the file those
// before it: its text and how it ended, or its error. Nothing is printed of an answer that was interrupted, and no part
// of a line into a file. Gives the exit code: kFailure where any has an error.
Result<int> answer_prompts(LanguageModel& model, const PromptsArgs& args, const AnswerOptions& options);

}  // namespace realizar::cli
