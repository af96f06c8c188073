// GBNF under construction: rules with unique names, the shared rules of JSON, and the spelling of literals and classes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "grammar/expression.h"

namespace realizar::grammar {

// The literal in quotes.
std::string gbnf_literal(std::string_view text);
// The class in brackets; `ranges` normalized and not empty.
std::string gbnf_class(const std::vector<CodeRange>& ranges);
// "{min,max}", or what is shorter.
std::string gbnf_repeat(uint64_t min, uint64_t max);
inline constexpr uint64_t kNoMaximum = ~uint64_t{0};

// A character inside a JSON string, spelled in any way; in a form that stands in other rules.
inline constexpr std::string_view kStringChar = R"(([^"\\\x00-\x1F] | "\\" escape))";
// Code points that a JSON string may hold as they are.
std::vector<CodeRange> plain_string_chars();
// The way that JSON spells a code point in a string: itself, or its shortest escape.
std::string json_char(uint32_t code);

class RuleBook {
 public:
  // A new name, made of what `hint` has of letters and digits.
  std::string reserve(std::string_view hint);
  void define(std::string_view name, std::string_view body);
  std::string add(std::string_view hint, std::string_view body);
  // The name of a rule of JSON in general ("ws", "string", "number", "value" ...), written down when first used.
  std::string shared(std::string_view name);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::unordered_set<std::string> names_{"root"};
  std::unordered_set<std::string> shared_;
};

}  // namespace realizar::grammar
