// The unigram language model (Kudo 2018): among all ways to split a word into pieces, the one with the highest sum of
// scores, found from left to right over the ends of pieces (Viterbi).
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "text/tokenizer/bpe_model.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/byte_trie.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

// How much lower an unknown character scores than the least likely piece.
constexpr double kUnknownPenalty = 10.0;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Unigram final : public MergeModel {
 public:
  Unigram(const Vocabulary& vocab, UnigramOptions options) : options_(std::move(options)) {
    std::vector<ByteTrie::Entry> entries;
    double least = kInfinity, most = -kInfinity;  // over the normal pieces
    for (int32_t i = 0; i < vocab.size(); ++i) {
      const TokenType type = vocab.type(TokenId{i});
      const std::string_view piece = vocab.piece(TokenId{i});
      if (piece.empty() || (type != TokenType::kNormal && type != TokenType::kUserDefined)) continue;
      entries.push_back({piece, i});
      if (type != TokenType::kNormal) continue;
      least = std::min(least, double{score(i)});
      most = std::max(most, double{score(i)});
    }
    unknown_score_ = (least < kInfinity ? least : 0) - kUnknownPenalty;
    if (options_.favor_user_defined) favor_user_defined(vocab, most);
    trie_ = ByteTrie(std::move(entries));
    for (uint32_t byte = 0; byte < 256 && options_.byte_fallback; ++byte) {
      byte_tokens_.push_back(vocab.find(spell_byte_token(static_cast<uint8_t>(byte))).value_or(kNoToken));
    }
  }

  void encode_word(std::string_view word, std::vector<TokenId>& out) const override {
    const std::vector<Node> best = find_best(word);
    std::vector<Piece> pieces;
    for (size_t end = word.size(); end > 0; end -= best[end].n_bytes) {
      pieces.push_back({end - best[end].n_bytes, end, best[end].id});
    }
    bool after_unknown = false;
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
      const std::string_view text = word.substr(piece->begin, piece->end - piece->begin);
      const bool is_in_bytes = piece->id == kUnknown && has_bytes_of(text);
      if (piece->id != kUnknown) {
        out.push_back(TokenId{piece->id});
      } else if (is_in_bytes) {
        for (const char c : text) out.push_back(byte_tokens_[static_cast<uint8_t>(c)]);
      } else if (!after_unknown && options_.unk_id) {
        out.push_back(*options_.unk_id);
      }
      after_unknown = piece->id == kUnknown && !is_in_bytes;
    }
  }

 private:
  static constexpr int32_t kUnknown = -1, kUnreached = -2;

  // The best path to the prefix that ends here: its score, and its last piece.
  struct Node {
    double score = 0;
    uint32_t n_bytes = 0;
    int32_t id = kUnreached;
  };
  struct Piece {
    size_t begin, end;
    int32_t id;
  };

  // SentencePiece prefers user-defined pieces to any normal pieces for the same text.
  void favor_user_defined(const Vocabulary& vocab, double most) {
    for (int32_t i = 0; i < vocab.size(); ++i) {
      if (vocab.type(TokenId{i}) != TokenType::kUserDefined) continue;
      const auto n_bytes = static_cast<double>(vocab.piece(TokenId{i}).size());
      options_.scores[static_cast<size_t>(i)] = static_cast<float>(n_bytes * most - 0.1);
    }
  }

  float score(int32_t id) const { return options_.scores[static_cast<size_t>(id)]; }

  bool has_bytes_of(std::string_view character) const {
    return !byte_tokens_.empty() &&
           std::ranges::all_of(character, [this](char c) { return byte_tokens_[static_cast<uint8_t>(c)] != kNoToken; });
  }

  // Nodes at the ends of characters; entry 0 is the beginning.
  std::vector<Node> find_best(std::string_view word) const {
    std::vector<Node> best(word.size() + 1);
    for (size_t begin = 0; begin < word.size();) {
      const size_t char_end = begin + decode_char(word, begin).n_bytes;
      const double so_far = best[begin].score;
      bool is_piece = false;  // a piece of one character excludes the unknown token
      int32_t node = ByteTrie::kRoot;
      for (size_t end = begin; end < word.size();) {
        node = trie_.step(node, static_cast<uint8_t>(word[end++]));
        if (node == ByteTrie::kNone) break;
        const int32_t id = trie_.value(node);
        if (id == ByteTrie::kNone) continue;
        reach(best[end], so_far, score(id), end - begin, id);
        is_piece = is_piece || end == char_end;
      }
      if (!is_piece) reach(best[char_end], so_far, unknown_score_, char_end - begin, kUnknown);
      begin = char_end;
    }
    return best;
  }

  void reach(Node& node, double so_far, double piece_score, size_t n_bytes, int32_t id) const {
    double sum = so_far + piece_score;
    if (options_.float_sums) sum = static_cast<float>(sum);
    if (node.id == kUnreached || sum > node.score) node = {sum, static_cast<uint32_t>(n_bytes), id};
  }

  UnigramOptions options_;
  ByteTrie trie_;
  double unknown_score_ = 0;
  std::vector<TokenId> byte_tokens_;  // one per byte, kNoToken if there is none; empty without fallback
};

}  // namespace

Result<std::unique_ptr<MergeModel>> make_unigram_model(const Vocabulary& vocab, UnigramOptions options) {
  if (options.scores.size() != static_cast<size_t>(vocab.size())) {
    return format_error("scores: expected " + std::to_string(vocab.size()) + ", one a token, got " +
                            std::to_string(options.scores.size()),
                        "scores");
  }
  for (const float score : options.scores) {
    if (!std::isfinite(score)) return format_error("scores: expected finite numbers", "scores");
  }
  return std::unique_ptr<MergeModel>(std::make_unique<Unigram>(vocab, std::move(options)));
}

}  // namespace realizar::text
