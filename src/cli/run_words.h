// What the words of `realizar run` mean, and of a command line that names no command.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace realizar::cli {

// Whether a word is meant as a model: it names a file or folder, or is written like a path to one or as a model's name.
bool names_a_model(const std::string& word);

struct RunWords {
  std::optional<std::string> model, prompt;
};

// [MODEL] [PROMPT...]: the words of an unquoted prompt are joined by spaces. `has_model`: another option names it.
// `is_known`: whether a word is the name of a model that is there.
RunWords read_run_words(const std::vector<std::string>& words, bool has_model,
                        const std::function<bool(const std::string&)>& is_known = {});

}  // namespace realizar::cli
