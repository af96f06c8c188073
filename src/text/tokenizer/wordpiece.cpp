// Models that look up words: WordPiece (Devlin et al. 2019), which takes the longest known beginning of the rest of a
// word, and WordLevel, which knows whole words only.
#include <algorithm>
#include <string>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/builders.h"

namespace realizar::text {
namespace {

Result<TokenId> find_unknown(const Vocabulary& vocab, std::string_view unk_token) {
  if (const auto id = vocab.find(unk_token)) return *id;
  return format_error("the unknown token '" + shown(unk_token) + "' is not in the vocabulary", "unk_token");
}

bool is_word(TokenType type) {
  return type == TokenType::kNormal || type == TokenType::kUserDefined;
}

class WordPiece final : public MergeModel {
 public:
  WordPiece(const Vocabulary& vocab, WordPieceOptions options, TokenId unk)
      : vocab_(vocab), options_(std::move(options)), unk_(unk) {
    for (int32_t i = 0; i < vocab.size(); ++i) longest_ = std::max(longest_, vocab.piece(TokenId{i}).size());
  }

  // A word that contains a part without a piece becomes a single unknown token.
  void encode_word(std::string_view word, std::vector<TokenId>& out) const override {
    const size_t n_before = out.size();
    bool known = !is_too_long(word);
    for (size_t at = 0; known && at < word.size();) {
      const size_t n_bytes = append_longest(word, at, out);
      known = n_bytes > 0;
      at += n_bytes;
    }
    if (known) return;
    out.resize(n_before);
    out.push_back(unk_);
  }

 private:
  bool is_too_long(std::string_view word) const {
    int64_t n_chars = 0;
    for (char c : word) {
      n_chars += (static_cast<uint8_t>(c) & 0xC0) != 0x80;
      if (n_chars > options_.max_input_chars_per_word) return true;
    }
    return false;
  }

  // The length of the longest piece at `at`; 0 if there is none.
  size_t append_longest(std::string_view word, size_t at, std::vector<TokenId>& out) const {
    std::string candidate = at == 0 ? options_.word_prefix : options_.continuing_subword_prefix;
    const size_t n_prefix = candidate.size();
    candidate += word.substr(at, longest_);
    for (; candidate.size() > n_prefix; candidate.pop_back()) {
      const auto id = vocab_.find(candidate);
      if (!id || !is_word(vocab_.type(*id))) continue;
      out.push_back(*id);
      return candidate.size() - n_prefix;
    }
    return 0;
  }

  const Vocabulary& vocab_;
  const WordPieceOptions options_;
  const TokenId unk_;
  size_t longest_ = 0;  // bytes of the longest piece
};

class WordLevel final : public MergeModel {
 public:
  WordLevel(const Vocabulary& vocab, TokenId unk) : vocab_(vocab), unk_(unk) {}
  void encode_word(std::string_view word, std::vector<TokenId>& out) const override {
    out.push_back(vocab_.find(word).value_or(unk_));
  }

 private:
  const Vocabulary& vocab_;
  const TokenId unk_;
};

}  // namespace

Result<std::unique_ptr<MergeModel>> make_wordpiece_model(const Vocabulary& vocab, WordPieceOptions options) {
  RZ_TRY(const TokenId unk, find_unknown(vocab, options.unk_token));
  return std::unique_ptr<MergeModel>(std::make_unique<WordPiece>(vocab, std::move(options), unk));
}

Result<std::unique_ptr<MergeModel>> make_wordlevel_model(const Vocabulary& vocab, std::string_view unk_token) {
  RZ_TRY(const TokenId unk, find_unknown(vocab, unk_token));
  return std::unique_ptr<MergeModel>(std::make_unique<WordLevel>(vocab, unk));
}

}  // namespace realizar::text
