// What a shell offers to complete a command line. The scripts that `realizar completion SHELL` prints ask the program
// itself, by its hidden command `complete`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_table.h"

namespace realizar::cli {

constexpr std::string_view kCompleteFile = ":file";      // the shell completes names of files and folders
constexpr std::string_view kCompleteFolder = ":folder";  // of folders alone

struct Candidate {
  std::string word, help;
};

// What the last of `words` may become. `words`: those after the program's name; the last may be empty or begun.
// `has_gpu`: whether the program can use GPUs at all.
std::vector<Candidate> complete(CommandTable& table, std::span<const std::string> words, bool has_gpu);

// The script for "bash", "zsh" or "fish".
std::string_view completion_script(std::string_view shell);

}  // namespace realizar::cli
