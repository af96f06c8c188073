// What the words of `realizar run` mean, and of a command line that names no command.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace realizar::cli {

// Whether a word is meant as a model: it names a file or folder, or is written like a path to one.
bool names_a_model(const std::string& word);

struct RunWords {
  std::optional<std::string> model, prompt;
};

// [MODEL] [PROMPT...]: the words of an unquoted prompt are joined by spaces. `has_model`: another option names it.
RunWords read_run_words(const std::vector<std::string>& words, bool has_model);

}  // namespace realizar::cli
