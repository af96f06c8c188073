#include "text/output/call_form.h"

#include <algorithm>

#include "text/output/json_value.h"

namespace realizar::text {
namespace {

using Arguments = CallForm::Arguments;

// A mark ends before white space or another mark, or with its closing bracket.
size_t mark_end(std::string_view text) {
  const char closing = text.front() == '<' ? '>' : text.front() == '[' ? ']' : '\n';
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == closing && closing != '\n') return i + 1;
    if (text[i] == '<' || text[i] == '[' || text[i] == '\n') return i;
  }
  return text.size();
}

// Removes the brackets of a list or an object, which the readers handle themselves.
std::string before_brackets(const CallForm& form, const std::string& text) {
  const std::string_view bare = without_space_around(text);
  if (form.arguments == Arguments::kInObject) return std::string(bare.substr(0, bare.find('{')));
  return std::string(bare);
}

std::string without_list_open(const CallForm& form) {
  std::string_view text = without_space_around(form.first);
  const bool may_be_list = form.arguments == Arguments::kInObject || form.arguments == Arguments::kLiteral;
  if (may_be_list && text.ends_with('[')) text.remove_suffix(1);
  return std::string(text);
}

std::string after_brackets(const CallForm& form, const std::string& text) {
  if (form.arguments == Arguments::kLiteral) return text.substr(std::min<size_t>(text.size(), 1));
  if (form.arguments != Arguments::kInObject) return text;
  const size_t end = text.rfind('}');
  return end == std::string::npos ? text : text.substr(end + 1);
}

std::string without_list_close(const CallForm& form) {
  std::string_view text = without_space_around(form.last);
  if (without_space_around(form.first).ends_with('[') && text.starts_with(']')) text.remove_prefix(1);
  return std::string(text);
}

void append_new(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& mark : more) {
    if (std::ranges::find(all, mark) == all.end()) all.push_back(mark);
  }
}

// [/NAME] for [NAME], likewise for <name> and <|name|>; "": the mark has no closing one.
std::string closer_of(const std::string& opener) {
  const bool is_whole =
      (opener.starts_with('[') && opener.ends_with(']')) || (opener.starts_with('<') && opener.ends_with('>'));
  if (!is_whole) return "";
  const size_t at = opener.starts_with("<|") ? 2 : 1;
  return opener.substr(0, at) + "/" + opener.substr(at);
}

// Adds the marks before the name: the last one belongs to the call itself if the name is inside a tag or if the
// arguments follow the name.
void add_call_begin(const CallForm& form, CallMarks& marks) {
  std::vector<std::string> begin = split_marks(before_brackets(form, form.open));
  if (form.arguments == Arguments::kMessage) return;
  if (!begin.empty() && is_plain(begin.back())) {
    marks.name_prefix = begin.back();
    begin.pop_back();
  }
  const bool is_own = !begin.empty() && !begin.back().ends_with('>') && !begin.back().ends_with(']');
  if (is_own) {
    marks.call_begin = begin.back();
    begin.pop_back();
  }
  append_new(marks.openers, begin);
}

}  // namespace

bool is_plain(std::string_view mark) {
  return mark.find_first_of("<[>") == std::string_view::npos;
}

std::vector<std::string> split_marks(std::string_view text) {
  std::vector<std::string> marks;
  while (!(text = without_space_around(text)).empty()) {
    const size_t end = mark_end(text);
    marks.emplace_back(without_space_around(text.substr(0, end)));
    text.remove_prefix(end);
  }
  return marks;
}

CallMarks marks_of(const CallForm& form) {
  CallMarks marks;
  append_new(marks.openers, split_marks(without_list_open(form)));
  add_call_begin(form, marks);
  append_new(marks.openers, form.other_openers);
  marks.is_bare = marks.openers.empty() && marks.call_begin.empty();
  if (form.arguments != Arguments::kInObject && form.arguments != Arguments::kMessage) {
    marks.name_end = split_marks(form.name_end);
  }
  if (!form.id_mark.empty()) std::erase_if(marks.name_end, is_plain);
  append_new(marks.closers, split_marks(after_brackets(form, form.close)));
  append_new(marks.closers, split_marks(without_list_close(form)));
  append_new(marks.closers, form.other_closers);
  // Models close what they have opened, even if their template does not.
  for (const std::string& opener : marks.openers) {
    if (const std::string closer = closer_of(opener); !closer.empty()) append_new(marks.closers, {closer});
  }
  return marks;
}

}  // namespace realizar::text
