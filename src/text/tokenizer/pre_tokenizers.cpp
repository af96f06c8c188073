#include "text/tokenizer/pre_tokenizers.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/try.h"
#include "text/tokenizer/byte_spelling.h"
#include "text/tokenizer/tokenizer_parts.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

enum class DigitGroups {
  kCutInside,  // (?=(\d{3})+(?!\d)): the remaining digits stay with the text before
  kIsolated,   // \d{1,3}(?=(?:\d{3})*\b): each group is separate, in numbers that end at a word's end
};

class GroupedDigits {
 public:
  explicit GroupedDigits(DigitGroups kind) : kind_(kind) {}

  void operator()(Pieces& pieces) const {
    std::vector<TextRange> parts;
    for (const TextRange& range : pieces.ranges) {
      const std::string_view piece = std::string_view(pieces.text).substr(range.begin, range.end - range.begin);
      size_t done = 0;
      for (size_t cut : cuts_of(piece)) {
        if (cut <= done || cut >= piece.size()) continue;
        parts.push_back({range.begin + done, range.begin + cut});
        done = cut;
      }
      parts.push_back({range.begin + done, range.end});
    }
    pieces.ranges = std::move(parts);
  }

 private:
  std::vector<size_t> cuts_of(std::string_view piece) const {
    std::vector<size_t> cuts;
    std::vector<size_t> digits;  // positions of the current number's digits
    for (size_t at = 0; at < piece.size();) {
      const DecodedChar c = decode_char(piece, at);
      if (is_decimal_digit(c.code)) {
        digits.push_back(at);
      } else if (!digits.empty()) {
        cut_number(digits, at, is_word_char(c.code), cuts);
        digits.clear();
      }
      at += c.n_bytes;
    }
    if (!digits.empty()) cut_number(digits, piece.size(), false, cuts);
    return cuts;
  }

  void cut_number(const std::vector<size_t>& digits, size_t end, bool word_goes_on, std::vector<size_t>& cuts) const {
    if (kind_ == DigitGroups::kIsolated) {
      if (word_goes_on) return;
      cuts.push_back(digits[0]);
    }
    for (size_t i = digits.size() % 3; i < digits.size(); i += 3) cuts.push_back(digits[i]);
    if (kind_ == DigitGroups::kIsolated) cuts.push_back(end);
  }

  DigitGroups kind_;
};

std::string_view view(const Pieces& pieces, const TextRange& range) {
  return std::string_view(pieces.text).substr(range.begin, range.end - range.begin);
}

// Replaces the text of every piece: `write(piece, is_first, out)` appends the new one to `out`.
template <class Write>
void rewrite(Pieces& pieces, const Write& write) {
  std::string text;
  text.reserve(pieces.text.size() + pieces.text.size() / 8);
  bool is_first = pieces.at_start;
  for (TextRange& range : pieces.ranges) {
    const size_t begin = text.size();
    write(view(pieces, range), is_first && range.begin == 0, text);
    range = {begin, text.size()};
    is_first = false;
  }
  pieces.text = std::move(text);
}

bool is_punctuation(uint32_t code) {
  const CharClass c = char_class(code);
  return c == CharClass::kPunctuation || (code < 128 && c == CharClass::kSymbol);
}

}  // namespace

PreTokenizer make_sequence(std::vector<PreTokenizer> steps) {
  return [steps = std::move(steps)](Pieces& pieces) {
    for (const PreTokenizer& step : steps) step(pieces);
  };
}
PreTokenizer make_split(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert) {
  return [pattern = std::shared_ptr(std::move(pattern)), behavior, invert](Pieces& pieces) {
    std::string masked;
    std::string_view text = pieces.text;
    if (!is_valid_utf8(text)) {
      masked = mask_invalid_utf8(text);
      text = masked;
    }
    std::vector<TextRange> parts;
    parts.reserve(std::max(pieces.ranges.size(), text.size() / 4));
    for (const TextRange& range : pieces.ranges) {
      split_text(text.substr(range.begin, range.end - range.begin), *pattern, behavior, invert, range.begin, parts);
    }
    pieces.ranges = std::move(parts);
  };
}
Result<PreTokenizer> make_regex_split(std::string_view pattern, SplitBehavior behavior, bool invert) {
  if (behavior == SplitBehavior::kIsolated && !invert) {
    if (pattern == "(?=(\\d{3})+(?!\\d))") return PreTokenizer(GroupedDigits(DigitGroups::kCutInside));
    if (pattern == "\\d{1,3}(?=(?:\\d{3})*\\b)") return PreTokenizer(GroupedDigits(DigitGroups::kIsolated));
  }
  RZ_TRY(Regex regex, Regex::compile(pattern));
  return make_split(make_regex_pattern(std::move(regex)), behavior, invert);
}

PreTokenizer make_prefix_space() {
  return [](Pieces& pieces) {
    rewrite(pieces, [](std::string_view piece, bool, std::string& out) {
      if (!piece.starts_with(' ')) out += ' ';
      out += piece;
    });
  };
}
PreTokenizer make_byte_speller() {
  return [](Pieces& pieces) {
    rewrite(pieces, [](std::string_view piece, bool, std::string& out) { append_spelled(out, piece); });
  };
}
PreTokenizer make_char_split(CharPredicate predicate, SplitBehavior behavior) {
  return make_split(make_char_pattern(predicate), behavior, false);
}
PreTokenizer make_punctuation_split(SplitBehavior behavior) {
  return make_char_split(is_punctuation, behavior);
}
PreTokenizer make_bert_split() {
  std::vector<PreTokenizer> steps;
  steps.push_back(make_char_split(is_white_space, SplitBehavior::kRemoved));
  steps.push_back(make_punctuation_split(SplitBehavior::kIsolated));
  return make_sequence(std::move(steps));
}
PreTokenizer make_metaspace(std::string replacement, PrependScheme scheme, bool split) {
  PreTokenizer split_at_spaces;
  if (split) split_at_spaces = make_split(make_string_pattern(replacement), SplitBehavior::kMergedWithNext, false);
  return [replacement = std::move(replacement), scheme, split_at_spaces](Pieces& pieces) {
    rewrite(pieces, [&](std::string_view piece, bool is_first, std::string& out) {
      const bool prepends = scheme == PrependScheme::kAlways || (scheme == PrependScheme::kFirst && is_first);
      if (prepends && !piece.starts_with(' ') && !piece.starts_with(replacement)) out += replacement;
      for (const char c : piece) {
        if (c == ' ') {
          out += replacement;
        } else {
          out += c;
        }
      }
    });
    if (split_at_spaces) split_at_spaces(pieces);
  };
}

}  // namespace realizar::text
