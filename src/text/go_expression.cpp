#include "text/go_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

constexpr int kMaxDepth = 50;  // of parentheses, pipes and fields, each of which wraps the text before it

// Ollama's fields and their names in messages here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kRootFields = {{
    {"System", "turn.system"},
    {"Prompt", "turn.prompt"},
    {"Response", "turn.response"},
    {"Messages", "messages"},
    {"Tools", "(tools or [])"},
    {"Think", "(enable_thinking or false)"},
    {"Suffix", "''"},
    {"ThinkLevel", "(reasoning_effort or '')"},
    {"IsThinkSet", "(enable_thinking is defined)"},
}};

struct ItemField {
  std::string_view name, key;
  std::string_view zero;  // its value if it is absent
};

constexpr std::string_view kNoText = "''", kNoList = "[]", kNoMap = "{}";
constexpr std::array kItemFields = {
    ItemField{"Role", "role", kNoText},
    ItemField{"Content", "content", kNoText},
    ItemField{"Thinking", "reasoning_content", kNoText},
    ItemField{"Images", "images", kNoList},
    ItemField{"ToolCalls", "tool_calls", kNoList},
    ItemField{"ToolName", "name", kNoText},
    ItemField{"ToolCallID", "tool_call_id", kNoText},
    ItemField{"ID", "id", kNoText},
    ItemField{"Function", "function", kNoMap},
    ItemField{"Index", "index", "0"},
    ItemField{"Name", "name", kNoText},
    ItemField{"Arguments", "arguments", kNoMap},
    ItemField{"Description", "description", kNoText},
    ItemField{"Parameters", "parameters", kNoMap},
    ItemField{"Type", "type", kNoText},
    ItemField{"Defs", "$defs", kNoMap},
    ItemField{"Properties", "properties", kNoMap},
    ItemField{"Required", "required", kNoList},
    ItemField{"Items", "items", kNoMap},
    ItemField{"Enum", "enum", kNoList},
    ItemField{"AnyOf", "anyOf", kNoList},
};

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

struct Operand {
  std::string jinja;
  std::optional<std::string> literal = {};  // the text of a literal
};
using Operands = std::vector<Operand>;

std::string joined(const Operands& operands, std::string_view between, size_t first = 0) {
  std::string text;
  for (size_t i = first; i < operands.size(); ++i) {
    if (i > first) text += between;
    text += operands[i].jinja;
  }
  return text;
}

// `a`: the format and its arguments.
Result<std::string> formatted(const Operands& a) {
  if (a.empty() || !a[0].literal) return wrong_template("'printf' is taken only with a text as its format");
  std::string_view format = *a[0].literal;
  std::string parts = "(''";
  size_t n_used = 1;
  while (!format.empty()) {
    const size_t at = std::min(format.find('%'), format.size());
    parts += " ~ " + in_quotes(format.substr(0, at));
    if (at == format.size()) break;
    const char verb = at + 1 < format.size() ? format[at + 1] : ' ';
    format.remove_prefix(std::min(at + 2, format.size()));
    if (verb == '%') {
      parts += " ~ '%'";
      continue;
    }
    const bool is_taken = std::string_view("svdtq").find(verb) != std::string_view::npos && n_used < a.size();
    if (!is_taken) return wrong_template(fmt::format("'%{}' of 'printf' is not taken", shown({&verb, 1})));
    parts += (verb == 'q' ? " ~ go_json(" : " ~ go_print(") + a[n_used++].jinja + ")";
  }
  if (n_used != a.size()) return wrong_template("'printf' has more arguments than its format");
  return parts + ")";
}

std::optional<std::string_view> comparison(std::string_view function) {
  for (const auto& [name, sign] :
       {std::pair{"ne", " != "}, {"lt", " < "}, {"le", " <= "}, {"gt", " > "}, {"ge", " >= "}}) {
    if (function == name) return sign;
  }
  return std::nullopt;
}

