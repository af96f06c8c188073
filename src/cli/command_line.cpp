#include "cli/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/device/device_list.h"
#include "base/files.h"
#include "base/suggest.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/foreign_words.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/rank_job.h"
#include "cli/store_flags.h"
#include "realizar/engine.h"
#include "realizar/result.h"
#include "tools/read_files.h"

namespace realizar::cli {
namespace {

namespace fs = std::filesystem;

bool names_a_file(const std::string& text) {
  return !text.empty() && text != "-";
}

StoreFlags store_of(const CommandRow& command) {
  StoreFlags store;
  for (const OptionRow& row : command.options) {
    if (row.has_name("--models-store") && !row.given.empty()) store.folder = row.given.back();
  }
  return store;
}

// A value may have a name before the file (ID=PATH) and a number after it (PATH=SCALE).
std::vector<std::string> possible_files(const std::string& text) {
  std::vector<std::string> files{text};
  const size_t first = text.find('='), last = text.rfind('=');
  if (first == std::string::npos) return files;
  files.push_back(text.substr(0, last));
  files.push_back(text.substr(first + 1));
  if (first < last) files.push_back(text.substr(first + 1, last - first - 1));
  return files;
}

void add_files(const std::string& text, const StoreFlags& store, std::vector<fs::path>& files) {
  for (const std::string& possible : possible_files(text)) {
    if (!names_a_file(possible)) continue;
    std::string path = possible;
    if (!version_at(path)) {
      const auto found = store.find(path);
      if (!found.ok()) continue;
      path = found->path;
    }
    for (fs::path& file : files_read_for(path)) files.push_back(std::move(file));
  }
}

void add_files_below(const OptionRow& row, const StoreFlags& store, std::vector<fs::path>& files) {
  std::vector<std::string> folders = row.values();
  if (row.has_name("--models-store")) folders = {store.library().store().root().string()};
  for (const std::string& folder : folders) {
    for (fs::path& file : files_read_below(folder)) files.push_back(std::move(file));
  }
}

// A path without a file yet cannot be compared by inode.
bool is_same_place(const fs::path& a, const fs::path& b) {
  std::error_code error;
  const auto version_a = version_at(a), version_b = version_at(b);
  if (version_a && version_b) return version_a->is_same_file(*version_b);
  return fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

Status check_apart(const std::vector<fs::path>& outputs) {
  std::error_code error;
  for (size_t i = 1; i < outputs.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (!is_same_place(outputs[i], outputs[k])) continue;
      // Both may be /dev/null.
      if (fs::exists(outputs[i], error) && !fs::is_regular_file(outputs[i], error)) continue;
      return invalid_argument(fmt::format("{} would be written twice", outputs[i].string()), outputs[i].string());
    }
  }
  return {};
}

// Compares the command's outputs (kNewFile) with each file that its other options, and the common ones, name:
// files, all parts of a model, a model's name in the store, files that may be read below a folder. Errors:
// InvalidArgument if one would be replaced, or written twice.
Status check_written_files(const CommandRow& command, const CommandRow& common) {
  std::vector<fs::path> outputs;
  for (const OptionRow& row : command.options) {
    if (!row.is_written) continue;
    for (const std::string& text : row.values()) {
      if (names_a_file(text)) outputs.emplace_back(text);
    }
  }
  RZ_CHECK_OK(check_apart(outputs));
  std::error_code error;
  std::erase_if(outputs, [&](const fs::path& output) { return !fs::is_regular_file(output, error); });
  if (outputs.empty()) return {};
  std::vector<fs::path> files;
  const StoreFlags store = store_of(command);
  for (const CommandRow* some : {&command, &common}) {
    for (const OptionRow& row : some->options) {
      if (row.is_written) continue;
      if (row.completes == Completes::kFolder) add_files_below(row, store, files);
      if (!row.is_read) continue;
      for (const std::string& text : row.values()) add_files(text, store, files);
    }
  }
  for (const fs::path& output : outputs) RZ_CHECK_OK(check_not_read(output, files));
  return {};
}

constexpr const char* kConfigVariable = "REALIZAR_CONFIG";

HelpStyle help_style(bool all) {
  constexpr size_t kMin = 40, kMax = 110;
  return {std::clamp<size_t>(terminal_columns(STDOUT_FILENO), kMin, kMax), all, cuda::is_built()};
}

int printed(const std::string& text) {
  return print(text) ? kOk : kFailure;
}

int print_version() {
  return printed(fmt::format("realizar {}\n", version()));
}

int wrong_usage(const std::string& message, const std::string& command) {
  warn(message + " (see realizar " + (command.empty() ? "" : command + ' ') + "--help)");
  return kUsage;
}

// Searches the words before "--".
bool has_word(const std::vector<std::string>& words, std::initializer_list<std::string_view> wanted) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find_first_of(words.begin(), end, wanted.begin(), wanted.end()) != end;
}

// The first word that is neither an option nor the value of --config.
std::vector<std::string>::const_iterator command_word(const std::vector<std::string>& words) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    const bool is_value = word != words.begin() && *(word - 1) == "--config";
    if (!word->starts_with('-') && !is_value) return word;
  }
  return words.end();
}

