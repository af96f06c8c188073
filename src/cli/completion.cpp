#include "cli/completion.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/device/device_list.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/output.h"
#include "hub/name_table.h"
#include "realizar/engine.h"

namespace realizar::cli {
namespace {

constexpr std::string_view kBash =
    R"(# Completion of realizar for bash: put this into /etc/bash_completion.d, or source it.
_realizar() {
  local line word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]/#\~\//"$HOME"/} before=
  [[ $word == = ]] && word=
  # bash completes what stands after a colon alone.
  line=${COMP_LINE:0:COMP_POINT} line=${line##* }
  [[ $line == *:* && $COMP_WORDBREAKS == *:* ]] && before=${line%:*}:
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :file) compopt -o filenames; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word") ;;
      :folder) compopt -o filenames; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$word") ;;
      *) line=${line%%$'\t'*} COMPREPLY+=("${line#"$before"}") ;;
    esac
  done < <("$program" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _realizar realizar
)";

constexpr std::string_view kZsh = R"(#compdef realizar
# Completion of realizar for zsh: put this into a folder of $fpath as _realizar, or source it.
_realizar() {
  local line word program=${(Q)words[1]/#\~\//$HOME/}
  local -a candidates
  local -i status_here=1
  [[ $PREFIX == --*=* ]] && compset -P 1 '*='
  for line in "${(@f)$($program complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :file) _files && status_here=0 ;;
      :folder) _path_files -/ && status_here=0 ;;
      *) word=${line%%$'\t'*}; candidates+=("${word//:/\\:}${${line#$word}/$'\t'/:}") ;;
    esac
  done
  (( $#candidates )) && _describe realizar candidates && status_here=0
  return status_here
}
if [[ ${funcstack[1]} == _realizar ]]; then _realizar "$@"; else compdef _realizar realizar; fi
)";

constexpr std::string_view kFish =
    R"(# Completion of realizar for fish: put this into ~/.config/fish/completions/realizar.fish.
function __realizar_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program (string replace -r '^~(?=/)' $HOME -- $words[1])
    # The part before the value in --option=value belongs to the completed word.
    set -l option (string match -r -- '^--[^=]+=' "$word"; or echo)
    set -l value (string replace -r -- '^--[^=]+=' '' "$word")
    for line in ($program complete -- $words[2..] "$word" 2>/dev/null)
        switch $line
            case :file
                printf '%s\n' $option(__fish_complete_path "$value")
            case :folder
                printf '%s\n' $option(__fish_complete_directories "$value")
            case '*'
                echo $option$line
        end
    end
end
complete -c realizar -f -a '(__realizar_complete)'
)";

void add(std::vector<Candidate>& to, std::string_view beginning, const std::string& word, const std::string& help) {
  if (word.starts_with(beginning)) to.push_back({word, help});
}

std::vector<Candidate> commands(const CommandTable& table, std::string_view beginning) {
  std::vector<Candidate> found;
  for (const CommandRow& command : table.commands) {
    if (!command.is_hidden) add(found, beginning, command.name, command.summary());
  }
  return found;
}

std::vector<Candidate> options(const CommandRow& command, std::string_view beginning, bool has_gpu) {
  std::vector<Candidate> found;
  for (const OptionRow& row : command.options) {
    if (row.is_for_gpu && !has_gpu) continue;
    for (const std::string& name : row.names) {
      if (name.starts_with("--")) add(found, beginning, name, row.help);
    }
  }
  return found;
}

void add_short_names(std::vector<Candidate>& to, std::string_view beginning) {
  for (const hub::ShortName& row : hub::short_names()) {
    std::string name(row.model);
    if (row.tag != "latest") name.append(":").append(row.tag);
    add(to, beginning, name, std::string(row.stands_for));
  }
}

std::vector<Candidate> values(const OptionRow& row, std::string_view beginning) {
  if (row.completes == Completes::kFile) return {{std::string(kCompleteFile), ""}};
  if (row.completes == Completes::kFolder) return {{std::string(kCompleteFolder), ""}};
  std::vector<Candidate> found;
  if (row.completes == Completes::kShortName) add_short_names(found, beginning);
  for (const std::string& word : row.words) add(found, beginning, word, "");
  return found;
}

