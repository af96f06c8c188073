// The meaning of the words of `realizar run`, and of a command line that names no command.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace realizar::cli {

// Whether a word can only mean a model: it names a file or folder, looks like a path to one, or has a scheme, a tag or
// a model of the table of short names.
bool names_a_model(const std::string& word);

struct RunWords {
  std::optional<std::string> model, prompt;
};

// [MODEL] [PROMPT...]. The first word is a model if it contains no space; with a space, only if it is a path. The other
// words are the prompt, joined by spaces. `has_model`: an option names the model, and all words are the prompt. "-"
// means standard input and is a prompt.
RunWords read_run_words(const std::vector<std::string>& words, bool has_model);

}  // namespace realizar::cli
