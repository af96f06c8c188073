#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "text/utf8.h"

namespace realizar::text {
namespace {

CharClass class_of_category(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
      return CharClass::kUpper;
    case UTF8PROC_CATEGORY_LT:
      return CharClass::kTitle;
    case UTF8PROC_CATEGORY_LL:
      return CharClass::kLower;
    case UTF8PROC_CATEGORY_LM:
      return CharClass::kModifier;
    case UTF8PROC_CATEGORY_LO:
      return CharClass::kOtherLetter;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return CharClass::kMark;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharClass::kNumber;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return CharClass::kPunctuation;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
      return CharClass::kSymbol;
    default:
      return CharClass::kOther;
  }
}

utf8proc_category_t category_of(uint32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

CharClass compute_class(uint32_t code) {
  return is_white_space(code) ? CharClass::kSpace : class_of_category(category_of(code));
}

std::array<CharClass, 128> ascii_classes() {
  std::array<CharClass, 128> classes;
  for (uint32_t code = 0; code < 128; ++code) classes[code] = compute_class(code);
  return classes;
}

utf8proc_option_t options_of(NormalForm form) {
  switch (form) {
    case NormalForm::kNfc:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    case NormalForm::kNfd:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    case NormalForm::kNfkc:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    case NormalForm::kNfkd:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  }
  return UTF8PROC_STABLE;
}

// The decomposition of `run`, which is valid UTF-8, with the marks after each starter in canonical order. (utf8proc_map
// would sort those by neighbour exchange, which is quadratic in a long run of marks.)
std::vector<utf8proc_int32_t> decompose(std::string_view run, utf8proc_option_t options) {
  constexpr size_t kLongest = 32;  // of one character's decomposition; 18 in Unicode 15
  std::vector<utf8proc_int32_t> codes;
  codes.reserve(run.size() + kLongest);
  for (size_t at = 0; at < run.size();) {
    const DecodedChar c = decode_char(run, at);
    const size_t n = codes.size();
    codes.resize(n + kLongest);
    int boundary_class = 0;
    const utf8proc_ssize_t n_added = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.code), codes.data() + n,
                                                             kLongest, options, &boundary_class);
    const bool fits = n_added > 0 && n_added <= static_cast<utf8proc_ssize_t>(kLongest);
    if (!fits) codes[n] = static_cast<utf8proc_int32_t>(c.code);
    codes.resize(n + (fits ? static_cast<size_t>(n_added) : 1));
    at += c.n_bytes;
  }
  const auto ccc = [](utf8proc_int32_t code) { return utf8proc_get_property(code)->combining_class; };
  for (auto it = codes.begin(); it != codes.end();) {
    it = std::find_if(it, codes.end(), [&](utf8proc_int32_t code) { return ccc(code) != 0; });
    const auto end = std::find_if(it, codes.end(), [&](utf8proc_int32_t code) { return ccc(code) == 0; });
    std::stable_sort(it, end, [&](utf8proc_int32_t x, utf8proc_int32_t y) { return ccc(x) < ccc(y); });
    it = end;
  }
  return codes;
}

// Appends the normal form of `run`, which is valid UTF-8.
void append_normalized(std::string& out, std::string_view run, NormalForm form) {
  const utf8proc_option_t options = options_of(form);
  std::vector<utf8proc_int32_t> codes = decompose(run, options);
  auto n_codes = static_cast<utf8proc_ssize_t>(codes.size());
  if ((options & UTF8PROC_COMPOSE) != 0) n_codes = utf8proc_normalize_utf32(codes.data(), n_codes, options);
  for (utf8proc_ssize_t i = 0; i < n_codes; ++i) append_utf8(out, static_cast<uint32_t>(codes[static_cast<size_t>(i)]));
}

bool is_ascii(std::string_view text) {
  uint8_t any = 0;
  for (char c : text) any |= static_cast<uint8_t>(c);
  return any < 0x80;
}

}  // namespace

CharClass char_class(uint32_t code) {
  static const std::array<CharClass, 128> ascii = ascii_classes();
  return code < 128 ? ascii[code] : compute_class(code);
}

bool is_white_space(uint32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
         code == 0x3000;
}

bool is_word_char(uint32_t code) {
  switch (char_class(code)) {
    case CharClass::kUpper:
    case CharClass::kTitle:
    case CharClass::kLower:
    case CharClass::kModifier:
    case CharClass::kOtherLetter:
    case CharClass::kMark:
      return true;
    case CharClass::kNumber:
      return category_of(code) == UTF8PROC_CATEGORY_ND;
    case CharClass::kPunctuation:
      return category_of(code) == UTF8PROC_CATEGORY_PC;
    default:
      return false;
  }
}

bool is_decimal_digit(uint32_t code) {
  return category_of(code) == UTF8PROC_CATEGORY_ND;
}

bool is_nonspacing_mark(uint32_t code) {
  return category_of(code) == UTF8PROC_CATEGORY_MN;
}

bool is_other(uint32_t code) {
  switch (category_of(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
      return true;
    default:
      return false;
  }
}

std::string normalize(std::string_view text, NormalForm form) {
  std::string out;
  out.reserve(text.size());
  if (is_ascii(text)) return out.append(text);
  size_t run_begin = 0;
  for (size_t at = 0; at < text.size();) {
    const DecodedChar c = decode_char(text, at);
    if (!c.valid) {
      append_normalized(out, text.substr(run_begin, at - run_begin), form);
      out.append(text, at, c.n_bytes);
      run_begin = at + c.n_bytes;
    }
    at += c.n_bytes;
  }
  append_normalized(out, text.substr(run_begin), form);
  return out;
}

std::string to_lower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const DecodedChar c = decode_char(text, at);
    if (c.valid) {
      append_utf8(out, static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.code))));
    } else {
      out.append(text, at, c.n_bytes);
    }
    at += c.n_bytes;
  }
  return out;
}

}  // namespace realizar::text
