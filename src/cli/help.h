// The help pages, generated from the table of commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_table.h"

namespace realizar::cli {

struct HelpStyle {
  size_t n_columns = 80;
  bool all = false;      // everything, in groups; else only the common options, each with its first sentence
  bool has_gpu = false;  // whether the program can use GPUs; else only `all` shows their options
};

// `text` in lines of at most n_columns, broken between words; every line but the first is indented. A longer word gets
// its own line. `at`: the column in which the text begins.
std::string wrapped(std::string_view text, size_t n_columns, size_t indent, size_t at = 0);

// "realizar run [MODEL] [PROMPT] [OPTIONS]"
std::string usage(const CommandRow& command);
// "-t, --threads N"
std::string signature(const OptionRow& row);
// The help text with the permitted words and the default.
std::string description(const OptionRow& row);
// Headings in order of first occurrence; the first one is empty.
std::vector<std::string> groups_of(const CommandRow& command);

// `common`: the options of every command, which are shown only with style `all`.
std::string command_help(const CommandRow& command, const CommandRow& common, const HelpStyle& style);
std::string program_help(const CommandTable& table, const HelpStyle& style);

constexpr std::string_view kProgramHelp =
    "realizar loads a GGUF or SafeTensors language model and generates text with it.";
constexpr std::string_view kExitCodes = "Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted.";

// The manual page in roff (manual.cpp). docs/realizar.1 is its output, and a test keeps it up to date.
std::string manual_page(const CommandTable& table, std::string_view version);

}  // namespace realizar::cli
