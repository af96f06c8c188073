#include "cli/run_words.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "cli/store_flags.h"

namespace realizar::cli {
namespace {

bool is_one_word(const std::string& word) {
  return word.find_first_of(" \t\n") == std::string::npos;
}

bool is_path_like(const std::string& word) {
  constexpr std::array<std::string_view, 4> kPathBeginnings = {"/", "./", "../", "~/"};
  return is_one_word(word) && std::any_of(kPathBeginnings.begin(), kPathBeginnings.end(),
                                          [&word](std::string_view beginning) { return word.starts_with(beginning); });
}

// A first word that is no file is a model all the same where the words say so: a
// word before a quoted prompt (llama3 "why is the sky blue?"), or a name as on Hugging Face (org/name why ...). Then
// the missing file is an error, and no toy answers in its place.
bool is_meant_as_model(const std::vector<std::string>& words) {
  if (words.size() < 2 || !is_one_word(words[0])) return false;
  const bool is_before_quoted = words.size() == 2 && !is_one_word(words[1]);
  const bool is_repository = std::count(words[0].begin(), words[0].end(), '/') == 1;
  return is_before_quoted || is_repository;
}

}  // namespace

bool names_a_model(const std::string& word) {
  std::error_code error;
  return word.ends_with(".gguf") || word.ends_with(".safetensors") || is_path_like(word) ||
         std::filesystem::exists(word, error) || is_model_name(word);
}

RunWords read_run_words(const std::vector<std::string>& words, bool has_model,
                        const std::function<bool(const std::string&)>& is_known) {
  RunWords read;
  size_t i = 0;
  const auto is_model = [&](const std::string& word) {
    return names_a_model(word) || is_meant_as_model(words) || (is_known && is_known(word));
  };
  if (!has_model && !words.empty() && is_model(words[0])) read.model = words[i++];
  if (i < words.size()) read.prompt = words[i++];
  while (i < words.size()) *read.prompt += ' ' + words[i++];
  return read;
}

}  // namespace realizar::cli
