// Splits template source into tokens: text between tags with whitespace control applied, and the words of tags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace realizar::text::jinja {

enum class TokenKind : uint8_t {
  kData,           // text between tags
  kBlockBegin,     // {%
  kBlockEnd,       // %}
  kVariableBegin,  // {{
  kVariableEnd,    // }}
  kName,
  kString,  // text: the string's value
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  std::string text;
  uint32_t line;
};

// trim_blocks and lstrip_blocks are on, as in Hugging Face's settings. Throws TemplateError with the line.
std::vector<Token> tokenize(std::string_view source);

[[noreturn]] void syntax_error(uint32_t line, const std::string& message);

}  // namespace realizar::text::jinja
