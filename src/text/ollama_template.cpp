#include "text/ollama_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/try.h"

namespace realizar::text {
namespace {

constexpr size_t kMaxTemplateBytes = 256u << 10;
constexpr int kMaxExpressionDepth = 50;

// Ollama's fields by the names that messages have here.
const std::map<std::string_view, std::string_view> kRootFields = {
    {"System", "turn.system"}, {"Prompt", "turn.prompt"},          {"Response", "turn.response"},
    {"Messages", "messages"},  {"Tools", "(tools or [])"},         {"Think", "enable_thinking"},
    {"Suffix", "''"},          {"ThinkLevel", "reasoning_effort"}, {"IsThinkSet", "(enable_thinking is defined)"}};
const std::map<std::string_view, std::string_view> kItemFields = {{"Role", "role"},
                                                                  {"Content", "content"},
                                                                  {"Thinking", "reasoning_content"},
                                                                  {"ToolCalls", "tool_calls"},
                                                                  {"Function", "function"},
                                                                  {"Name", "name"},
                                                                  {"Arguments", "arguments"},
                                                                  {"Description", "description"},
                                                                  {"Parameters", "parameters"},
                                                                  {"Type", "type"},
                                                                  {"ToolName", "name"},
                                                                  {"ToolCallID", "tool_call_id"},
                                                                  {"Properties", "properties"},
                                                                  {"Required", "required"},
                                                                  {"ID", "id"}};

Error wrong_template(const std::string& what) {
  return invalid_argument("template: " + what, "template");
}

// A string of Jinja.
std::string in_quotes(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') literal += '\\';
    if (c == '\n') {
      literal += "\\n";
    } else {
      literal += c;
    }
  }
  return literal + "'";
}

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// One pipeline of an action.
class GoExpression {
 public:
  // `dot`: what the innermost range goes over; "": the root.
  GoExpression(std::string_view source, std::string dot) : rest_(source), dot_(std::move(dot)) {}

