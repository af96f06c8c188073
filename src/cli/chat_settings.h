// What /set shows and changes in a chat: the sampler chain and the length of answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/generation.h"

namespace realizar::cli {

// One setting a line, with its value.
std::string settings_text(const AnswerOptions& options);

// Errors: InvalidArgument where there is no such setting, or it cannot have this value; then nothing has changed.
Status change_setting(AnswerOptions& options, const std::string& name, const std::string& value);

std::vector<std::string> setting_names();

// The setting that another name stands for, or a word of Ollama's that has no value: its name and value, `value` where
// that stays as it is. nullopt: it is no such word.
std::optional<std::pair<std::string, std::string>> translated_setting(std::string_view word, const std::string& value);

}  // namespace realizar::cli
