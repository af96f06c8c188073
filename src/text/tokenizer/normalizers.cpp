#include "text/tokenizer/normalizers.h"

#include <functional>
#include <utility>

#include "base/utf8.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

// A normalizer that does not depend on the position of its segment.
class Simple final : public Normalizer {
 public:
  explicit Simple(std::function<void(std::string&)> apply) : apply_(std::move(apply)) {}
  void apply(std::string& segment, bool) const override { apply_(segment); }

 private:
  std::function<void(std::string&)> apply_;
};

std::unique_ptr<Normalizer> simple(std::function<void(std::string&)> apply) {
  return std::make_unique<Simple>(std::move(apply));
}

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}
  void apply(std::string& segment, bool at_start) const override {
    for (const auto& step : steps_) step->apply(segment, at_start);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

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

std::unique_ptr<Normalizer> make_replace(std::unique_ptr<Pattern> pattern, std::string content) {
  const std::shared_ptr<const Pattern> shared = std::move(pattern);
  return simple([shared, content = std::move(content)](std::string& text) { replace_all(text, *shared, content); });
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

std::unique_ptr<Normalizer> make_sequence(std::vector<std::unique_ptr<Normalizer>> steps) {
  return std::make_unique<NormalizerSequence>(std::move(steps));
}

std::unique_ptr<Normalizer> make_normal_form(NormalForm form) {
  return simple([form](std::string& text) { text = normalize(text, form); });
}

std::unique_ptr<Normalizer> make_lowercase() {
  return simple([](std::string& text) { text = to_lower(text); });
}

std::unique_ptr<Normalizer> make_nmt() {
  return simple([](std::string& text) { rewrite_chars(text, put_nmt); });
}

std::unique_ptr<Normalizer> make_strip_accents() {
  return simple([](std::string& text) { rewrite_chars(text, put_without_marks); });
}

std::unique_ptr<Normalizer> make_prepend(std::string prefix) {
  return simple([prefix = std::move(prefix)](std::string& text) {
    if (!text.empty()) text.insert(0, prefix);
  });
}

std::unique_ptr<Normalizer> make_replace(std::string wanted, std::string content) {
  return make_replace(make_string_pattern(std::move(wanted)), std::move(content));
}

std::unique_ptr<Normalizer> make_replace(Regex regex, std::string content) {
  return make_replace(make_regex_pattern(std::move(regex)), std::move(content));
}

std::unique_ptr<Normalizer> make_strip(bool left, bool right) {
  return simple([left, right](std::string& text) { strip(text, left, right); });
}

std::unique_ptr<Normalizer> make_byte_spelling() {
  return simple([](std::string& text) {
    std::string spelled;
    append_spelled(spelled, text);
    text = std::move(spelled);
  });
}

std::unique_ptr<Normalizer> make_bert_normalizer(BertNormalizerOptions options) {
  return simple([options](std::string& text) {
    if (options.clean_text) rewrite_chars(text, put_clean);
    if (options.handle_chinese_chars) rewrite_chars(text, put_spaced_ideograph);
    if (options.strip_accents) {
      text = normalize(text, NormalForm::kNfd);
      rewrite_chars(text, put_without_marks);
    }
    if (options.lowercase) text = to_lower(text);
  });
}

}  // namespace realizar::text