// Go's own functions. Nullopt: not one of them, or with other arguments.
std::optional<std::string> go_call(std::string_view function, const Operands& a) {
  if (function == "not" && a.size() == 1) return "(not " + a[0].jinja + ")";
  if (function == "and" && !a.empty()) return "(" + joined(a, " and ") + ")";
  if (function == "or" && !a.empty()) return "(" + joined(a, " or ") + ")";
  if (const auto sign = comparison(function); sign && a.size() == 2) return "(" + joined(a, *sign) + ")";
  if (function == "eq" && a.size() == 2) return "(" + joined(a, " == ") + ")";
  if (function == "eq" && a.size() > 2) return fmt::format("({} in [{}])", a[0].jinja, joined(a, ", ", 1));
  if (function == "print") return "go_sprint([" + joined(a, ", ") + "], false)";
  if (function == "println") return "go_sprint([" + joined(a, ", ") + "], true)";
  if (function == "len" && a.size() == 1) return fmt::format("(({} or '') | length)", a[0].jinja);
  if (function == "index" && a.size() >= 2) return fmt::format("({} or {{}})[{}]", a[0].jinja, joined(a, "][", 1));
  if (function == "slice" && a.size() == 1) return a[0].jinja;
  if (function == "slice" && a.size() == 2) return fmt::format("({} or '')[{}:]", a[0].jinja, a[1].jinja);
  if (function == "slice" && a.size() == 3) return fmt::format("({} or '')[{}]", a[0].jinja, joined(a, ":", 1));
  return std::nullopt;
}

// Functions added by Ollama.
std::optional<std::string> ollama_call(std::string_view function, const Operands& a) {
  if ((function == "json" || function == "toJson") && a.size() == 1) return "go_json(" + a[0].jinja + ")";
  if (function == "toTypeScriptType" && a.size() == 1) return "go_typescript(" + a[0].jinja + ")";
  if (function == "currentDate") return "strftime_now('%Y-%m-%d')";
  if (function == "yesterdayDate") return "strftime_now('%Y-%m-%d', -1)";
  return std::nullopt;
}

Result<std::string> call(const std::string& function, const Operands& operands) {
  if (function == "printf") return formatted(operands);
  auto jinja = go_call(function, operands);
  if (!jinja) jinja = ollama_call(function, operands);
  if (jinja) return *std::move(jinja);
  return wrong_template(fmt::format("'{}' with {} arguments is not taken", shown(function), operands.size()));
}

class GoExpression {
 public:
  GoExpression(std::string_view source, const GoScope& scope) : rest_(source), scope_(scope) {}

  // Parses the whole source.
  Result<std::string> whole() {
    RZ_TRY(std::string jinja, pipeline());
    skip_space();
    if (!rest_.empty()) return wrong_template("'" + shown(rest_) + "' is not taken");
    return jinja;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && is_go_space(rest_.front())) rest_.remove_prefix(1);
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool is_at_letter() const { return !rest_.empty() && std::isalpha(static_cast<unsigned char>(rest_.front())) != 0; }
  bool is_at_operand() const {
    return !rest_.empty() &&
           (is_name_char(rest_.front()) || std::string_view(".$\"`(-").find(rest_.front()) != std::string_view::npos);
  }
  Status deepen() {
    if (++depth_ > kMaxDepth) return wrong_template("it is nested too deeply");
    return {};
  }

  // The value before a bar is the last argument of the call after it.
  Result<std::string> pipeline() {
    const int depth = depth_;
    RZ_CHECK_OK(deepen());
    RZ_TRY(Operand value, command(nullptr));
    for (skip_space(); take('|'); skip_space()) {
      RZ_CHECK_OK(deepen());
      RZ_TRY(value, command(&value));
    }
    depth_ = depth;
    return std::move(value.jinja);
  }

