#include "text/ollama_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/try.h"
#include "realizar/result.h"
#include "text/go_expression.h"

namespace realizar::text {
namespace {

struct GoNode {
  bool is_text = false;
  std::string text;  // or the action between its braces
};

// The end of the quoted text; npos: unterminated.
size_t end_of_quoted(std::string_view action, size_t begin) {
  const char mark = action[begin];
  for (size_t i = begin + 1; i < action.size(); ++i) {
    if (action[i] == mark) return i;
    if (action[i] == '\\' && mark != '`') ++i;
  }
  return std::string_view::npos;
}

// The position of the "}}" that closes the action; npos: none.
size_t end_of_action(std::string_view action) {
  const size_t first = action.find_first_not_of(" \t\r\n", action.starts_with('-') ? 1 : 0);
  const bool is_comment = first != std::string_view::npos && action.substr(first).starts_with("/*");
  if (is_comment) {
    const size_t end = action.find("*/");
    return end == std::string_view::npos ? end : action.find("}}", end);
  }
  for (size_t i = 0; i < action.size(); ++i) {
    if (action.substr(i).starts_with("}}")) return i;
    if (action[i] == '"' || action[i] == '`') i = end_of_quoted(action, i);
    if (i == std::string_view::npos) return i;
  }
  return std::string_view::npos;
}

// "$a := x", "$a, $b = x", or only "x".
struct Assignment {
  std::vector<std::string> names = {};
  bool declares = false;
  std::string_view value;
};

Assignment read_assignment(std::string_view text) {
  Assignment read{.value = text};
  std::string_view rest = text;
  const auto skip = [&rest](std::string_view sign) {
    rest = go_trimmed(rest);
    if (!rest.starts_with(sign)) return false;
    rest.remove_prefix(sign.size());
    return true;
  };
  do {
    if (!skip("$")) return {.value = text};
    read.names.emplace_back(take_go_name(rest));
  } while (skip(","));
  read.declares = skip(":=");
  if (!read.declares && !skip("=")) return {.value = text};
  read.value = rest;
  return read;
}

class GoWriter {
 public:
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
  enum class Control { kIf, kWith, kRange };
  struct Block {
    Control control;
    std::string dot_before;
  };

  Status action(std::string_view text) {
    std::string_view rest = text;
    const std::string_view word = take_go_name(rest);
    if (word == "if") return open_if(rest);
    if (word == "with") return open_with(rest);
    if (word == "range") return open_range(rest);
    if (word == "else") return write_else(go_trimmed(rest));
    const bool is_alone = go_trimmed(rest).empty();
    if (word == "end" && is_alone) return write_end();
    if ((word == "break" || word == "continue") && is_alone) return write_jump(word);
    for (const char* other : {"define", "template", "block"}) {
      if (word == other) return wrong_template("'" + std::string(word) + "' is not taken");
    }
    const Assignment assignment = read_assignment(text);
    if (!assignment.names.empty()) return assign(assignment);
    RZ_TRY(const std::string value, jinja_of_go_expression(text, scope_));
    out_ += "{{ go_print(" + value + ") }}";
    return {};
  }

  Result<std::string> place_of(const std::string& name, bool declares) {
    if (name.empty()) return wrong_template("'$' is not the name of a variable");
    return declares ? Result<std::string>(scope_.declare(name)) : scope_.find(name);
  }

  Status assign(const Assignment& assignment) {
    if (assignment.names.size() > 1) return wrong_template("only 'range' gives values to two variables");
    RZ_TRY(const std::string value, jinja_of_go_expression(assignment.value, scope_));
    RZ_TRY(const std::string place, place_of(assignment.names[0], assignment.declares));
    set(place, value);
    return {};
  }

  void set(const std::string& place, const std::string& value) { out_ += "{% set " + place + " = " + value + " %}"; }

  void open(Control control) {
    scope_.open();
    blocks_.push_back({control, scope_.dot});
  }

  // Returns the name of the condition's value; the condition may declare a variable.
  Result<std::string> condition(std::string_view text) {
    const Assignment assignment = read_assignment(text);
    if (assignment.names.empty()) return jinja_of_go_expression(text, scope_);
    RZ_CHECK_OK(assign(assignment));
    return scope_.find(assignment.names[0]);
  }

  Status open_if(std::string_view text) {
    open(Control::kIf);
    RZ_TRY(const std::string value, condition(text));
    out_ += "{% if " + value + " %}";
    return {};
  }

  Status open_with(std::string_view text) {
    open(Control::kWith);
    RZ_TRY(const std::string value, condition(text));
    scope_.dot = fmt::format("go.with{}", n_blocks_++);
    set(scope_.dot, value);
    out_ += "{% if " + scope_.dot + " %}";
    return {};
  }

  Status write_else(std::string_view rest) {
    if (blocks_.empty()) return wrong_template("an 'else' without a block");
    const bool is_if = blocks_.back().control == Control::kIf;
    scope_.dot = blocks_.back().dot_before;
    if (rest.empty()) {
      out_ += "{% else %}";
      return {};
    }
    const std::string_view word = take_go_name(rest);
    if (word != "if" || !is_if || !read_assignment(rest).names.empty()) {
      return wrong_template("'else " + shown(word) + shown(rest) + "' is not taken");
    }
    RZ_TRY(const std::string value, jinja_of_go_expression(rest, scope_));
    out_ += "{% elif " + value + " %}";
    return {};
  }

