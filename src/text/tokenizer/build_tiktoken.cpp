// GLM-4's tokenizer.model: tiktoken's ranks, one token per line, its bytes in base64 and then its rank, which is its
// id. Among adjacent parts of a word, the pair whose joined bytes have the lowest rank is joined first (tiktoken's
// byte_pair_encode), and a word that is a token stays whole.
#include <algorithm>
#include <charconv>
#include <utility>

#include "base/encodings.h"
#include "base/printable.h"
#include "base/try.h"
#include "base/utf8.h"
#include "text/tokenizer/bpe_model.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/byte_spelling.h"
#include "text/tokenizer/gguf_vocab.h"
#include "text/tokenizer/hf_json.h"
#include "text/tokenizer/pre_tokenizer_table.h"

namespace realizar::text {
namespace {

constexpr const char* kRanksFile = "tokenizer.model";
constexpr size_t kMaxRanks = size_t{1} << 20, kMaxRankedBytes = 512, kMaxGlm4Tokens = 65536;
// The tokenizer's own code adds these after the ranks, whatever tokenizer_config.json says.
constexpr const char* kGlm4Tokens[] = {"<|endoftext|>",
                                       "[MASK]",
                                       "[gMASK]",
                                       "[sMASK]",
                                       "<sop>",
                                       "<eop>",
                                       "<|system|>",
                                       "<|user|>",
                                       "<|assistant|>",
                                       "<|observation|>",
                                       "<|begin_of_image|>",
                                       "<|end_of_image|>",
                                       "<|begin_of_video|>",
                                       "<|end_of_video|>"};
constexpr size_t kGlm4End = 0, kGlm4Mask = 2, kGlm4Start = 4, kGlm4User = 7;

Error bad_rank(size_t n_line, const std::string& why) {
  return format_error(std::string(kRanksFile) + ": line " + std::to_string(n_line) + ": " + why, kRanksFile);
}

// tokens[rank]; ranks that the file omits are empty.
Status read_rank(std::string_view line, size_t n_line, std::vector<std::string>& tokens) {
  const size_t space = line.find(' ');
  const std::string_view digits = space == std::string_view::npos ? "" : line.substr(space + 1);
  size_t rank = kMaxRanks;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  auto bytes = decode_base64(line.substr(0, space));
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() || rank >= kMaxRanks || !bytes) {
    return bad_rank(n_line, "expected a token in base64 and a rank below " + std::to_string(kMaxRanks) + ", got '" +
                                shown(line) + "'");
  }
  if (bytes->empty() || bytes->size() > kMaxRankedBytes) {
    return bad_rank(n_line, "expected a token of 1 to " + std::to_string(kMaxRankedBytes) + " bytes, got " +
                                std::to_string(bytes->size()));
  }
  if (rank >= tokens.size()) tokens.resize(rank + 1);
  if (!tokens[rank].empty()) return bad_rank(n_line, "the rank " + std::to_string(rank) + " is taken");
  tokens[rank] = std::move(*bytes);
  return {};
}

Result<std::vector<std::string>> read_ranks(std::string_view file) {
  std::vector<std::string> tokens;
  for (size_t at = 0, n_line = 1; at < file.size(); ++n_line) {
    const size_t end = std::min(file.find('\n', at), file.size());
    std::string_view line = file.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = end + 1;
    if (!line.empty()) RZ_CHECK_OK(read_rank(line, n_line, tokens));
  }
  for (size_t rank = 0; rank < tokens.size(); ++rank) {
    if (!tokens[rank].empty()) continue;
    return format_error(std::string(kRanksFile) + ": the rank " + std::to_string(rank) + " is missing", kRanksFile);
  }
  return tokens;
}

// Special tokens, indexed by id minus the number of ranks.
struct Glm4Tokens {
  std::vector<std::string> pieces{std::begin(kGlm4Tokens), std::end(kGlm4Tokens)};
  std::vector<TokenType> types = std::vector<TokenType>(std::size(kGlm4Tokens), TokenType::kControl);
};

// CodeGeeX4 has additional ones, which its tokenizer_config.json lists.
Status add_glm4_token(std::string_view key, const element& entry, size_t n_ranks, Glm4Tokens& special) {
  size_t id = 0;
  const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
  if (parsed.ec != std::errc() || id < n_ranks || id >= n_ranks + kMaxGlm4Tokens) {
    return format_error(
        "added_tokens_decoder: expected ids from " + std::to_string(n_ranks) + ", got '" + shown(key) + "'",
        "added_tokens_decoder");
  }
  const size_t i = id - n_ranks;
  if (i >= special.pieces.size()) {
    special.pieces.resize(i + 1);
    special.types.resize(i + 1, TokenType::kUnused);
  }
  special.pieces[i] = json_string(entry, "content");
  special.types[i] = json_bool(entry, "special", false) ? TokenType::kControl : TokenType::kUserDefined;
  return {};
}

Result<Glm4Tokens> read_glm4_tokens(const element& config, size_t n_ranks) {
  Glm4Tokens special;
  simdjson::dom::object added;
  if (config["added_tokens_decoder"].get(added) != simdjson::SUCCESS) return special;
  for (const auto [key, entry] : added) RZ_CHECK_OK(add_glm4_token(key, entry, n_ranks, special));
  return special;
}

// Every way to split a token into two others, at the token's rank.
std::vector<RankedRule> rules_of(const Vocabulary& vocab, size_t n_ranks) {
  const auto is_ranked = [&](std::string_view piece) {
    const auto id = vocab.find(piece);
    return id && static_cast<size_t>(to_index(*id)) < n_ranks;
  };
  std::vector<RankedRule> rules;
  for (size_t rank = 0; rank < n_ranks; ++rank) {
    const std::string_view piece = vocab.piece(TokenId{static_cast<int32_t>(rank)});
    for (size_t i = 1; i < piece.size(); ++i) {
      if (continues_character(piece[i]) || !is_ranked(piece.substr(0, i)) || !is_ranked(piece.substr(i))) continue;
      rules.push_back({{piece.substr(0, i), piece.substr(i)}, static_cast<uint32_t>(rank)});
    }
  }
  return rules;
}

Status add_vocabulary(const std::vector<std::string>& tokens, const Glm4Tokens& special, TokenizerParts& parts) {
  std::vector<std::string> spelled(tokens.size());
  for (size_t rank = 0; rank < tokens.size(); ++rank) {
    append_spelled(spelled[rank], tokens[rank]);
    parts.decoded.add(tokens[rank]);
  }
  std::vector<std::string_view> pieces(spelled.begin(), spelled.end());
  std::vector<TokenType> types(tokens.size(), TokenType::kNormal);
  for (size_t i = 0; i < special.pieces.size(); ++i) {
    pieces.push_back(special.pieces[i]);
    types.push_back(special.types[i]);
    parts.decoded.add(special.pieces[i]);
  }
  parts.vocab = std::make_unique<Vocabulary>(pieces, std::move(types));
  if (const auto twice = parts.vocab->duplicate()) {
    return format_error(std::string(kRanksFile) + ": '" + shown(parts.vocab->piece(*twice)) + "' (id " +
                            std::to_string(to_index(*twice)) + ") is repeated",
                        kRanksFile);
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (parts.vocab->find(spell_byte(static_cast<uint8_t>(byte)))) continue;
    return format_error(std::string(kRanksFile) + ": the byte " + std::to_string(byte) + " is not a token", kRanksFile);
  }
  return {};
}

}  // namespace