Status read_config_file(CommandRow& command, const std::string& file) {
  constexpr uint64_t kMaxConfigBytes = uint64_t{1} << 20;
  RZ_TRY(const std::string text, read_file_or_pipe(file, kMaxConfigBytes));
  return read_config(command, text, file);
}

std::string no_such_command(const CommandTable& table, const std::string& name) {
  std::vector<std::string> known;
  for (const CommandRow& command : table.commands) {
    if (!command.is_hidden) known.push_back(command.name);
  }
  return fmt::format("there is no command '{}'{}", name, did_you_mean(name, known));
}

}  // namespace

CommandLine::CommandLine() {
  Flags flags(&table_.common);
  flags.flag("-h,--help", help_, "Print the help of the command");
  flags.flag("--help-all", help_all_, "Print the help with every option; without a command, of all commands");
  flags.flag("-V,-v,--version", version_, "Print the version");
  flags.flag("--print-config", print_config_, "Print every option of the command with its value, and exit");
  flags.option("--config", config_file_,
               "File with options of the command, one \"name = value\" a line, as --print-config prints them; options "
               "on the command line take precedence (default: the file that REALIZAR_CONFIG names)",
               {.takes = kFile});
  flags.examples({"realizar run \"What is the capital of France?\"", "realizar serve model.gguf"});
}

Flags CommandLine::command(const std::string& name, const std::string& help) {
  CommandRow& row = table_.commands.emplace_back();
  row.name = name;
  row.help = help;
  return Flags(&row);
}

int CommandLine::run(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "version") words[0] = "--version";
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  const auto name = command_word(words);
  if (name == words.end()) return run_without_command(words);
  CommandRow* command = table_.find(*name);
  const auto foreign = find_foreign_word(*name, CalledAs::kRealizar);
  if (command == nullptr && foreign) {
    if (foreign->kind == ForeignKind::kRefused) return wrong_usage(fmt::format("{}: {}", *name, foreign->text), "");
    command = table_.find(foreign->text);
  }
  if (command == nullptr) return wrong_usage(no_such_command(table_, *name), "");
  words.erase(name);
  return run_command(*command, words);
}

int CommandLine::run_without_command(const std::vector<std::string>& words) const {
  const bool wants_all = has_word(words, {"--help-all"});
  if (words.empty() || wants_all || has_word(words, {"-h", "--help"})) {
    return printed(program_help(table_, help_style(wants_all)));
  }
  if (has_word(words, {"--version", "-V", "-v"})) return print_version();
  return wrong_usage("the command is missing", "");
}

int CommandLine::run_command(CommandRow& command, const std::vector<std::string>& words) {
  const bool wants_all = has_word(words, {"--help-all"});
  if (wants_all || has_word(words, {"-h", "--help"}))
    return printed(command_help(command, table_.common, help_style(wants_all)));
  const auto notes = collect_words(command, table_.common, words);
  if (!notes.ok()) return wrong_usage(notes.error().message, command.name);
  if (const Status read = read_values(command); !read.ok()) return wrong_usage(read.error().message, command.name);
  if (version_) return print_version();
  if (print_config_) return printed(config_text(command));
  for (const std::string& note : *notes) warn(note);
  if (const Status status = check_written_files(command, table_.common); !status.ok()) return fail(status.error());
  return run_in_job(command);
}

int CommandLine::run_in_job(CommandRow& command) {
  const OptionRow* mpi = command.find("--mpi");
  const auto choice = mpi == nullptr ? MpiChoice::kNever : option_value<MpiChoice>(mpi->values().front());
  const auto job = RankJob::join(choice.value_or(MpiChoice::kAuto));
  if (!job.ok()) return fail(job.error());
  if (*job != nullptr && (*job)->is_follower()) return (*job)->follow();
  const Result<int> code = command.run();
  const int exit_code = code.ok() ? *code : fail(code.error());
  return *job == nullptr ? exit_code : (*job)->finish(exit_code);
}

Status CommandLine::read_values(CommandRow& command) {
  RZ_CHECK_OK(read_config_files(command));
  return apply_values(command, table_.common);
}

// The variable is for containers, whose command line is fixed. Hidden commands, which shells call for every user,
// ignore it.
Status CommandLine::read_config_files(CommandRow& command) {
  const OptionRow& config = *table_.common.find("--config");
  if (!config.given.empty()) return read_config_file(command, config.given.front());
  const char* file = std::getenv(kConfigVariable);
  if (file == nullptr || *file == '\0' || command.is_hidden) return {};
  Status read = read_config_file(command, file);
  if (read.ok()) return read;
  return invalid_argument(fmt::format("{}: {}", kConfigVariable, read.error().message));
}

}  // namespace realizar::cli
