// Candidates for completing a command line in a shell. The scripts printed by `realizar completion SHELL` call the
// program itself, through its hidden command `complete`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_table.h"

namespace realizar::cli {

constexpr std::string_view kCompleteFile = ":file";      // the shell completes names of files and folders
constexpr std::string_view kCompleteFolder = ":folder";  // only names of folders

struct Candidate {
  std::string word, help;
};

// Completions of the last word. `words`: those after the program's name; the last may be empty or incomplete.
// `has_gpu`: whether the program can use GPUs.
std::vector<Candidate> complete(CommandTable& table, std::span<const std::string> words, bool has_gpu);

// The script for "bash", "zsh" or "fish".
std::string_view completion_script(std::string_view shell);

}  // namespace realizar::cli
