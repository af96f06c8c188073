#include "text/output/text_window.h"

#include <algorithm>
#include <utility>

namespace realizar::text {

void TextWindow::append(std::string_view text) {
  text_.erase(0, begin_);
  begin_ = 0;
  text_ += text;
}

TextWindow::Match TextWindow::match(std::string_view literal, size_t offset) const {
  const std::string_view here = rest().substr(offset, literal.size());
  if (here == literal) return Match::kYes;
  return !ended_ && literal.starts_with(here) ? Match::kOpen : Match::kNo;
}

TextWindow::Match TextWindow::found(size_t at, size_t literal_bytes, size_t& offset) const {
  if (at != std::string_view::npos) {
    offset = at;
    return Match::kYes;
  }
  const bool out_of_reach = rest().size() >= kMaxHeaderBytes + literal_bytes;
  return ended_ || out_of_reach ? Match::kNo : Match::kOpen;
}

TextWindow::Match TextWindow::find(std::string_view literal, size_t& offset) const {
  return found(rest().substr(0, kMaxHeaderBytes + literal.size()).find(literal), literal.size(), offset);
}

TextWindow::Match TextWindow::find_any(std::string_view bytes, size_t& offset) const {
  return found(rest().substr(0, kMaxHeaderBytes + 1).find_first_of(bytes), 1, offset);
}

void TextWindow::take(size_t n_bytes) {
  taken_ += rest().substr(0, n_bytes);
  begin_ += n_bytes;
}

TextWindow::Match TextWindow::take(std::string_view literal) {
  const Match answer = match(literal);
  if (answer == Match::kYes) take(literal.size());
  return answer;
}

bool TextWindow::skip_space() {
  take(std::min(rest().find_first_not_of(" \t\r\n"), rest().size()));
  return !empty();
}

std::string TextWindow::give_back() {
  return std::exchange(taken_, {});
}

}  // namespace realizar::text