Result<TokenizerParts> build_tiktoken(std::string_view ranks, const simdjson::dom::element& config) {
  RZ_TRY(const std::vector<std::string> tokens, read_ranks(ranks));
  RZ_TRY(const Glm4Tokens special, read_glm4_tokens(config, tokens.size()));
  TokenizerParts parts;
  RZ_CHECK_OK(add_vocabulary(tokens, special, parts));
  BpeOptions options;
  options.byte_level = true;
  options.ignore_merges = true;
  RZ_TRY(parts.model, make_ranked_bpe_model(*parts.vocab, rules_of(*parts.vocab, tokens.size()), options));
  RZ_TRY(parts.pre_tokenizer, build_named_pre_tokenizer(*find_pre_tokenizer("chatglm-bpe")));
  parts.added = find_added_tokens(*parts.vocab);
  parts.keeps_invalid_utf8 = true;
  const auto id_of = [&](size_t i) { return TokenId{static_cast<int32_t>(tokens.size() + i)}; };
  parts.eos = id_of(kGlm4End);
  parts.end_tokens = find_end_tokens(*parts.vocab, parts.eos, std::nullopt);
  parts.end_tokens.push_back(id_of(kGlm4User));
  parts.post.prefix = {id_of(kGlm4Mask), id_of(kGlm4Start)};
  return parts;
}

}  // namespace realizar::text
