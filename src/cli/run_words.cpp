#include "cli/run_words.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/ascii_case.h"
#include "hub/locate.h"

namespace realizar::cli {
namespace {

bool is_one_word(const std::string& word) {
  return !word.empty() && word.find_first_of(" \t\n") == std::string::npos;
}

bool is_path_like(const std::string& word) {
  constexpr std::array<std::string_view, 4> kPathBeginnings = {"/", "./", "../", "~/"};
  return is_one_word(word) && std::any_of(kPathBeginnings.begin(), kPathBeginnings.end(),
                                          [&word](std::string_view beginning) { return word.starts_with(beginning); });
}

}  // namespace

bool names_a_model(const std::string& word) {
  std::error_code error;
  return ends_with_ignoring_case(word, ".gguf") || ends_with_ignoring_case(word, ".safetensors") ||
         is_path_like(word) || std::filesystem::exists(word, error) || hub::is_known_name(word);
}

RunWords read_run_words(const std::vector<std::string>& words, bool has_model) {
  RunWords read;
  size_t i = 0;
  const bool has_model_word =
      !has_model && !words.empty() && words[0] != "-" && (is_one_word(words[0]) || names_a_model(words[0]));
  if (has_model_word) read.model = words[i++];
  if (i < words.size()) read.prompt = words[i++];
  while (i < words.size()) *read.prompt += ' ' + words[i++];
  return read;
}

}  // namespace realizar::cli