  // All of the source.
  Result<std::string> whole() {
    RZ_TRY(std::string jinja, pipeline());
    skip_space();
    if (!rest_.empty()) return wrong_template("'" + shown(rest_) + "' is not taken");
    return jinja;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0) rest_.remove_prefix(1);
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string name() {
    size_t n = 0;
    while (n < rest_.size() && is_name_char(rest_[n])) ++n;
    const std::string taken(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return taken;
  }
  bool is_at_operand() const {
    return !rest_.empty() &&
           (is_name_char(rest_.front()) || std::string_view(".$\"`(-").find(rest_.front()) != std::string_view::npos);
  }

  // What stands before a bar is the last argument of what comes after it.
  Result<std::string> pipeline() {
    if (++depth_ > kMaxExpressionDepth) return wrong_template("it is nested too deeply");
    RZ_TRY(std::string value, command(""));
    for (skip_space(); take('|'); skip_space()) {
      RZ_TRY(value, command(value));
    }
    --depth_;
    return value;
  }

  Result<std::string> command(const std::string& piped) {
    skip_space();
    const bool is_call = !rest_.empty() && std::isalpha(static_cast<unsigned char>(rest_.front())) != 0;
    if (!is_call) return operand();
    const std::string function = name();
    if (function == "true" || function == "false") return function;
    if (function == "nil") return std::string("none");
    std::vector<std::string> arguments;
    for (skip_space(); is_at_operand(); skip_space()) {
      RZ_TRY(std::string argument, operand());
      arguments.push_back(std::move(argument));
    }
    if (!piped.empty()) arguments.push_back(piped);
    return call(function, arguments);
  }

  static Result<std::string> call(const std::string& function, const std::vector<std::string>& a) {
    static const std::map<std::string_view, std::string_view> kComparisons = {
        {"ne", "!="}, {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}};
    const auto joined = [&](std::string_view between, size_t first = 0) {
      std::string text;
      for (size_t i = first; i < a.size(); ++i) text += (i > first ? fmt::format(" {} ", between) : "") + a[i];
      return "(" + text + ")";
    };
    if (function == "not" && a.size() == 1) return "(not " + a[0] + ")";
    if ((function == "and" || function == "or") && a.size() >= 2) return joined(function);
    if (const auto found = kComparisons.find(function); found != kComparisons.end() && a.size() == 2) {
      return joined(found->second);
    }
    if (function == "eq" && a.size() == 2) return joined("==");
    if (function == "eq" && a.size() > 2) return fmt::format("({} in [{}])", a[0], list_of(a, 1));
    if (function == "len" && a.size() == 1) return fmt::format("({} | length)", a[0]);
    if ((function == "json" || function == "toJson") && a.size() == 1) return fmt::format("({} | tojson)", a[0]);
    if (function == "index" && a.size() == 2) return fmt::format("{}[{}]", a[0], a[1]);
    if (function == "slice" && a.size() == 2) return fmt::format("{}[{}:]", a[0], a[1]);
    if (function == "slice" && a.size() == 3) return fmt::format("{}[{}:{}]", a[0], a[1], a[2]);
    return wrong_template(fmt::format("'{}' with {} arguments is not taken", shown(function), a.size()));
  }
  static std::string list_of(const std::vector<std::string>& items, size_t first) {
    std::string list;
    for (size_t i = first; i < items.size(); ++i) list += (i > first ? ", " : "") + items[i];
    return list;
  }

  Result<std::string> operand() {
    if (take('(')) {
      RZ_TRY(std::string inner, pipeline());
      skip_space();
      if (!take(')')) return wrong_template("a ')' is missing");
      return fields_of("(" + inner + ")");
    }
    if (rest_.starts_with('"') || rest_.starts_with('`')) return text_literal();
    if (take('$')) {
      const std::string variable = name();
      return variable.empty() ? root_field() : fields_of("go_" + variable);
    }
    if (rest_.starts_with('.')) return dot_.empty() ? root_field() : fields_of(dot_);
    const bool is_negative = take('-');
    const std::string word = name();
    if (word == "true" || word == "false") return word;
    const bool is_number = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number) return wrong_template("'" + shown(word.empty() ? std::string(rest_) : word) + "' is not taken");
    return (is_negative ? "-" : "") + word;
  }

  Result<std::string> root_field() {
    if (!take('.')) return wrong_template("'$' alone is not taken");
    const std::string field = name();
    const auto found = kRootFields.find(field);
    if (found == kRootFields.end()) return wrong_template("the field '." + shown(field) + "' is not known");
    return fields_of(std::string(found->second));
  }

  // ".Function.Name" of a value; "." alone is the value.
  Result<std::string> fields_of(std::string value) {
    while (take('.')) {
      const std::string field = name();
      if (field.empty()) break;
      const auto found = kItemFields.find(field);
      if (found == kItemFields.end()) return wrong_template("the field '." + shown(field) + "' is not known");
      value += "." + std::string(found->second);
    }
    return value;
  }

  Result<std::string> text_literal() {
    const char mark = rest_.front();
    rest_.remove_prefix(1);
    std::string text;
    while (!rest_.empty() && rest_.front() != mark) {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\' && mark == '"' && !rest_.empty()) {
        c = rest_.front();
        rest_.remove_prefix(1);
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
      }
      text += c;
    }
    if (!take(mark)) return wrong_template("a text is not closed");
    return in_quotes(text);
  }

  std::string_view rest_;
  std::string dot_;
  int depth_ = 0;
};

struct GoNode {
  bool is_text = false;
  std::string text;  // or the action between its braces
};

