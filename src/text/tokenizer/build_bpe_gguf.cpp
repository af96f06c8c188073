// A BPE vocabulary from GGUF metadata: tokens, types, merges and the name of a pre-tokenizer.
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/bpe_model.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/byte_spelling.h"
#include "text/tokenizer/gguf_vocab.h"
#include "text/tokenizer/normalizers.h"
#include "text/tokenizer/plain_types.h"
#include "text/tokenizer/pre_tokenizer_table.h"
#include "text/tokenizer/pre_tokenizers.h"

namespace realizar::text {
namespace {

// A rule is two pieces separated by a space; a piece itself may begin with a space.
Result<std::vector<MergeRule>> read_merges(const GgufVocab& vocab) {
  std::vector<MergeRule> merges;
  merges.reserve(vocab.merges.size());
  for (std::string_view merge : vocab.merges) {
    const size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      return format_error("tokenizer.ggml.merges: entry " + std::to_string(merges.size()) + " ('" + shown(merge) +
                              "'): expected two pieces with a space between",
                          "tokenizer.ggml.merges");
    }
    merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  return merges;
}

std::string decode_piece(std::string_view piece, TokenType type, bool byte_level) {
  if (byte_level) {
    if (type != TokenType::kNormal && type != TokenType::kByte) return std::string(piece);
    return unspell_bytes(piece).value_or(std::string(piece));
  }
  return decode_metaspace_piece(piece, type);
}

StringTable decode_all(const Vocabulary& vocab, bool byte_level) {
  StringTable decoded;
  for (int32_t i = 0; i < vocab.size(); ++i) {
    decoded.add(decode_piece(vocab.piece(TokenId{i}), vocab.type(TokenId{i}), byte_level));
  }
  return decoded;
}

// bos, eos, and the tokens put around a text.
Status read_special_ids(const GgufVocab& vocab, const NamedPreTokenizer& named, TokenizerParts& parts) {
  const size_t n = vocab.tokens.size();
  RZ_TRY(parts.bos, read_token_id(vocab.bos_id, n, "tokenizer.ggml.bos_token_id"));
  RZ_TRY(parts.eos, read_token_id(vocab.eos_id, n, "tokenizer.ggml.eos_token_id"));
  RZ_TRY(const std::optional<TokenId> eot, read_token_id(vocab.eot_id, n, "tokenizer.ggml.eot_token_id"));
  parts.end_tokens = find_end_tokens(*parts.vocab, parts.eos, eot);
  if (vocab.add_bos.value_or(named.add_bos) && parts.bos) parts.post.prefix.push_back(*parts.bos);
  if (vocab.add_eos.value_or(false) && parts.eos) parts.post.suffix.push_back(*parts.eos);
  return {};
}

}  // namespace

Result<PreTokenizer> build_named_pre_tokenizer(const NamedPreTokenizer& named) {
  std::vector<PreTokenizer> steps;
  for (std::string_view pattern : named.regexes) {
    RZ_TRY(auto step, make_regex_split(pattern, SplitBehavior::kIsolated, false));
    steps.push_back(std::move(step));
  }
  return make_sequence(std::move(steps));
}

Result<TokenizerParts> build_bpe_gguf(const GgufVocab& vocab) {
  const std::string_view pre = vocab.model == "gemma4" ? std::string_view("gemma4") : vocab.pre;
  const NamedPreTokenizer* named = find_pre_tokenizer(pre);
  if (named == nullptr) {
    return unsupported("tokenizer.ggml.pre: pre-tokenizer '" + shown(vocab.pre) + "' is not built",
                       "tokenizer.ggml.pre");
  }
  if (vocab.tokens.empty())
    return format_error("tokenizer.ggml.tokens: the vocabulary is empty", "tokenizer.ggml.tokens");
  RZ_TRY(std::vector<TokenType> types, read_token_types(vocab));
  RZ_TRY(const std::optional<TokenId> unk,
         read_token_id(vocab.unk_id, vocab.tokens.size(), "tokenizer.ggml.unknown_token_id"));
  RZ_TRY(const std::vector<MergeRule> merges, read_merges(vocab));
  if (!named->byte_level) set_byte_types(vocab.tokens, types);
  set_plain_types(vocab.tokens, merges, named->byte_level ? Units::kBytes : Units::kEscapedCharacters, unk, types);

  TokenizerParts parts;
  parts.vocab = std::make_unique<Vocabulary>(vocab.tokens, std::move(types));
  if (const auto twice = parts.vocab->duplicate()) {
    return format_error("tokenizer.ggml.tokens: '" + shown(parts.vocab->piece(*twice)) + "' (id " +
                            std::to_string(to_index(*twice)) + ") is repeated",
                        "tokenizer.ggml.tokens");
  }
  BpeOptions options;
  options.byte_level = named->byte_level;
  options.ignore_merges = named->ignore_merges;
  options.byte_fallback = !named->byte_level;
  options.unk_id = unk;
  RZ_TRY(parts.model, make_bpe_model(*parts.vocab, merges, options));
  RZ_TRY(parts.pre_tokenizer, build_named_pre_tokenizer(*named));
  if (!named->byte_level) parts.normalizer = make_replace(std::string(" "), std::string(kMetaspace));
  parts.added = find_added_tokens(*parts.vocab);
  parts.decoded = decode_all(*parts.vocab, named->byte_level);
  parts.keeps_invalid_utf8 = named->byte_level || has_all_bytes(*parts.vocab);
  RZ_CHECK_OK(read_special_ids(vocab, *named, parts));
  return parts;
}

}  // namespace realizar::text
