#include "cli/answer_view.h"

#include <unistd.h>

#include "base/printable.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace realizar::cli {

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
