#include "api/vocab.h"

#include <limits>
#include <utility>

#include "base/try.h"

namespace realizar {
namespace {

Result<std::vector<int32_t>> read_types(const Metadata& metadata) {
  RZ_TRY(const auto types, metadata.get_ints("tokenizer.ggml.token_type"));
  std::vector<int32_t> out;
  for (int64_t type : types.value_or(std::vector<int64_t>())) {
    const bool fits = type >= 0 && type <= std::numeric_limits<int32_t>::max();
    out.push_back(fits ? static_cast<int32_t>(type) : 0);
  }
  return out;
}

Result<std::vector<float>> read_scores(const Metadata& metadata) {
  RZ_TRY(const auto scores, metadata.get_doubles("tokenizer.ggml.scores"));
  std::vector<float> out;
  for (double score : scores.value_or(std::vector<double>())) out.push_back(static_cast<float>(score));
  return out;
}

Result<std::vector<uint8_t>> read_charsmap(const Metadata& metadata) {
  RZ_TRY(const auto bytes, metadata.get_ints("tokenizer.ggml.precompiled_charsmap"));
  std::vector<uint8_t> out;
  for (int64_t byte : bytes.value_or(std::vector<int64_t>())) out.push_back(static_cast<uint8_t>(byte & 0xFF));
  return out;
}

Status read_ids(const Metadata& metadata, text::GgufVocab& vocab) {
  RZ_TRY(vocab.bos_id, metadata.get_int("tokenizer.ggml.bos_token_id"));
  RZ_TRY(vocab.eos_id, metadata.get_int("tokenizer.ggml.eos_token_id"));
  RZ_TRY(vocab.eot_id, metadata.get_int("tokenizer.ggml.eot_token_id"));
  RZ_TRY(vocab.unk_id, metadata.get_int("tokenizer.ggml.unknown_token_id"));
  // Files in the wild use the misspelt key for the separator.
  RZ_TRY(vocab.sep_id, metadata.get_int("tokenizer.ggml.seperator_token_id"));
  if (!vocab.sep_id) {
    RZ_TRY(vocab.sep_id, metadata.get_int("tokenizer.ggml.separator_token_id"));
  }
  RZ_TRY(vocab.pad_id, metadata.get_int("tokenizer.ggml.padding_token_id"));
  RZ_TRY(vocab.cls_id, metadata.get_int("tokenizer.ggml.cls_token_id"));
  RZ_TRY(vocab.mask_id, metadata.get_int("tokenizer.ggml.mask_token_id"));
  return {};
}

}  // namespace

Result<text::GgufVocab> read_gguf_vocab(const Metadata& metadata) {
  text::GgufVocab vocab;
  RZ_TRY(const auto model, metadata.get_string("tokenizer.ggml.model"));
  if (!model) return not_found("tokenizer.ggml.model: the file has no vocabulary", "tokenizer.ggml.model");
  vocab.model = *model;
  RZ_TRY(const auto pre, metadata.get_string("tokenizer.ggml.pre"));
  vocab.pre = pre.value_or("");
  RZ_TRY(auto tokens, metadata.get_strings("tokenizer.ggml.tokens"));
  if (!tokens) return not_found("tokenizer.ggml.tokens: the file has no vocabulary", "tokenizer.ggml.tokens");
  vocab.tokens = std::move(*tokens);
  RZ_TRY(auto merges, metadata.get_strings("tokenizer.ggml.merges"));
  if (merges) vocab.merges = std::move(*merges);
  RZ_TRY(vocab.scores, read_scores(metadata));
  RZ_TRY(vocab.token_types, read_types(metadata));
  RZ_TRY(vocab.precompiled_charsmap, read_charsmap(metadata));
  RZ_TRY(vocab.add_bos, metadata.get_bool("tokenizer.ggml.add_bos_token"));
  RZ_TRY(vocab.add_eos, metadata.get_bool("tokenizer.ggml.add_eos_token"));
  RZ_TRY(vocab.add_sep, metadata.get_bool("tokenizer.ggml.add_sep_token"));
  RZ_TRY(vocab.add_space_prefix, metadata.get_bool("tokenizer.ggml.add_space_prefix"));
  RZ_TRY(vocab.remove_extra_whitespaces, metadata.get_bool("tokenizer.ggml.remove_extra_whitespaces"));
  RZ_TRY(vocab.lowercase, metadata.get_bool("tokenizer.ggml.normalizer.lowercase"));
  RZ_TRY(vocab.strip_accents, metadata.get_bool("tokenizer.ggml.normalizer.strip_accents"));
  RZ_CHECK_OK(read_ids(metadata, vocab));
  return vocab;
}

}  // namespace realizar
