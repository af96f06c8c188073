#include "grammar/rule_book.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "grammar/code_points.h"

namespace realizar::grammar {
namespace {

struct SharedRule {
  std::string_view name;
  std::string_view body;
  std::vector<std::string_view> needs;
};

// Whitespace and digits are bounded, so that a model cannot go on with them for ever.
const std::vector<SharedRule>& shared_rules() {
  static const std::vector<SharedRule> rules{
      {"ws", R"((" " | "\n" (" "{0,64} | "\t"{1,16}))?)", {}},
      {"hex", R"([0-9a-fA-F])", {}},
      {"low-surrogate", R"("\\u" [dD] [c-fC-F] hex hex)", {"hex"}},
      {"escape",
       R"(["\\/bfnrt] | "u" ([0-9a-cA-CeEfF] hex hex hex | [dD] [0-7] hex hex | [dD] [89abAB] hex hex low-surrogate))",
       {"hex", "low-surrogate"}},
      {"string", R"("\"" ([^"\\\x00-\x1F] | "\\" escape)* "\"")", {"escape"}},
      {"string-rest", R"(([^"\\\x00-\x1F] | "\\" escape)* "\"")", {"escape"}},
      {"boolean", R"("true" | "false")", {}},
      {"integer", R"("0" | "-"? [1-9] [0-9]{0,31})", {}},
      {"number", R"("-"? ("0" | [1-9] [0-9]{0,31}) ("." [0-9]{1,32})? ([eE] [-+]? [0-9]{1,2})?)", {}},
      {"value",
       R"(object | array | string | number | boolean | "null")",
       {"object", "array", "string", "number", "boolean"}},
      {"object", R"("{" (ws member ("," ws member)*)? ws "}")", {"ws", "member"}},
      {"member", R"(string ":" " "? value)", {"string", "value"}},
      {"array", R"("[" (ws value ("," ws value)*)? ws "]")", {"ws", "value"}},
  };
  return rules;
}

void append_class_char(std::string& out, uint32_t code) {
  if (code < 0x20 || code == 0x7F) {
    out += fmt::format("\\x{:02X}", code);
  } else if (code == '\\' || code == ']' || code == '[' || code == '^' || code == '-' || code == '"') {
    out += '\\';
    out += static_cast<char>(code);
  } else if (code < 0x80) {
    out += static_cast<char>(code);
  } else {
    out += fmt::format("\\U{:08X}", code);
  }
}

}  // namespace

std::string gbnf_literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02X}", c);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string gbnf_class(const std::vector<CodeRange>& ranges) {
  std::string out = "[";
  for (const CodeRange range : ranges) {
    append_class_char(out, range.first);
    if (range.last == range.first) continue;
    out += '-';
    append_class_char(out, range.last);
  }
  return out + ']';
}

std::string gbnf_repeat(uint64_t min, uint64_t max) {
  constexpr uint64_t kLargest = 2'000'000'000;  // what GBNF takes; no text is that long
  min = std::min(min, kLargest);
  if (min == 0 && max == 1) return "?";
  if (max >= kLargest) return min == 0 ? "*" : min == 1 ? "+" : fmt::format("{{{},}}", min);
  return min == max ? fmt::format("{{{}}}", min) : fmt::format("{{{},{}}}", min, max);
}

std::vector<CodeRange> plain_string_chars() {
  return complement({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
}

std::string json_char(uint32_t code) {
  switch (code) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  if (code < 0x20) return fmt::format("\\u{:04x}", code);
  std::string out;
  append_utf8(out, code);
  return out;
}

std::string RuleBook::reserve(std::string_view hint) {
  std::string base;
  for (const char c : hint.substr(0, 40)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    base += plain ? c : '-';
  }
  if (base.empty()) base = "rule";
  // Names with a number stand apart from those of the shared rules.
  return *names_.insert(fmt::format("{}-{}", base, names_.size())).first;
}

void RuleBook::define(std::string_view name, std::string_view body) {
  text_ += name;
  text_ += " ::= ";
  text_ += body;
  text_ += '\n';
}

std::string RuleBook::add(std::string_view hint, std::string_view body) {
  std::string name = reserve(hint);
  define(name, body);
  return name;
}

std::string RuleBook::shared(std::string_view name) {
  if (!shared_.emplace(name).second) return std::string(name);
  const auto rule = std::ranges::find(shared_rules(), name, &SharedRule::name);
  REQUIRE(rule != shared_rules().end());
  for (const std::string_view needed : rule->needs) shared(needed);
  define(rule->name, rule->body);
  return std::string(name);
}

}  // namespace realizar::grammar