  // "range .Messages", "range $i, $m := .Messages". For a map the variables are its keys and values, sorted by key.
  Status open_range(std::string_view text) {
    open(Control::kRange);
    const Assignment assignment = read_assignment(text);
    if (assignment.names.size() > 2) return wrong_template("'range" + shown(text) + "' is not taken");
    RZ_TRY(const std::string list, jinja_of_go_expression(assignment.value, scope_));
    const std::string all = fmt::format("go.list{}", n_blocks_), each = fmt::format("each{}", n_blocks_);
    const std::string dot = fmt::format("item{}", n_blocks_++);
    set(all, list);
    out_ += fmt::format(
        "{{% for {0} in ({1} | dictsort(true) if {1} is mapping else range({1}) if {1} is integer else {1} or []) %}}",
        each, all);
    set(dot, fmt::format("{}[1] if {} is mapping else {}", each, all, each));
    if (assignment.names.size() == 2) {
      RZ_TRY(const std::string place, place_of(assignment.names[0], assignment.declares));
      set(place, fmt::format("{}[0] if {} is mapping else loop.index0", each, all));
    }
    if (!assignment.names.empty()) {
      RZ_TRY(const std::string place, place_of(assignment.names.back(), assignment.declares));
      set(place, dot);
    }
    scope_.dot = dot;
    return {};
  }

  Status write_jump(std::string_view word) {
    const bool is_in_range = std::ranges::find(blocks_, Control::kRange, &Block::control) != blocks_.end();
    if (!is_in_range) return wrong_template("'" + std::string(word) + "' outside of a 'range'");
    out_ += "{% " + std::string(word) + " %}";
    return {};
  }

  Status write_end() {
    if (blocks_.empty()) return wrong_template("an 'end' closes nothing");
    close();
    return {};
  }

  void close() {
    out_ += blocks_.back().control == Control::kRange ? "{% endfor %}" : "{% endif %}";
    scope_.dot = blocks_.back().dot_before;
    scope_.close();
    blocks_.pop_back();
  }

  std::string out_;
  GoScope scope_;
  std::vector<Block> blocks_;
  size_t n_blocks_ = 0;
};

// Alternating text and actions, trimmed by the actions' marks, without comments.
Result<std::vector<GoNode>> parse_go_template(std::string_view source) {
  std::vector<GoNode> nodes;
  bool trims_next = false;
  while (!source.empty()) {
    const size_t begin = source.find("{{");
    std::string_view text = source.substr(0, begin);
    const bool has_action = begin != std::string_view::npos;
    std::string_view action = has_action ? source.substr(begin + 2) : std::string_view();
    const bool trims_before = action.size() >= 2 && action[0] == '-' && is_go_space(action[1]);
    while (trims_next && !text.empty() && is_go_space(text.front())) text.remove_prefix(1);
    while (trims_before && !text.empty() && is_go_space(text.back())) text.remove_suffix(1);
    if (!text.empty()) nodes.push_back({true, std::string(text)});
    if (!has_action) break;
    const size_t end = end_of_action(action);
    if (end == std::string_view::npos) return wrong_template("an action is not closed");
    source = action.substr(end + 2);
    action = action.substr(0, end);
    trims_next = action.size() >= 2 && action.back() == '-' && is_go_space(action[end - 2]);
    if (trims_next) action.remove_suffix(1);
    if (trims_before && !action.empty()) action.remove_prefix(1);
    action = go_trimmed(action);
    if (!action.starts_with("/*")) nodes.push_back({false, std::string(action)});
  }
  return nodes;
}

// Whether an action contains this text.
bool names_field(const std::vector<GoNode>& nodes, std::string_view field) {
  return std::ranges::any_of(
      nodes, [&](const GoNode& node) { return !node.is_text && node.text.find(field) != std::string::npos; });
}

// Jinja with the same output; kGoMacros must come before it. `ends_at_response`: the template ends at the answer's
// position, where open blocks are closed.
Result<std::string> jinja_of_go_nodes(const std::vector<GoNode>& nodes, bool ends_at_response) {
  return GoWriter().write(nodes, ends_at_response);
}

constexpr size_t kMaxTemplateBytes = 256u << 10;

constexpr std::string_view kNewTurn =
    "{% set turn.system = '' %}{% set turn.prompt = '' %}{% set turn.response = '' %}";

}  // namespace

Result<std::string> jinja_of_go_template(std::string_view source) {
  if (source.size() > kMaxTemplateBytes) {
    return wrong_template(fmt::format("expected at most {} bytes, actual {}", kMaxTemplateBytes, source.size()));
  }
  RZ_TRY(const auto nodes, parse_go_template(source));
  const std::string begin = std::string(kGoMacros) + "{% set turn = namespace(system='', prompt='', response='') %}";
  if (names_field(nodes, ".Messages")) {
    RZ_TRY(const std::string body, jinja_of_go_nodes(nodes, false));
    return begin +
           "{% for m in messages if m.role == 'system' %}{% set turn.system = turn.system ~ ('\\n\\n' if turn.system) "
           "~ "
           "m.content %}{% endfor %}" +
           body;
  }
  RZ_TRY(const std::string turn, jinja_of_go_nodes(nodes, false));
  RZ_TRY(const std::string last, jinja_of_go_nodes(nodes, true));
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