std::string_view go_trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// Text and actions in turn; a dash inside an action's braces trims the text at its side.
Result<std::vector<GoNode>> parse_go(std::string_view source) {
  std::vector<GoNode> nodes;
  bool trims_next = false;
  while (!source.empty()) {
    const size_t begin = source.find("{{");
    std::string_view text = source.substr(0, begin);
    const bool has_action = begin != std::string_view::npos;
    std::string_view action = has_action ? source.substr(begin + 2) : std::string_view();
    if (trims_next) text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
    trims_next = false;
    const bool trims_before =
        action.size() >= 2 && action[0] == '-' && std::isspace(static_cast<unsigned char>(action[1]));
    if (trims_before) text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    if (!text.empty()) nodes.push_back({true, std::string(text)});
    if (!has_action) break;
    const size_t end = action.find("}}");
    if (end == std::string_view::npos) return wrong_template("an action is not closed");
    source = action.substr(end + 2);
    action = action.substr(0, end);
    trims_next =
        action.size() >= 2 && action.back() == '-' && std::isspace(static_cast<unsigned char>(action[end - 2]));
    if (trims_next) action.remove_suffix(1);
    if (trims_before) action.remove_prefix(1);
    nodes.push_back({false, std::string(go_trimmed(action))});
  }
  return nodes;
}

// Nodes as Jinja; what is open at the end is closed.
class GoWriter {
 public:
  // `ends_at_response`: nothing follows the place of the answer.
  Result<std::string> write(const std::vector<GoNode>& nodes, bool ends_at_response) {
    for (const GoNode& node : nodes) {
      if (node.is_text) {
        out_ += "{{ " + in_quotes(node.text) + " }}";
        continue;
      }
      if (ends_at_response && node.text == ".Response") break;
      RZ_CHECK_OK(action(node.text));
    }
    if (!ends_at_response && !blocks_.empty()) return wrong_template("an 'end' is missing");
    while (!blocks_.empty()) close();
    return std::move(out_);
  }

 private:
  struct Block {
    bool is_range;
    std::string dot_before;
  };

  Result<std::string> expression(std::string_view source) const {
    return GoExpression(go_trimmed(source), dot_).whole();
  }

  Status action(std::string_view text) {
    if (text.starts_with("/*")) return {};
    const size_t n = std::min(text.size(), text.find_first_of(" \t\r\n"));
    const std::string_view word = text.substr(0, n), rest = go_trimmed(text.substr(n));
    if (word == "if") return open_if(rest);
    if (word == "range") return open_range(rest);
    if (word == "else") return write_else(rest);
    if (word == "end" && rest.empty()) {
      if (blocks_.empty()) return wrong_template("an 'end' closes nothing");
      close();
      return {};
    }
    for (const char* other : {"with", "define", "template", "block", "break", "continue"}) {
      if (word == other) return wrong_template("'" + std::string(word) + "' is not taken");
    }
    if (word.starts_with('$') && rest.starts_with(":=")) {
      RZ_TRY(const std::string value, expression(rest.substr(2)));
      out_ += fmt::format("{{% set go_{} = {} %}}", word.substr(1), value);
      return {};
    }
    RZ_TRY(const std::string value, expression(text));
    out_ += "{{ " + value + " }}";
    return {};
  }

  Status open_if(std::string_view condition) {
    RZ_TRY(const std::string value, expression(condition));
    out_ += "{% if " + value + " %}";
    blocks_.push_back({false, dot_});
    return {};
  }

  Status write_else(std::string_view rest) {
    if (blocks_.empty()) return wrong_template("an 'else' stands in nothing");
    if (rest.empty()) {
      out_ += "{% else %}";
      return {};
    }
    if (!rest.starts_with("if ") || blocks_.back().is_range)
      return wrong_template("'else " + shown(rest) + "' is not taken");
    RZ_TRY(const std::string value, expression(rest.substr(3)));
    out_ += "{% elif " + value + " %}";
    return {};
  }

