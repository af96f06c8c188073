#include "grammar/lark_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/printable.h"
#include "base/try.h"
#include "grammar/code_points.h"

namespace realizar::grammar {
namespace {

using LarkKind = LarkToken::Kind;

bool is_word_char(char c) {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& path) : source_(source), path_(path) {}

  Result<std::vector<LarkToken>> run() {
    while (true) {
      skip_blank();
      if (at_ == source_.size()) break;
      RZ_CHECK_OK(token());
    }
    add(LarkKind::kNewline, "");
    add(LarkKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  Error error(const std::string& what) const {
    return invalid_argument(fmt::format("{}: line {}: {}", path_, line_, what), path_);
  }
  void add(LarkKind kind, std::string text, std::string flags = {}) {
    tokens_.push_back({kind, std::move(text), std::move(flags), line_});
  }

  void skip_blank() {
    for (; at_ < source_.size(); ++at_) {
      const bool is_comment = peek() == '#' || (peek() == '/' && peek(1) == '/');
      if (is_comment) {
        while (at_ + 1 < source_.size() && source_[at_ + 1] != '\n') ++at_;
      } else if (peek() != ' ' && peek() != '\t' && peek() != '\r') {
        return;
      }
    }
  }

  Status token() {
    const char c = peek();
    if (c == '\n') return newline();
    if (c == '"') return string();
    if (c == '/') return regex();
    if (c == '%') return command();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return number();
    if (is_word_char(c)) return name();
    const bool is_modifier = (c == '?' || c == '!') && at_line_begin_ && depth_ == 0;
    if (is_modifier) {
      ++at_;
      return {};
    }
    return mark();
  }

  Status newline() {
    while (peek() == '\n') {
      ++at_;
      ++line_;
      skip_blank();
    }
    at_line_begin_ = true;
    if (depth_ == 0 && peek() != '|') add(LarkKind::kNewline, "");
    return {};
  }

  Status name() {
    const size_t begin = at_;
    while (is_word_char(peek())) ++at_;
    add(LarkKind::kName, std::string(source_.substr(begin, at_ - begin)));
    at_line_begin_ = false;
    return {};
  }

  Status number() {
    const size_t begin = at_;
    while (std::isdigit(static_cast<unsigned char>(peek())) != 0) ++at_;
    add(LarkKind::kNumber, std::string(source_.substr(begin, at_ - begin)));
    return {};
  }

  Status command() {
    ++at_;
    const size_t begin = at_;
    while (is_word_char(peek())) ++at_;
    add(LarkKind::kCommand, std::string(source_.substr(begin, at_ - begin)));
    return {};
  }

  Status mark() {
    static constexpr std::array<std::string_view, 16> kMarks = {"..", "->", ":", "|", "(", ")", "[", "]",
                                                                "?",  "*",  "+", "~", ".", ",", "{", "}"};
    const auto found =
        std::ranges::find_if(kMarks, [&](std::string_view mark) { return source_.substr(at_).starts_with(mark); });
    if (found == kMarks.end()) return error("unexpected '" + shown(source_.substr(at_, 1)) + "'");
    if (*found == "(" || *found == "[") ++depth_;
    if ((*found == ")" || *found == "]") && depth_ > 0) --depth_;
    at_ += found->size();
    at_line_begin_ = false;
    add(LarkKind::kMark, std::string(*found));
    return {};
  }

  std::string letters() {
    const size_t begin = at_;
    while (std::isalpha(static_cast<unsigned char>(peek())) != 0) ++at_;
    return std::string(source_.substr(begin, at_ - begin));
  }

  // "text", with Python's escapes, followed by i if case is ignored.
  Status string() {
    ++at_;
    std::string text;
    while (peek() != '"') {
      if (at_ >= source_.size() || peek() == '\n') return error("a string is not closed");
      if (peek() == '\\') {
        RZ_CHECK_OK(escape(text));
      } else {
        text += source_[at_++];
      }
    }
    ++at_;
    std::string flags = peek() == 'i' && !is_word_char(peek(1)) ? letters() : "";
    add(LarkKind::kString, std::move(text), std::move(flags));
    return {};
  }

  Status escape(std::string& text) {
    static constexpr std::string_view kLetters = "nrtfv0\\\"'/", kMeanings{"\n\r\t\f\v\0\\\"'/", 10};
    ++at_;
    const char c = peek();
    if (c == 'x') return hex_escape(2, text);
    if (c == 'u') return hex_escape(4, text);
    if (c == 'U') return hex_escape(8, text);
    const size_t which = kLetters.find(c);
    if (at_ >= source_.size() || which == std::string_view::npos) return error("unknown escape in a string");
    text += kMeanings[which];
    ++at_;
    return {};
  }

  Status hex_escape(size_t n_digits, std::string& text) {
    ++at_;
    uint32_t code = 0;
    for (size_t i = 0; i < n_digits; ++i, ++at_) {
      const auto digit = static_cast<unsigned char>(peek());
      if (std::isxdigit(digit) == 0) return error("expected hexadecimal digits in a string's escape");
      const auto value = static_cast<uint32_t>(std::isdigit(digit) != 0 ? digit - '0' : (digit | 32) - 'a' + 10);
      code = (code << 4) | value;
    }
    if (code > kMaxCodePoint || is_surrogate(code)) return error("a string's escape is not a character");
    append_utf8(text, code);
    return {};
  }

  Status regex() {
    ++at_;
    std::string text;
    while (peek() != '/') {
      if (at_ >= source_.size() || peek() == '\n') return error("a regular expression is not closed");
      const bool is_slash = peek() == '\\' && peek(1) == '/';
      if (is_slash) {
        ++at_;
      } else if (peek() == '\\' && at_ + 1 < source_.size()) {
        text += source_[at_++];
      }
      text += source_[at_++];
    }
    ++at_;
    std::string flags = letters();
    add(LarkKind::kRegex, std::move(text), std::move(flags));
    return {};
  }

  std::string_view source_;
  const std::string& path_;
  size_t at_ = 0, depth_ = 0;
  uint32_t line_ = 1;
  bool at_line_begin_ = true;
  std::vector<LarkToken> tokens_;
};

}  // namespace

Result<std::vector<LarkToken>> lark_tokens(std::string_view source, const std::string& path) {
  return Lexer(source, path).run();
}

}  // namespace realizar::grammar
