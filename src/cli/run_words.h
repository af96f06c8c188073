// What the words of `realizar run` mean, and of a command line that names no command.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace realizar::cli {

// Whether a word can only be meant as a model: it names a file or folder, is written like a path to one, or has a
// scheme, a tag or a model of the table of short names.
bool names_a_model(const std::string& word);

struct RunWords {
  std::optional<std::string> model, prompt;
};

// [MODEL] [PROMPT...]. The first word, where it has no space, is a model; with a space, only a path. The other words
// are the prompt, joined by spaces. `has_model`: an option names the model, and all words are the prompt. "-" stands
// for standard input and is a prompt.
RunWords read_run_words(const std::vector<std::string>& words, bool has_model);

}  // namespace realizar::cli
