#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/device/device_list.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/output.h"
#include "realizar/engine.h"

namespace realizar::cli {
namespace {

// One candidate per line, with a tab between its word and its help.
int print_candidates(CommandLine& line, const std::vector<std::string>& words) {
  std::string text;
  for (const Candidate& candidate : complete(line.table(), words, cuda::is_built())) {
    text += candidate.word + (candidate.help.empty() ? "" : '\t' + candidate.help) + '\n';
  }
  return print(text) ? kOk : kFailure;
}

}  // namespace

void add_introspection(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  Flags completion =
      line.command("completion", "Print a script that completes realizar's commands and options in a shell");
  completion.option("shell", *shell, "Shell to print the script for").one_of({"bash", "zsh", "fish"}).required();
  completion.examples(
      {"source <(realizar completion bash)", "realizar completion fish > ~/.config/fish/completions/realizar.fish"});
  completion.runs([shell] { return print(completion_script(*shell)) ? kOk : kFailure; });

  auto words = std::make_shared<std::vector<std::string>>();
  Flags asked = line.command("complete", "Print possible completions of the last word").hidden();
  asked.option("words", *words, "Words of a command line after the program's name");
  asked.runs([words, &line] { return print_candidates(line, *words); });

  line.command("manual", "Print the manual page in roff").hidden().runs([&line] {
    return print(manual_page(line.table(), version())) ? kOk : kFailure;
  });
}

}  // namespace realizar::cli
