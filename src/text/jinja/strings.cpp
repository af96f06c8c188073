// String functions with the semantics of Python's methods, and the argument conversions of filters and methods.
#include <utf8proc.h>

#include <algorithm>

#include "text/jinja/builtins.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace realizar::text::jinja {
namespace {

bool is_letter_or_number(uint32_t code) {
  switch (char_class(code)) {
    case CharClass::kUpper:
    case CharClass::kTitle:
    case CharClass::kLower:
    case CharClass::kModifier:
    case CharClass::kOtherLetter:
    case CharClass::kNumber:
      return true;
    default:
      return false;
  }
}

uint32_t code_point(std::string_view utf8_char) {
  utf8proc_int32_t code = 0xfffd;
  utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(utf8_char.data()),
                   static_cast<utf8proc_ssize_t>(utf8_char.size()), &code);
  return code < 0 ? 0xfffd : static_cast<uint32_t>(code);
}

void append_code_point(std::string& out, uint32_t code) {
  utf8proc_uint8_t buffer[4];
  const auto n = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), buffer);
  out.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(n));
}

enum class Case { kUpper, kLower, kTitle };

void append_cased(std::string& out, std::string_view utf8_char, Case to) {
  // The only common letter whose upper case has two letters.
  if (utf8_char == "ß" && to != Case::kLower) {
    out += to == Case::kUpper ? "SS" : "Ss";
    return;
  }
  const auto code = static_cast<utf8proc_int32_t>(code_point(utf8_char));
  append_code_point(out, static_cast<uint32_t>(to == Case::kUpper   ? utf8proc_toupper(code)
                                               : to == Case::kLower ? utf8proc_tolower(code)
                                                                    : utf8proc_totitle(code)));
}

bool is_letter(std::string_view utf8_char) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code_point(utf8_char)));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

template <class CaseOf>
std::string mapped(std::string_view utf8, CaseOf case_of) {
  const auto offsets = char_offsets(utf8);
  std::string out;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto character = utf8.substr(offsets[i], offsets[i + 1] - offsets[i]);
    append_cased(out, character, case_of(i, character));
  }
  return out;
}

}  // namespace

int64_t int_arg(const Args& args, size_t i, std::string_view name, int64_t otherwise) {
  const Value* value = args.get(i, name);
  if (value == nullptr || value->is_none()) return otherwise;
  if (!value->is_int() && !value->is_bool()) fail(std::string(name) + " must be an integer, not " + type_name(*value));
  return value->as_int();
}

bool bool_arg(const Args& args, size_t i, std::string_view name, bool otherwise) {
  const Value* value = args.get(i, name);
  return value == nullptr ? otherwise : truthy(*value);
}

Text text_arg(const Args& args, size_t i, std::string_view name, const Text& otherwise) {
  const Value* value = args.get(i, name);
  return value == nullptr ? otherwise : to_text(*value);
}

const Value& required_arg(const Args& args, size_t i, std::string_view name) {
  const Value* value = args.get(i, name);
  if (value == nullptr) fail("missing argument '" + std::string(name) + "'");
  return *value;
}

bool is_space_char(std::string_view utf8_char) {
  const uint32_t code = code_point(utf8_char);
  return (code >= 9 && code <= 13) || (code >= 0x1c && code <= 0x20) || code == 0x85 || code == 0xa0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f ||
         code == 0x205f || code == 0x3000;
}

Text stripped(const Text& text, const Value* chars, bool left, bool right) {
  const std::string& s = text.str();
  const auto offsets = char_offsets(s);
  std::vector<std::string> set;
  if (chars != nullptr && !chars->is_none()) {
    for (const Value& c : iterate(*chars)) set.push_back(to_text(c).str());
  }
  const bool use_set = chars != nullptr && !chars->is_none();
  const auto drops = [&](size_t i) {
    const auto c = std::string_view(s).substr(offsets[i], offsets[i + 1] - offsets[i]);
    return use_set ? std::find(set.begin(), set.end(), c) != set.end() : is_space_char(c);
  };
  size_t begin = 0, end = offsets.size() - 1;
  while (left && begin < end && drops(begin)) ++begin;
  while (right && end > begin && drops(end - 1)) --end;
  return text.substr(offsets[begin], offsets[end] - offsets[begin]);
}

Text replaced(const Text& text, const Text& from, const Text& to, int64_t max_count) {
  Text out;
  const std::string& s = text.str();
  size_t at = 0;
  for (int64_t n = 0; max_count < 0 || n < max_count; ++n) {
    if (from.empty()) {
      // Python inserts the replacement between all characters.
      const auto offsets = char_offsets(s);
      for (size_t i = 0; i < offsets.size(); ++i) {
        if (max_count < 0 || static_cast<int64_t>(i) < max_count) out.append(to);
        if (i + 1 < offsets.size()) out.append(text.substr(offsets[i], offsets[i + 1] - offsets[i]));
      }
      return out;
    }
    const size_t found = find_in(s, from.str(), at);
    if (found == std::string::npos) break;
    out.append(text.substr(at, found - at));
    out.append(to);
    count_steps(1);
    at = found + from.size();
  }
  out.append(text.substr(at));
  return out;
}

Text joined(const std::vector<Value>& items, const Text& separator) {
  Text out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.append(separator);
    const Text item = to_text(items[i]);
    count_steps(1);
    out.append(item);
  }
  return out;
}

std::string upper_utf8(std::string_view utf8) {
  return mapped(utf8, [](size_t, std::string_view) { return Case::kUpper; });
}

std::string lower_utf8(std::string_view utf8) {
  return mapped(utf8, [](size_t, std::string_view) { return Case::kLower; });
}

std::string capitalize_utf8(std::string_view utf8) {
  return mapped(utf8, [](size_t i, std::string_view) { return i == 0 ? Case::kTitle : Case::kLower; });
}

// str.title begins a word at every letter after a non-letter; Jinja's filter only after blanks, hyphens and brackets.
std::string title_utf8(std::string_view utf8, bool jinja_rule) {
  bool begins = true;
  return mapped(utf8, [&](size_t, std::string_view c) {
    const Case to = begins ? (jinja_rule ? Case::kUpper : Case::kTitle) : Case::kLower;
    begins = jinja_rule ? is_space_char(c) || c == "-" || c == "(" || c == "{" || c == "[" || c == "<" : !is_letter(c);
    return to;
  });
}

int64_t n_words(std::string_view utf8) {
  int64_t n = 0;
  bool is_inside = false;
  for (size_t at = 0; at < utf8.size();) {
    const DecodedChar c = decode_char(utf8, at);
    const bool is_word = is_letter_or_number(c.code) || c.code == '_';
    if (is_word && !is_inside) ++n;
    is_inside = is_word;
    at += c.n_bytes;
  }
  return n;
}

std::string url_quoted(std::string_view text, bool in_query) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  const std::string_view plain = in_query ? "_.-~" : "_.-~/";
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          plain.find(c) != std::string_view::npos;
    if (is_plain) {
      out += c;
    } else if (in_query && c == ' ') {
      out += '+';
    } else {
      out += {'%', kHex[static_cast<unsigned char>(c) >> 4], kHex[c & 15]};
    }
  }
  return out;
}

}  // namespace realizar::text::jinja
