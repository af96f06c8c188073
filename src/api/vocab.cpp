#include "api/vocab.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/try.h"
#include "formats/end_claims.h"

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

constexpr const char* kSpecialKeys[] = {"tokenizer.ggml.bos_token_id",       "tokenizer.ggml.unknown_token_id",
                                        "tokenizer.ggml.seperator_token_id",  // misspelled in real files
                                        "tokenizer.ggml.separator_token_id", "tokenizer.ggml.padding_token_id",
                                        "tokenizer.ggml.cls_token_id",       "tokenizer.ggml.mask_token_id"};

bool is_in_vocabulary(int64_t id, size_t n_tokens) {
  return id >= 0 && static_cast<uint64_t>(id) < n_tokens;
}

// The first of the key's ids that is in the vocabulary; makers write ids beyond it for tokens that do not exist.
std::optional<int64_t> read_id(const Metadata& metadata, std::string_view key, size_t n_tokens) {
  for (const int64_t id : ids_of_key(metadata, key)) {
    if (is_in_vocabulary(id, n_tokens)) return id;
  }
  return std::nullopt;
}

void read_ids(const Metadata& metadata, text::GgufVocab& vocab) {
  const auto id_of = [&](std::string_view key) { return read_id(metadata, key, vocab.tokens.size()); };
  vocab.bos_id = id_of("tokenizer.ggml.bos_token_id");
  vocab.eos_id = id_of("tokenizer.ggml.eos_token_id");
  vocab.eot_id = id_of("tokenizer.ggml.eot_token_id");
  vocab.unk_id = id_of("tokenizer.ggml.unknown_token_id");
  vocab.sep_id = id_of("tokenizer.ggml.seperator_token_id");
  if (!vocab.sep_id) vocab.sep_id = id_of("tokenizer.ggml.separator_token_id");
  vocab.pad_id = id_of("tokenizer.ggml.padding_token_id");
  vocab.cls_id = id_of("tokenizer.ggml.cls_token_id");
  vocab.mask_id = id_of("tokenizer.ggml.mask_token_id");
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
  read_ids(metadata, vocab);
  return vocab;
}

std::vector<std::string> notes_of_special_ids(const Metadata& metadata, size_t n_tokens) {
  std::vector<std::string> notes;
  for (const char* key : kSpecialKeys) {
    const MetaValue* value = metadata.find(key);
    if (value == nullptr) continue;
    const std::vector<int64_t> ids = ids_of_key(metadata, key);
    const bool are_right =
        !ids.empty() && std::ranges::all_of(ids, [&](int64_t id) { return is_in_vocabulary(id, n_tokens); });
    if (!are_right) {
      notes.push_back(fmt::format("{}: {} is left out: expected an id below {}", key, to_string(*value), n_tokens));
    }
  }
  return notes;
}

}  // namespace realizar
