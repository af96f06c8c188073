// Settings of a chat that /set shows and changes: the sampler chain and the length of answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/generation.h"

namespace realizar::cli {

// One line per setting, with its value.
std::string settings_text(const AnswerOptions& options);

// Errors: InvalidArgument, without any change, if there is no such setting or the value is invalid.
Status change_setting(AnswerOptions& options, const std::string& name, const std::string& value);

std::vector<std::string> setting_names();

// The setting and value for another name, or for one of Ollama's words without a value; `value` is kept otherwise.
// nullopt: not such a word.
std::optional<std::pair<std::string, std::string>> translated_setting(std::string_view word, const std::string& value);

}  // namespace realizar::cli
