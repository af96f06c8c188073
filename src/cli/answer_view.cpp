#include "cli/answer_view.h"

#include <unistd.h>

#include <algorithm>
#include <cwchar>

#include "base/printable.h"
#include "cli/output.h"
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

AnswerView::Options AnswerView::for_stdout(bool hides_reasoning) {
  // The last column stays free: terminals differ in where the cursor goes when it is filled.
  const uint32_t n_columns = obeys_escapes(STDOUT_FILENO) ? terminal_columns(STDOUT_FILENO) - 1 : 0;
  return {hides_reasoning, shows_styles(STDOUT_FILENO), stdout_is_terminal(), n_columns};
}

std::string AnswerView::show(std::string_view text, bool is_reasoning) {
  if (text.empty() || (is_reasoning && options_.hides_reasoning)) return "";
  std::string out = turn(is_reasoning);
  return out += wrap_.push(options_.spells_controls ? printable_prose(text) : text);
}

std::string AnswerView::end() {
  if (!in_reasoning_) return "";
  in_reasoning_ = false;
  return options_.shows_styles ? "\033[0m" : wrap_.push("\n</think>");
}

std::string AnswerView::turn(bool to_reasoning) {
  if (to_reasoning == in_reasoning_) return "";
  std::string out = in_reasoning_ ? end() + wrap_.push("\n\n") : "";
  in_reasoning_ = to_reasoning;
  if (to_reasoning) out += options_.shows_styles ? "\033[2m" : wrap_.push("<think>\n");
  return out;
}

}  // namespace realizar::cli
