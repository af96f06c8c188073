#include "cli/word_wrap.h"

#include <algorithm>
#include <cwchar>

#include "text/utf8.h"

namespace realizar::cli {
namespace {

constexpr uint32_t kTabColumns = 8;

uint32_t width_of(uint32_t code) {
  return static_cast<uint32_t>(std::max(0, ::wcwidth(static_cast<wchar_t>(code))));
}

}  // namespace

std::string WordWrap::push(std::string_view text) {
  if (n_columns_ == 0) return std::string(text);
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const text::DecodedChar character = text::decode_char(text, i);
    if (text[i] == ' ' || text[i] == '\t' || text[i] == '\n') {
      add_space(text[i], out);
    } else {
      add_char(text.substr(i, character.n_bytes), width_of(character.code), out);
    }
    i += character.n_bytes;
  }
  return out;
}

void WordWrap::add_space(char space, std::string& out) {
  word_.clear();
  word_columns_ = 0;
  const uint32_t next = space == '\t' ? (column_ / kTabColumns + 1) * kTabColumns : column_ + 1;
  if (space == '\n' || next > n_columns_) {
    begin_line();
    out += '\n';
  } else {
    column_ = next;
    out += space;
  }
}

void WordWrap::add_char(std::string_view bytes, uint32_t width, std::string& out) {
  // Characters with a width of two columns (Chinese, Japanese) are words by themselves.
  if (width == 2) word_.clear(), word_columns_ = 0;
  if (column_ + width > n_columns_) {
    const bool moves = word_columns_ > 0 && word_columns_ < column_;
    if (moves) out += "\033[" + std::to_string(word_columns_) + "D\033[K";
    out += '\n';
    if (moves) {
      out += word_;
      column_ = word_columns_;
    } else {
      begin_line();
    }
  }
  out += bytes;
  column_ += width;
  word_ += bytes;
  word_columns_ += width;
}

void WordWrap::begin_line() {
  column_ = 0;
  word_.clear();
  word_columns_ = 0;
}

}  // namespace realizar::cli
