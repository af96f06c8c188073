// Many prompts from a file, answered together: `realizar run --prompts FILE`.
#pragma once

#include <cstdint>
#include <string>

#include "cli/generation.h"
#include "realizar/engine.h"

namespace realizar::cli {

struct PromptsArgs {
  std::string file;      // "-": standard input
  std::string system;    // of the prompts that name none
  std::string messages;  // of the model, before each prompt, a JSON list
  bool is_raw = false;   // the prompts are used as they are, without the chat template
};

// A line of the file is a prompt, or a JSON object with "prompt" and, where wanted, "system", "max_tokens",
// "temperature" and "seed". Prints one JSON object a prompt, in the order of the file, each as soon as it and those
// before it are done: its text and how it ended, or its error. Gives the exit code: kFailure where any has an error.
int answer_prompts(LanguageModel& model, const PromptsArgs& args, const AnswerOptions& options);

}  // namespace realizar::cli