  Result<Operand> command(const Operand* piped) {
    skip_space();
    if (!is_at_letter()) return operand();
    const std::string function(take_go_name(rest_));
    if (const auto constant = constant_named(function)) return Operand{std::string(*constant)};
    Operands arguments;
    for (skip_space(); is_at_operand(); skip_space()) {
      RZ_TRY(Operand argument, operand());
      arguments.push_back(std::move(argument));
    }
    if (piped != nullptr) arguments.push_back(*piped);
    RZ_TRY(std::string jinja, call(function, arguments));
    return Operand{std::move(jinja)};
  }

  static std::optional<std::string_view> constant_named(std::string_view word) {
    if (word == "nil") return "none";
    return word == "true" || word == "false" ? std::optional(word) : std::nullopt;
  }

  Result<Operand> operand() {
    if (take('(')) return in_parentheses();
    if (rest_.starts_with('"') || rest_.starts_with('`')) return text_literal();
    if (take('$')) return variable();
    if (rest_.starts_with('.')) return scope_.dot.empty() ? root_field() : fields_of(scope_.dot);
    return word();
  }

  Result<Operand> in_parentheses() {
    RZ_TRY(std::string inner, pipeline());
    skip_space();
    if (!take(')')) return wrong_template("a ')' is missing");
    return fields_of("(" + inner + ")");
  }

  Result<Operand> variable() {
    const std::string_view name = take_go_name(rest_);
    if (name.empty()) return root_field();
    RZ_TRY(std::string place, scope_.find(name));
    return fields_of(std::move(place));
  }

  // A constant, a number, or a function without arguments.
  Result<Operand> word() {
    const std::string sign = take('-') ? "-" : "";
    std::string word(take_go_name(rest_));
    if (const auto constant = constant_named(word); constant && sign.empty()) return Operand{std::string(*constant)};
    if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos) {
      if (take('.')) word += "." + std::string(take_go_name(rest_));
      if (word.find_first_not_of("0123456789.") == std::string::npos && word.back() != '.') return Operand{sign + word};
    }
    if (const auto jinja = sign.empty() ? ollama_call(word, {}) : std::nullopt) return Operand{*jinja};
    return wrong_template("'" + shown(word.empty() ? std::string(rest_) : word) + "' is not taken");
  }

  Result<Operand> root_field() {
    if (!take('.')) return wrong_template("'$' by itself is not supported");
    const std::string_view field = take_go_name(rest_);
    const auto found = std::ranges::find(kRootFields, field, [](const auto& known) { return known.first; });
    if (found == kRootFields.end()) return wrong_template("the field '." + shown(field) + "' is not known");
    return fields_of(std::string(found->second));
  }

  // ".Function.Name" of a value; "." is the value itself.
  Result<Operand> fields_of(std::string value) {
    const int depth = depth_;
    while (take('.')) {
      const std::string_view field = take_go_name(rest_);
      if (field.empty()) break;
      RZ_CHECK_OK(deepen());
      const auto found = std::ranges::find(kItemFields, field, &ItemField::name);
      if (found == kItemFields.end()) return wrong_template("the field '." + shown(field) + "' is not known");
      value = fmt::format("({}['{}'] or {})", value, found->key, found->zero);
    }
    depth_ = depth;
    return Operand{std::move(value)};
  }

  Result<Operand> text_literal() {
    const char mark = rest_.front();
    rest_.remove_prefix(1);
    std::string text;
    while (!rest_.empty() && rest_.front() != mark) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c != '\\' || mark == '`') {
        text += c;
      } else if (!take_escape(text)) {
        return wrong_template("a text has an escape that is not taken");
      }
    }
    if (!take(mark)) return wrong_template("a text is not closed");
    std::string jinja = in_quotes(text);
    return Operand{std::move(jinja), std::move(text)};
  }

  // The character after a backslash.
  bool take_escape(std::string& text) {
    constexpr std::string_view kNames = "abfnrtv\\'\"", kMeanings = "\a\b\f\n\r\t\v\\'\"";
    const char name = rest_.empty() ? ' ' : rest_.front();
    if (const size_t at = kNames.find(name); at != std::string_view::npos) {
      rest_.remove_prefix(1);
      text += kMeanings[at];
      return true;
    }
    const size_t n_digits = name == 'u' ? 4 : name == 'U' ? 8 : 0;
    if (n_digits == 0 || rest_.size() <= n_digits) return false;
    uint32_t code = 0;
    for (const char digit : rest_.substr(1, n_digits)) {
      if (std::isxdigit(static_cast<unsigned char>(digit)) == 0) return false;
      code = code * 16 + static_cast<uint32_t>(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    const bool is_character = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    if (!is_character) return false;
    rest_.remove_prefix(1 + n_digits);
    append_utf8(text, code);
    return true;
  }

  std::string_view rest_;
  const GoScope& scope_;
  int depth_ = 0;
};

}  // namespace

