#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "text/jinja/value.h"
#include "text/utf8.h"

namespace realizar::text::jinja {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}
bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80);
}
bool is_name(char c) {
  return is_name_start(c) || std::isdigit(static_cast<unsigned char>(c));
}

// Line breaks become "\n", and one at the very end is dropped (keep_trailing_newline is off).
std::string normalized_newlines(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalized_newlines(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const size_t open = next_tag();
      data(open);
      if (open == std::string::npos) break;
      tag();
    }
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  size_t next_tag() const {
    for (size_t i = source_.find('{', at_); i != std::string::npos; i = source_.find('{', i + 1)) {
      if (i + 1 < source_.size() && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#')) return i;
    }
    return std::string::npos;
  }

  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  void advance(size_t n) {
    for (; n > 0 && at_ < source_.size(); --n) line_ += source_[at_++] == '\n' ? 1 : 0;
  }

  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  // The text up to the tag at `open`, without what whitespace control removes at its end.
  void data(size_t open) {
    const size_t end = open == std::string::npos ? source_.size() : open;
    std::string text = source_.substr(at_, end - at_);
    const size_t begin = at_;
    const uint32_t line = line_;
    advance(end - at_);
    if (open != std::string::npos) strip_before(text, begin);
    if (!text.empty()) tokens_.push_back({TokenKind::kData, std::move(text), line});
  }

  void strip_before(std::string& text, size_t begin) const {
    const char kind = peek(1), control = peek(2);
    if (control == '-') {
      while (!text.empty() && is_space(text.back())) text.pop_back();
    } else if (kind != '{' && control != '+') {
      // lstrip_blocks: removes blanks between the line's beginning and a block or comment.
      const size_t kept = text.find_last_not_of(" \t");
      const size_t line_start = kept == std::string::npos ? 0 : kept + 1;
      const bool from_line_start =
          line_start > 0 ? text[line_start - 1] == '\n' : begin == 0 || source_[begin - 1] == '\n';
      if (from_line_start) text.resize(line_start);
    }
  }

  // trim_blocks removes one line break after a block or comment; '-' removes all blanks.
  void strip_after(char control, bool is_variable) {
    if (control == '-') {
      while (at_ < source_.size() && is_space(source_[at_])) advance(1);
    } else if (!is_variable && control != '+' && peek() == '\n') {
      advance(1);
    }
  }

  void tag() {
    const char kind = peek(1);
    const uint32_t line = line_;
    advance(2);
    if (kind == '#') return comment(line);
    const bool is_variable = kind == '{';
    add(is_variable ? TokenKind::kVariableBegin : TokenKind::kBlockBegin, "");
    if (peek() == '-' || (peek() == '+' && !is_variable)) advance(1);
    if (!is_variable && raw()) return;
    const std::string close = is_variable ? "}}" : "%}";
    while (true) {
      while (is_space(peek())) advance(1);
      if (at_ >= source_.size()) syntax_error(line, "a tag is not closed");
      const char control = peek();
      const bool has_control =
          (control == '-' || (control == '+' && !is_variable)) && source_.compare(at_ + 1, 2, close) == 0;
      if (depth_ == 0 && (has_control || source_.compare(at_, 2, close) == 0)) {
        advance(has_control ? 3 : 2);
        add(is_variable ? TokenKind::kVariableEnd : TokenKind::kBlockEnd, "");
        return strip_after(has_control ? control : '\0', is_variable);
      }
      word();
    }
  }

  void comment(uint32_t line) {
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) syntax_error(line, "a comment is not closed");
    const char control = end > at_ && (source_[end - 1] == '-' || source_[end - 1] == '+') ? source_[end - 1] : '\0';
    advance(end + 2 - at_);
    strip_after(control, false);
  }

  // {% raw %} ... {% endraw %}: the text between becomes data. True if it was one.
  bool raw() {
    size_t i = at_;
    while (i < source_.size() && is_space(source_[i])) ++i;
    if (source_.compare(i, 3, "raw") != 0 || (i + 3 < source_.size() && is_name(source_[i + 3]))) return false;
    tokens_.pop_back();
    advance(i + 3 - at_);
    while (is_space(peek())) advance(1);
    const char control = peek() == '-' || peek() == '+' ? peek() : '\0';
    if (control != '\0') advance(1);
    if (source_.compare(at_, 2, "%}") != 0) syntax_error(line_, "expected %} after raw");
    advance(2);
    strip_after(control, false);
    for (size_t open = source_.find("{%", at_); open != std::string::npos; open = source_.find("{%", open + 2)) {
      size_t word = open + 2;
      if (word < source_.size() && (source_[word] == '-' || source_[word] == '+')) ++word;
      while (word < source_.size() && is_space(source_[word])) ++word;
      if (source_.compare(word, 6, "endraw") != 0) continue;
      data(open);
      advance(word + 6 - at_);
      while (is_space(peek())) advance(1);
      const char end_control = peek() == '-' || peek() == '+' ? peek() : '\0';
      if (end_control != '\0') advance(1);
      if (source_.compare(at_, 2, "%}") != 0) syntax_error(line_, "expected %} after endraw");
      advance(2);
      strip_after(end_control, false);
      return true;
    }
    syntax_error(line_, "raw is not closed");
  }

  void word() {
    const char c = peek();
    if (is_name_start(c)) return name();
    if (std::isdigit(static_cast<unsigned char>(c))) return number();
    if (c == '"' || c == '\'') return string();
    return op();
  }

  void name() {
    size_t n = 0;
    while (is_name(peek(n))) ++n;
    add(TokenKind::kName, source_.substr(at_, n));
    advance(n);
  }

  void number() {
    std::string text;
    bool is_float = false;
    size_t n = 0;
    const auto digits = [&] {
      while (std::isdigit(static_cast<unsigned char>(peek(n))) ||
             (peek(n) == '_' && std::isdigit(static_cast<unsigned char>(peek(n + 1))))) {
        if (peek(n) != '_') text += peek(n);
        ++n;
      }
    };
    digits();
    if (peek(n) == '.' && std::isdigit(static_cast<unsigned char>(peek(n + 1)))) {
      is_float = true;
      text += '.';
      ++n;
      digits();
    }
    const size_t sign = peek(n + 1) == '+' || peek(n + 1) == '-' ? 1 : 0;
    if ((peek(n) == 'e' || peek(n) == 'E') && std::isdigit(static_cast<unsigned char>(peek(n + 1 + sign)))) {
      is_float = true;
      text += source_.substr(at_ + n, 1 + sign);
      n += 1 + sign;
      digits();
    }
    add(is_float ? TokenKind::kFloat : TokenKind::kInteger, text);
    advance(n);
  }

  void string() {
    const uint32_t line = line_;
    const char quote = peek();
    advance(1);
    std::string value;
    while (peek() != quote) {
      if (at_ >= source_.size()) syntax_error(line, "a string is not closed");
      if (peek() == '\\') {
        advance(1);
        escape(value);
      } else {
        value += peek();
        advance(1);
      }
    }
    advance(1);
    tokens_.push_back({TokenKind::kString, std::move(value), line});
  }

  void escape(std::string& value) {
    const char c = peek();
    advance(1);
    constexpr std::string_view kLetters = "ntr\\'\"abfv", kCharacters = "\n\t\r\\'\"\a\b\f\v";
    if (const size_t found = kLetters.find(c); found != std::string_view::npos) {
      value += kCharacters[found];
      return;
    }
    const size_t n_digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (n_digits > 0) return hex_escape(value, n_digits);
    if (c == '\n') return;
    value += '\\';
    value += c;
  }

  void hex_escape(std::string& value, size_t n_digits) {
    uint32_t code = 0;
    for (size_t i = 0; i < n_digits; ++i) {
      if (!std::isxdigit(static_cast<unsigned char>(peek())))
        syntax_error(line_, "a string escape lacks hexadecimal digits");
      code = code * 16 + static_cast<uint32_t>(std::stoul(std::string(1, peek()), nullptr, 16));
      advance(1);
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) syntax_error(line_, "a string escape is not a character");
    append_utf8(value, code);
  }

  void op() {
    static constexpr std::array<std::string_view, 6> kDouble = {"==", "!=", "<=", ">=", "//", "**"};
    for (const std::string_view text : kDouble) {
      if (source_.compare(at_, 2, text) == 0) {
        add(TokenKind::kOperator, std::string(text));
        return advance(2);
      }
    }
    const char c = peek();
    if (std::string_view("+-*/%~<>=()[]{},.:|;").find(c) == std::string_view::npos) {
      syntax_error(line_, std::string("unexpected character '") + c + "'");
    }
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    add(TokenKind::kOperator, std::string(1, c));
    advance(1);
  }

  std::string source_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  int depth_ = 0;  // of brackets inside a tag
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(source).run();
}

void syntax_error(uint32_t line, const std::string& message) {
  throw TemplateError{"line " + std::to_string(line) + ": " + message};
}

}  // namespace realizar::text::jinja
