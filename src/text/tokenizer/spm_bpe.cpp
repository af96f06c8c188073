#include "text/tokenizer/spm_bpe.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/try.h"
#include "text/tokenizer/bpe_model.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

bool is_mergeable(TokenType type) {
  return type == TokenType::kNormal || type == TokenType::kUserDefined || type == TokenType::kUnused;
}

// ranks[id]: the index of the piece's score among all distinct scores, highest first.
std::vector<uint32_t> rank_scores(std::span<const float> scores) {
  std::vector<float> distinct(scores.begin(), scores.end());
  std::sort(distinct.begin(), distinct.end(), std::greater<>());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<uint32_t> ranks;
  ranks.reserve(scores.size());
  for (float score : scores) {
    const auto place = std::lower_bound(distinct.begin(), distinct.end(), score, std::greater<>());
    ranks.push_back(static_cast<uint32_t>(place - distinct.begin()));
  }
  return ranks;
}

Status check_piece(std::string_view piece, float score, int32_t id) {
  if (std::isnan(score)) {
    return format_error("token " + std::to_string(id) + ": its score is not a number", "scores");
  }
  if (piece.size() > kMaxSpmPieceBytes) {
    return format_error("token " + std::to_string(id) + ": expected at most " + std::to_string(kMaxSpmPieceBytes) +
                            " bytes, got " + std::to_string(piece.size()),
                        "tokens");
  }
  return {};
}

// Every way to split `piece` into two other pieces.
void append_rules(const Vocabulary& vocab, std::string_view piece, uint32_t rank, std::vector<RankedRule>& rules) {
  for (size_t cut = 0;;) {
    cut += decode_char(piece, cut).n_bytes;
    if (cut >= piece.size()) return;
    const std::string_view left = piece.substr(0, cut), right = piece.substr(cut);
    const auto left_id = vocab.find(left), right_id = vocab.find(right);
    if (!left_id || !right_id || !is_mergeable(vocab.type(*left_id)) || !is_mergeable(vocab.type(*right_id))) continue;
    rules.push_back({{left, right}, rank});
  }
}

}  // namespace

Result<std::unique_ptr<MergeModel>> make_spm_bpe_model(const Vocabulary& vocab, std::span<const float> scores,
                                                       std::optional<TokenId> unk_id) {
  const std::vector<uint32_t> ranks = rank_scores(scores);
  std::vector<RankedRule> rules;
  for (int32_t i = 0; i < vocab.size(); ++i) {
    const std::string_view piece = vocab.piece(TokenId{i});
    RZ_CHECK_OK(check_piece(piece, scores[static_cast<size_t>(i)], i));
    // For a duplicate piece, only the one that find() returns counts.
    if (piece.empty() || vocab.find(piece) != TokenId{i} || !is_mergeable(vocab.type(TokenId{i}))) continue;
    append_rules(vocab, piece, ranks[static_cast<size_t>(i)], rules);
  }
  BpeOptions options;
  options.byte_fallback = true;
  options.fuse_unk = true;
  options.unk_id = unk_id;
  return make_ranked_bpe_model(vocab, rules, options);
}

}  // namespace realizar::text
