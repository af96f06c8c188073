#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace realizar::cli {
namespace {

// Escapes text for roff: no line of it is a request, and dashes stay dashes.
std::string roff(std::string_view text) {
  std::string result;
  if (!text.empty() && (text[0] == '.' || text[0] == '\'')) result += "\\&";
  for (const char c : text) {
    if (c == '-') {
      result += "\\-";
    } else if (c == '\\') {
      result += "\\e";
    } else {
      result += c;
    }
  }
  return result;
}

// A paragraph in lines of a readable width. Indented by a space, so that no line begins with a dot or a quote; roff
// reflows lines anyway.
std::string paragraph(std::string_view text) {
  std::string result;
  const std::string lines = wrapped(text, 110, 0) + '\n';
  size_t begin = 0;
  for (size_t end = 0; (end = lines.find('\n', begin)) != std::string::npos; begin = end + 1) {
    result += roff(lines.substr(begin, end - begin)) + '\n';
  }
  return result;
}

std::string entry(const std::string& left, const std::string& right) {
  const std::string trimmed = left.substr(std::min(left.find_first_not_of(' '), left.size()));
  return ".TP\n.B " + roff(trimmed) + '\n' + paragraph(right + '.');
}

std::string group_text(const CommandRow& command, const std::string& group) {
  std::string text;
  for (const OptionRow& row : command.options) {
    if (row.group == group && row.positional_name().empty()) text += entry(signature(row), description(row));
  }
  return text;
}

// A group's title and its text: the commands that have it.
using Groups = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

Groups titled_groups(const CommandTable& table) {
  Groups groups;
  for (const CommandRow& command : table.commands) {
    for (const std::string& group : groups_of(command)) {
      if (!group.empty()) groups[{group, group_text(command, group)}].push_back(command.name);
    }
  }
  return groups;
}

std::string command_text(const CommandRow& command, const Groups& groups) {
  std::string text = ".SS " + roff(usage(command)) + '\n' + paragraph(command.help + '.');
  for (const OptionRow& row : command.options) {
    if (!row.positional_name().empty()) text += entry(row.value, description(row));
  }
  text += group_text(command, "");
  std::vector<std::string> shared;
  for (const std::string& group : groups_of(command)) {
    if (group.empty()) continue;
    const std::string own = group_text(command, group);
    if (groups.at({group, own}).size() > 1) {
      shared.push_back(group);
    } else {
      text += own;
    }
  }
  if (!shared.empty()) text += ".PP\n" + paragraph(fmt::format("More below: {} options.", fmt::join(shared, ", ")));
  return text;
}

std::string shared_text(const Groups& groups) {
  std::string text;
  for (const auto& [group, commands] : groups) {
    if (commands.size() < 2) continue;
    text +=
        ".SS " + roff(fmt::format("{} options of {}", group.first, fmt::join(commands, ", "))) + '\n' + group.second;
  }
  return text;
}

constexpr std::string_view kDescription = R"(.B realizar
reads a model from a GGUF file (split files too), a Hugging Face folder, or a SafeTensors file that lies beside its
config.json, and generates text with it: at a terminal, or for the clients of its HTTP API. Without a model, the bundled
realizar\-tiny answers. Only generated text goes to standard output; everything else goes to standard error.
)";

constexpr std::string_view kFiles = R"(.SH FILES
.TP
.I ../share/realizar/models/realizar\-tiny
The bundled model, found from the folder of the program.
.TP
.I config.json, tokenizer.json, tokenizer.model, tokenizer_config.json, generation_config.json, chat_template.jinja
Read from the folder of SafeTensors weights; config.json and one of the tokenizers must be there.
.TP
.I FILE of \-\-config
One "name = value" a line, as
.B \-\-print\-config
prints them; # begins a comment.
.TP
.I FILE of \-\-api\-keys
One key, or sha256:HEX, a line. SIGHUP is no order to read it again.
.SH ENVIRONMENT
.TP
.B REALIZAR_CONFIG
The file of
.B \-\-config
where that is not given.
.TP
.B LANG, LC_ALL, LC_CTYPE
The character set of the terminal in which a chat runs.
.SH SIGNALS
.TP
.B SIGINT
Ends the answer that is being generated, not the chat; from the third on it ends the program.
.TP
.B SIGTERM, SIGINT, SIGHUP
To a server: it takes no new requests, finishes those that run or wait, at the latest after
.BR \-\-drain\-timeout\-ms ,
and ends. A second signal ends it at once.
.TP
.B SIGUSR1
To a server: it opens the file of
.B \-\-access\-log
anew, which was moved.
.SH EXIT STATUS
.TP
.B 0
Success.
.TP
.B 1
Failure, with one line on standard error that says what failed.
.TP
.B 2
Wrong usage: an unknown command or option, or a value that cannot be.
.TP
.B 130
Interrupted by Ctrl\-C.
)";

std::string examples_text(const CommandTable& table) {
  std::string text = ".SH EXAMPLES\n.nf\n";
  for (const CommandRow& command : table.commands) {
    if (command.is_hidden) continue;
    for (const std::string& line : command.examples) text += roff(line) + '\n';
  }
  return text + ".fi\n";
}

}  // namespace

std::string manual_page(const CommandTable& table, std::string_view version) {
  const Groups groups = titled_groups(table);
  std::string text = fmt::format(".TH REALIZAR 1 \"\" \"realizar {}\" \"User Commands\"\n", version);
  text += ".SH NAME\nrealizar \\- load a GGUF or SafeTensors language model and generate text with it\n";
  text += ".SH SYNOPSIS\n.B realizar\n\\fICOMMAND\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n";
  text += kDescription;
  text += ".SH COMMANDS\n";
  for (const CommandRow& command : table.commands) {
    if (!command.is_hidden) text += command_text(command, groups);
  }
  text += ".SH OPTIONS\n.SS Options of every command\n" + group_text(table.common, "") + shared_text(groups);
  text += kFiles;
  return text + examples_text(table);
}

}  // namespace realizar::cli
