// What /set shows and changes in a chat: the sampler chain and the length of answers.
#pragma once

#include <string>

#include "cli/generation.h"

namespace realizar::cli {

// One setting a line, with its value.
std::string settings_text(const AnswerOptions& options);

// Errors: InvalidArgument where there is no such setting, or it cannot have this value; then nothing has changed.
Status change_setting(AnswerOptions& options, const std::string& name, const std::string& value);

}  // namespace realizar::cli