// Candidates for the first positional that accepts more than n_words values.
std::vector<Candidate> positionals(const CommandRow& command, size_t n_words, std::string_view beginning) {
  for (const OptionRow& row : command.options) {
    if (row.positional_name().empty()) continue;
    if (n_words < row.max_values) return values(row, beginning);
    n_words -= row.max_values;
  }
  return {};
}

// bash splits words at "=" between an option and its value, and at ":" in a model's name.
std::vector<std::string> joined_by_sign(std::span<const std::string> words) {
  std::vector<std::string> joined;
  for (const std::string& word : words) {
    const bool is_option = !joined.empty() && joined.back().starts_with("--");
    const char sign = is_option ? '=' : ':';
    if (!joined.empty() && (word == std::string(1, sign) || joined.back().ends_with(sign))) {
      joined.back() += word;
    } else {
      joined.push_back(word);
    }
  }
  return joined;
}

// The words after a command's name; the last one is to be completed.
class CommandWords {
 public:
  CommandWords(CommandRow& command, CommandRow& common, std::span<const std::string> words, bool has_gpu)
      : command_(command), common_(common), words_(words), has_gpu_(has_gpu) {}

  std::vector<Candidate> complete() {
    const std::string& last = words_.back();
    if (words_.size() > 1) {
      const OptionRow* before = find(words_[words_.size() - 2]);
      if (before != nullptr && !before->is_flag()) return values(*before, last);
    }
    if (const size_t sign = last.find('='); last.starts_with("--") && sign != std::string::npos) {
      const OptionRow* row = find(last.substr(0, sign));
      return row == nullptr ? std::vector<Candidate>() : values(*row, std::string_view(last).substr(sign + 1));
    }
    if (!last.starts_with('-')) return positionals(command_, n_positionals(), last);
    std::vector<Candidate> found = options(command_, last, has_gpu_);
    for (Candidate& candidate : options(common_, last, has_gpu_)) found.push_back(std::move(candidate));
    return found;
  }

 private:
  const OptionRow* find(const std::string& option) {
    const OptionRow* row = command_.find(option);
    return row != nullptr ? row : common_.find(option);
  }

  // Counts those before the last word.
  size_t n_positionals() {
    size_t n = 0;
    for (size_t i = 0; i + 1 < words_.size(); ++i) {
      const OptionRow* row = find(words_[i]);
      if (row != nullptr && !row->is_flag()) {
        ++i;  // its value
      } else if (!words_[i].starts_with('-')) {
        ++n;
      }
    }
    return n;
  }

  CommandRow& command_;
  CommandRow& common_;
  std::span<const std::string> words_;
  bool has_gpu_;
};

// One candidate per line, with a tab between its word and its help.
int print_candidates(CommandLine& line, const std::vector<std::string>& words) {
  std::string text;
  for (const Candidate& candidate : complete(line.table(), words, cuda::is_built())) {
    text += candidate.word + (candidate.help.empty() ? "" : '\t' + candidate.help) + '\n';
  }
  return print(text) ? kOk : kFailure;
}

}  // namespace

std::vector<Candidate> complete(CommandTable& table, std::span<const std::string> given, bool has_gpu) {
  const std::vector<std::string> words = joined_by_sign(given);
  if (words.empty()) return {};
  const std::string& last = words.back();
  const auto name =
      std::find_if(words.begin(), words.end() - 1, [](const auto& word) { return !word.starts_with('-'); });
  if (name == words.end() - 1) {
    return last.starts_with('-') ? options(table.common, last, has_gpu) : commands(table, last);
  }
  CommandRow* command = table.find(*name);
  if (command == nullptr) return {};
  return CommandWords(*command, table.common, std::span(words).subspan(static_cast<size_t>(name - words.begin()) + 1),
                      has_gpu)
      .complete();
}

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  return shell == "zsh" ? kZsh : kFish;
}

void add_introspection(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  Flags completion =
      line.command("completion", "Print a script that completes realizar's commands and options in a shell");
  completion.option("shell", *shell, "Shell to print the script for",
                    {.one_of = {"bash", "zsh", "fish"}, .is_required = true});
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
