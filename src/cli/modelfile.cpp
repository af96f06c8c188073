#include "cli/modelfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii_case.h"
#include "base/printable.h"
#include "base/try.h"

namespace realizar::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kTripleQuotes = R"(""")";

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string_view take_word(std::string_view& text) {
  const size_t end = std::min(text.find_first_of(kBlanks), text.size());
  const std::string_view word = text.substr(0, end);
  text = without_blanks(text.substr(end));
  return word;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  Result<Modelfile> parse() {
    while (!rest_.empty()) {
      std::string_view line = without_blanks(take_line());
      if (line.empty() || line.front() == '#') continue;
      const std::string_view instruction = take_word(line);
      RZ_CHECK_OK(take(instruction, line));
    }
    if (file_.from.empty()) return format_error("there is no FROM, which names the model", "FROM");
    return std::move(file_);
  }

 private:
  std::string_view take_line() {
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++n_lines_;
    return line;
  }

  Error wrong(const std::string& what) const { return format_error(fmt::format("line {}: {}", n_lines_, what)); }

  // A value may be quoted, and may have several lines between triple quotes.
  Result<std::string> value_of(std::string_view line) {
    if (!line.starts_with(kTripleQuotes)) {
      const bool is_quoted = line.size() >= 2 && line.front() == '"' && line.back() == '"';
      return std::string(is_quoted ? line.substr(1, line.size() - 2) : line);
    }
    const uint32_t n_first = n_lines_;
    std::string value;
    for (line.remove_prefix(kTripleQuotes.size());; line = take_line()) {
      const size_t end = line.find(kTripleQuotes);
      value += line.substr(0, end);
      if (end != std::string_view::npos) return value;
      if (rest_.empty()) return format_error(fmt::format("line {}: no \"\"\" ends the text that begins here", n_first));
      value += '\n';
    }
  }

  Status take(std::string_view instruction, std::string_view line) {
    const std::string name = lower_case(std::string(instruction));
    if (name == "parameter") return take_parameter(line);
    if (name == "message") return take_message(line);
    if (name == "adapter") {
      return unsupported(fmt::format("line {}: ADAPTER is not built; realizar run --lora FILE has it", n_lines_),
                         "ADAPTER");
    }
    if (name == "requires") return {};  // a minimum version of Ollama
    std::optional<std::string>* text = text_of(name);
    if (text == nullptr && name != "from") {
      return wrong(fmt::format("expected FROM, PARAMETER, TEMPLATE, SYSTEM, MESSAGE or LICENSE, actual {}",
                               shown(instruction, 40)));
    }
    RZ_TRY(std::string value, value_of(line));
    if (text != nullptr) {
      *text = std::move(value);
    } else {
      file_.from = std::move(value);
    }
    return {};
  }

  // Null: the instruction does not set a text of the model.
  std::optional<std::string>* text_of(std::string_view name) {
    if (name == "template") return &file_.chat_template;
    if (name == "system") return &file_.system;
    return name == "license" ? &file_.license : nullptr;
  }

  // A repeatable parameter is a list: `stop`.
  Status take_parameter(std::string_view line) {
    const std::string name = lower_case(std::string(take_word(line)));
    RZ_TRY(const std::string text, value_of(line));
    if (name.empty() || text.empty()) return wrong("expected PARAMETER NAME VALUE");
    const Json number = Json::parse(text, nullptr, false);
    const bool is_plain = number.is_number() || number.is_boolean();
    if (name == "stop") {
      file_.parameters[name].push_back(text);
    } else {
      file_.parameters[name] = is_plain ? number : Json(text);
    }
    return {};
  }

  Status take_message(std::string_view line) {
    const std::string role(take_word(line));
    if (role != "system" && role != "user" && role != "assistant") {
      return wrong("expected MESSAGE with the role system, user or assistant, and a text");
    }
    RZ_TRY(std::string text, value_of(line));
    file_.messages.push_back({{"role", role}, {"content", std::move(text)}});
    return {};
  }

  std::string_view rest_;
  uint32_t n_lines_ = 0;
  Modelfile file_;
};

}  // namespace

Result<Modelfile> parse_modelfile(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace realizar::cli
