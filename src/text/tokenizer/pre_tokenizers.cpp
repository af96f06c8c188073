#include "text/tokenizer/pre_tokenizers.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/digit_groups.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

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

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps_(std::move(steps)) {}
  void apply(Pieces& pieces) const override {
    for (const auto& step : steps_) step->apply(pieces);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

class Split final : public PreTokenizer {
 public:
  Split(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(Pieces& pieces) const override {
    std::string masked;
    std::string_view text = pieces.text;
    if (!is_valid_utf8(text)) {
      masked = mask_invalid_utf8(text);
      text = masked;
    }
    std::vector<TextRange> parts;
    parts.reserve(std::max(pieces.ranges.size(), text.size() / 4));
    for (const TextRange& range : pieces.ranges) {
      split_text(text.substr(range.begin, range.end - range.begin), *pattern_, behavior_, invert_, range.begin, parts);
    }
    pieces.ranges = std::move(parts);
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class PrefixSpace final : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    rewrite(pieces, [](std::string_view piece, bool, std::string& out) {
      if (!piece.starts_with(' ')) out += ' ';
      out += piece;
    });
  }
};

class ByteSpeller final : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    rewrite(pieces, [](std::string_view piece, bool, std::string& out) { append_spelled(out, piece); });
  }
};

class Metaspace final : public PreTokenizer {
 public:
  Metaspace(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(std::move(replacement)), scheme_(scheme) {
    if (split) {
      split_ = make_split(make_string_pattern(replacement_), SplitBehavior::kMergedWithNext, false);
    }
  }

  void apply(Pieces& pieces) const override {
    rewrite(pieces, [this](std::string_view piece, bool is_first, std::string& out) {
      const bool prepends = scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && is_first);
      if (prepends && !piece.starts_with(' ') && !piece.starts_with(replacement_)) out += replacement_;
      for (char c : piece) {
        if (c == ' ') {
          out += replacement_;
        } else {
          out += c;
        }
      }
    });
    if (split_) split_->apply(pieces);
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
  std::unique_ptr<PreTokenizer> split_;
};

bool is_punctuation(uint32_t code) {
  const CharClass c = char_class(code);
  return c == CharClass::kPunctuation || (code < 128 && c == CharClass::kSymbol);
}

}  // namespace

std::unique_ptr<PreTokenizer> make_sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) {
  return std::make_unique<PreTokenizerSequence>(std::move(steps));
}
std::unique_ptr<PreTokenizer> make_split(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert) {
  return std::make_unique<Split>(std::move(pattern), behavior, invert);
}
Result<std::unique_ptr<PreTokenizer>> make_regex_split(std::string_view pattern, SplitBehavior behavior, bool invert) {
  if (behavior == SplitBehavior::kIsolated && !invert) {
    if (pattern == "(?=(\\d{3})+(?!\\d))") return make_digit_groups(DigitGroups::kCutInside);
    if (pattern == "\\d{1,3}(?=(?:\\d{3})*\\b)") return make_digit_groups(DigitGroups::kIsolated);
  }
  RZ_TRY(Regex regex, Regex::compile(pattern));
  return make_split(make_regex_pattern(std::move(regex)), behavior, invert);
}

std::unique_ptr<PreTokenizer> make_prefix_space() {
  return std::make_unique<PrefixSpace>();
}
std::unique_ptr<PreTokenizer> make_byte_speller() {
  return std::make_unique<ByteSpeller>();
}
std::unique_ptr<PreTokenizer> make_char_split(CharPredicate predicate, SplitBehavior behavior) {
  return make_split(make_char_pattern(predicate), behavior, false);
}
std::unique_ptr<PreTokenizer> make_punctuation_split(SplitBehavior behavior) {
  return make_char_split(is_punctuation, behavior);
}
std::unique_ptr<PreTokenizer> make_bert_split() {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  steps.push_back(make_char_split(is_white_space, SplitBehavior::kRemoved));
  steps.push_back(make_punctuation_split(SplitBehavior::kIsolated));
  return make_sequence(std::move(steps));
}
std::unique_ptr<PreTokenizer> make_metaspace(std::string replacement, PrependScheme scheme, bool split) {
  return std::make_unique<Metaspace>(std::move(replacement), scheme, split);
}

}  // namespace realizar::text