  // "range .Messages", "range $i, $m := .Messages"
  Status open_range(std::string_view rest) {
    std::string index, item = fmt::format("item{}", n_ranges_++);
    std::string dot = item;
    if (const size_t assign = rest.find(":="); assign != std::string_view::npos) {
      const std::string_view names = rest.substr(0, assign);
      const size_t comma = names.find(',');
      const auto variable = [](std::string_view text) {
        text = go_trimmed(text);
        return text.starts_with('$') ? "go_" + std::string(text.substr(1)) : std::string();
      };
      if (comma != std::string_view::npos) index = variable(names.substr(0, comma));
      dot = item = variable(comma == std::string_view::npos ? names : names.substr(comma + 1));
      if (item.empty() || (comma != std::string_view::npos && index.empty())) {
        return wrong_template("'range " + shown(rest) + "' is not taken");
      }
      rest = rest.substr(assign + 2);
    }
    RZ_TRY(const std::string list, expression(rest));
    out_ += fmt::format("{{% for {} in ({} or []) %}}", item, list);
    if (!index.empty()) out_ += fmt::format("{{% set {} = loop.index0 %}}", index);
    blocks_.push_back({true, std::exchange(dot_, dot)});
    return {};
  }

  void close() {
    out_ += blocks_.back().is_range ? "{% endfor %}" : "{% endif %}";
    dot_ = blocks_.back().dot_before;
    blocks_.pop_back();
  }

  std::string out_, dot_;
  std::vector<Block> blocks_;
  size_t n_ranges_ = 0;
};

bool names_field(const std::vector<GoNode>& nodes, std::string_view field) {
  for (const GoNode& node : nodes) {
    if (!node.is_text && node.text.find(field) != std::string::npos) return true;
  }
  return false;
}

constexpr std::string_view kNewTurn =
    "{% set turn.system = '' %}{% set turn.prompt = '' %}{% set turn.response = '' %}";

}  // namespace

Result<std::string> jinja_of_go_template(std::string_view source) {
  if (source.size() > kMaxTemplateBytes) {
    return wrong_template(fmt::format("expected at most {} bytes, actual {}", kMaxTemplateBytes, source.size()));
  }
  RZ_TRY(const auto nodes, parse_go(source));
  const std::string begin = "{% set turn = namespace(system='', prompt='', response='') %}";
  if (names_field(nodes, ".Messages")) {
    RZ_TRY(const std::string body, GoWriter().write(nodes, false));
    return begin +
           "{% for m in messages if m.role == 'system' %}{% set turn.system = turn.system ~ ('\\n\\n' if turn.system) "
           "~ "
           "m.content %}{% endfor %}" +
           body;
  }
  RZ_TRY(const std::string turn, GoWriter().write(nodes, false));
  RZ_TRY(const std::string last, GoWriter().write(nodes, true));
  const std::string done =
      turn + (names_field(nodes, ".Response") ? "" : "{{ turn.response }}") + std::string(kNewTurn);
  return begin + "{% for m in messages %}{% if m.role == 'system' %}{% if turn.prompt or turn.response %}" + done +
         "{% endif %}{% set turn.system = m.content %}{% elif m.role == 'user' %}{% if turn.response %}" + done +
         "{% endif %}{% set turn.prompt = m.content %}{% elif m.role == 'assistant' %}{% set turn.response = m.content "
         "%}{% endif %}{% endfor %}{% if turn.response %}" +
         done + "{% endif %}" + last;
}

bool is_jinja(std::string_view source) {
  return source.find("{%") != std::string_view::npos;
}

Result<std::shared_ptr<const ChatTemplate>> compile_ollama_template(std::string_view source) {
  std::string jinja(source);
  if (!is_jinja(source)) {
    RZ_TRY(jinja, jinja_of_go_template(source));
  }
  auto compiled = ChatTemplate::parse(jinja);
  if (!compiled.ok()) return wrong_template(compiled.error().message);
  return std::make_shared<const ChatTemplate>(std::move(*compiled));
}

}  // namespace realizar::text
