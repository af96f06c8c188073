#include "text/tokenizer/spm_parts.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/try.h"
#include "text/tokenizer/bpe_model.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/gguf_vocab.h"
#include "text/tokenizer/plain_types.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

// Removes spaces at the ends and all but one in a run.
void remove_extra_spaces(std::string& text) {
  size_t n = 0;
  for (const char c : text) {
    if (c == ' ' && (n == 0 || text[n - 1] == ' ')) continue;
    text[n++] = c;
  }
  if (n > 0 && text[n - 1] == ' ') --n;
  text.resize(n);
}

Result<std::unique_ptr<MergeModel>> make_model(SpmDescription& description, const Vocabulary& vocab) {
  if (!description.unigram) return make_spm_bpe_model(vocab, description.scores, description.unk);
  UnigramOptions options;
  options.scores = std::move(description.scores);
  options.unk_id = description.unk;
  options.byte_fallback = description.byte_fallback;
  options.float_sums = options.favor_user_defined = true;
  return make_unigram_model(vocab, std::move(options));
}

// Spaces in the content become U+2581 as in the text, but no prefix is added.
std::string normalized_content(const SpmDescription& description, std::string_view content) {
  SpmWhitespace inside = description.whitespace;
  inside.add_prefix = inside.remove_extra = false;
  std::string text(content);
  make_spm_normalizer(nullptr, inside)(text, false);
  return text;
}

void set_added(const SpmDescription& description, TokenizerParts& parts) {
  std::vector<AddedToken> control, user_defined;
  for (int32_t i = 0; i < parts.vocab->size(); ++i) {
    const TokenId id{i};
    const TokenType type = parts.vocab->type(id);
    const std::string_view piece = parts.vocab->piece(id);
    if (type == TokenType::kControl || type == TokenType::kUnknown) {
      control.push_back({.id = id, .content = std::string(piece), .special = true});
    } else if (type == TokenType::kUserDefined) {
      user_defined.push_back({.id = id, .content = normalized_content(description, piece)});
    }
  }
  parts.added = AddedTokenMatcher(std::move(control));
  parts.added_normalized = AddedTokenMatcher(std::move(user_defined));
}

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

Normalizer make_spm_normalizer(Normalizer charsmap, SpmWhitespace options) {
  return [charsmap = std::move(charsmap), options](std::string& segment, bool at_start) {
    if (charsmap) charsmap(segment, at_start);
    if (options.remove_extra) remove_extra_spaces(segment);
    if (segment.empty()) return;
    const std::string_view space = options.escape ? kMetaspace : " ";
    std::string out;
    out.reserve(segment.size() + segment.size() / 2);
    if (options.add_prefix && (at_start || options.prefix_every_segment)) out += space;
    for (const char c : segment) {
      if (c == ' ') {
        out += space;
      } else {
        out += c;
      }
    }
    segment = std::move(out);
  };
}

Result<TokenizerParts> build_spm(SpmDescription description) {
  if (description.pieces.empty()) return format_error("the vocabulary is empty", "pieces");
  TokenizerParts parts;
  const std::vector<std::string_view> pieces(description.pieces.begin(), description.pieces.end());
  if (!description.unigram || description.byte_fallback) set_byte_types(pieces, description.types);
  set_plain_types(pieces, {}, Units::kEscapedCharacters, description.unk, description.types);
  if (!description.unk) description.unk = first_unknown(description.types);
  parts.vocab = std::make_unique<Vocabulary>(pieces, description.types);
  RZ_TRY(Normalizer charsmap, make_charsmap_normalizer(description.charsmap));
  parts.normalizer = make_spm_normalizer(std::move(charsmap), description.whitespace);
  RZ_TRY(parts.model, make_model(description, *parts.vocab));
  set_added(description, parts);
  for (int32_t i = 0; i < parts.vocab->size(); ++i) {
    parts.decoded.add(decode_metaspace_piece(parts.vocab->piece(TokenId{i}), parts.vocab->type(TokenId{i})));
  }
  parts.strips_leading_space = description.whitespace.add_prefix || description.whitespace.remove_extra;
  parts.bos = description.bos;
  parts.eos = description.eos;
  parts.end_tokens = find_end_tokens(*parts.vocab, parts.eos, description.eot);
  if (description.add_bos && parts.bos) parts.post.prefix.push_back(*parts.bos);
  if (description.add_eos && parts.eos) parts.post.suffix.push_back(*parts.eos);
  return parts;
}

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
