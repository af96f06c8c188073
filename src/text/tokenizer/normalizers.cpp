#include "text/tokenizer/normalizers.h"

#include <functional>
#include <utility>

#include "base/utf8.h"
#include "text/tokenizer/byte_spelling.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

// Calls `put(code, out)` for every character; invalid bytes are kept.
template <class Put>
void rewrite_chars(std::string& text, const Put& put) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const DecodedChar c = decode_char(text, at);
    if (c.valid) {
      put(c.code, out);
    } else {
      out.append(text, at, c.n_bytes);
    }
    at += c.n_bytes;
  }
  text = std::move(out);
}

void replace_all(std::string& text, const Pattern& pattern, std::string_view content) {
  std::string masked;
  std::string_view subject = text;
  if (!is_valid_utf8(text)) {
    masked = mask_invalid_utf8(text);
    subject = masked;
  }
  std::string out;
  size_t done = 0;
  for (size_t from = 0; from <= subject.size();) {
    const std::optional<TextRange> match = pattern.find(subject, from);
    if (!match) break;
    out.append(text, done, match->begin - done);
    out += content;
    done = match->end;
    from = match->begin < match->end
               ? match->end
               : match->end + (match->end < subject.size() ? decode_char(subject, match->end).n_bytes : 1);
  }
  if (done == 0 && out.empty()) return;
  out.append(text, done);
  text = std::move(out);
}

Normalizer make_replace(std::unique_ptr<Pattern> pattern, std::string content) {
  const std::shared_ptr<const Pattern> shared = std::move(pattern);
  return [shared, content = std::move(content)](std::string& text, bool) { replace_all(text, *shared, content); };
}

void strip(std::string& text, bool left, bool right) {
  size_t begin = 0;
  while (left && begin < text.size()) {
    const DecodedChar c = decode_char(text, begin);
    if (!is_white_space(c.code)) break;
    begin += c.n_bytes;
  }
  size_t end = text.size();
  while (right && end > begin) {
    size_t last = end - 1;
    while (last > begin && continues_character(text[last])) --last;
    if (!is_white_space(decode_char(text, last).code)) break;
    end = last;
  }
  text = text.substr(begin, end - begin);
}

// The blocks of CJK ideographs listed in BERT's reference code.
bool is_ideograph(uint32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

void put_clean(uint32_t code, std::string& out) {
  if (code == 0 || code == kReplacementChar) return;
  if (is_white_space(code)) {
    out += ' ';
  } else if (!is_other(code)) {
    append_utf8(out, code);
  }
}

void put_spaced_ideograph(uint32_t code, std::string& out) {
  const bool spaced = is_ideograph(code);
  if (spaced) out += ' ';
  append_utf8(out, code);
  if (spaced) out += ' ';
}

// The table of SentencePiece's rule "nmt".
void put_nmt(uint32_t code, std::string& out) {
  const bool is_dropped = (code >= 0x1 && code <= 0x8) || code == 0xB || (code >= 0xE && code <= 0x1F) ||
                          code == 0x7F || code == 0x8F || code == 0x9F;
  const bool is_space = code == 0x9 || code == 0xA || code == 0xC || code == 0xD || code == 0x1680 ||
                        (code >= 0x200B && code <= 0x200F) || code == 0x2028 || code == 0x2029 || code == 0x2581 ||
                        code == 0xFEFF || code == kReplacementChar;
  if (is_space) {
    out += ' ';
  } else if (!is_dropped) {
    append_utf8(out, code);
  }
}

void put_without_marks(uint32_t code, std::string& out) {
  if (!is_nonspacing_mark(code)) append_utf8(out, code);
}

}  // namespace

Normalizer make_sequence(std::vector<Normalizer> steps) {
  return [steps = std::move(steps)](std::string& text, bool at_start) {
    for (const Normalizer& step : steps) step(text, at_start);
  };
}

Normalizer make_normal_form(NormalForm form) {
  return [form](std::string& text, bool) { text = normalize(text, form); };
}

Normalizer make_lowercase() {
  return [](std::string& text, bool) { text = to_lower(text); };
}

Normalizer make_nmt() {
  return [](std::string& text, bool) { rewrite_chars(text, put_nmt); };
}

Normalizer make_strip_accents() {
  return [](std::string& text, bool) { rewrite_chars(text, put_without_marks); };
}

Normalizer make_prepend(std::string prefix) {
  return [prefix = std::move(prefix)](std::string& text, bool) {
    if (!text.empty()) text.insert(0, prefix);
  };
}

Normalizer make_replace(std::string wanted, std::string content) {
  return make_replace(make_string_pattern(std::move(wanted)), std::move(content));
}

Normalizer make_replace(Regex regex, std::string content) {
  return make_replace(make_regex_pattern(std::move(regex)), std::move(content));
}

Normalizer make_strip(bool left, bool right) {
  return [left, right](std::string& text, bool) { strip(text, left, right); };
}

Normalizer make_byte_spelling() {
  return [](std::string& text, bool) {
    std::string spelled;
    append_spelled(spelled, text);
    text = std::move(spelled);
  };
}

Normalizer make_bert_normalizer(BertNormalizerOptions options) {
  return [options](std::string& text, bool) {
    if (options.clean_text) rewrite_chars(text, put_clean);
    if (options.handle_chinese_chars) rewrite_chars(text, put_spaced_ideograph);
    if (options.strip_accents) {
      text = normalize(text, NormalForm::kNfd);
      rewrite_chars(text, put_without_marks);
    }
    if (options.lowercase) text = to_lower(text);
  };
}

}  // namespace realizar::text