Error wrong_template(const std::string& what) {
  return invalid_argument("template: " + what, "template");
}

std::string in_quotes(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') literal += '\\';
    if (c == '\n') {
      literal += "\\n";
    } else if (c == '\r') {
      literal += "\\r";
    } else {
      literal += c;
    }
  }
  return literal + "'";
}

bool is_go_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::string_view go_trimmed(std::string_view text) {
  while (!text.empty() && is_go_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_go_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view take_go_name(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_name_char);
  const std::string_view name = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(name.size());
  return name;
}

void GoScope::open() {
  declared_.emplace_back();
}

void GoScope::close() {
  for (const std::string& name : declared_.back()) places_.find(name)->second.pop_back();
  declared_.pop_back();
}

std::string GoScope::declare(std::string_view name) {
  const std::string place = fmt::format("go.v{}", n_variables_++);
  places_[std::string(name)].push_back(place);
  declared_.back().emplace_back(name);
  return place;
}

Result<std::string> GoScope::find(std::string_view name) const {
  const auto found = places_.find(name);
  const bool is_there = found != places_.end() && !found->second.empty();
  if (!is_there) return wrong_template("the variable '$" + shown(name) + "' is not declared");
  return found->second.back();
}

Result<std::string> jinja_of_go_expression(std::string_view source, const GoScope& scope) {
  return GoExpression(go_trimmed(source), scope).whole();
}

const std::string_view kGoMacros =
    "{% set go = namespace() %}"
    "{% macro go_json(v) %}{{ v | tojson(separators=(',', ':')) | replace('<', '\\\\u003c') "
    "| replace('>', '\\\\u003e') | replace('&', '\\\\u0026') }}{% endmacro %}"
    "{% macro go_print(v) %}{% if v is string %}{{ v }}{% elif v is undefined or v is none %}"
    "{% elif v is sequence and v is not mapping and v and v[0] is not mapping %}"
    "[{% for item in v %}{{ ' ' if not loop.first }}{{ go_print(item) }}{% endfor %}]"
    "{% else %}{{ go_json(v) }}{% endif %}{% endmacro %}"
    "{% macro go_sprint(all, is_line) %}{% for v in all %}"
    "{{ ' ' if not loop.first and (is_line or (v is not string and loop.previtem is not string)) }}{{ go_print(v) }}"
    "{% endfor %}{{ '\\n' if is_line }}{% endmacro %}"
    "{% macro go_typescript(v) %}{% if v is not mapping %}any{% elif v['anyOf'] %}"
    "{% for item in v['anyOf'] %}{{ ' | ' if not loop.first }}{{ go_typescript(item) }}{% endfor %}"
    "{% else %}{% for type in ([v['type']] if v['type'] is string else v['type'] or ['']) %}"
    "{{ ' | ' if not loop.first }}{% if type in ['string', 'boolean', 'null'] %}{{ type }}"
    "{% elif type in ['number', 'integer'] %}number{% elif type == 'array' %}any[]"
    "{% elif type == 'object' %}Record<string, any>{% else %}any{% endif %}{% endfor %}{% endif %}{% endmacro %}";

}  // namespace realizar::text
