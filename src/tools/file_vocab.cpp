#include "tools/folder_vocab.h"

#include <optional>
#include <string>
#include <string_view>

#include "base/try.h"
#include "formats/end_claims.h"

namespace realizar {
namespace {

using text::TokenType;

constexpr const char* kVocabPrefix = "tokenizer.ggml.";

std::optional<uint32_t> id_of(const Metadata& metadata, size_t n_tokens, const char* name) {
  for (const int64_t id : ids_of_key(metadata, std::string(kVocabPrefix) + name)) {
    if (id >= 0 && static_cast<uint64_t>(id) < n_tokens) return static_cast<uint32_t>(id);
  }
  return std::nullopt;
}

std::optional<bool> flag_of(const Metadata& metadata, const char* name) {
  const auto flag = metadata.get_bool(std::string(kVocabPrefix) + name);
  return flag.ok() ? *flag : std::nullopt;
}

}  // namespace

Result<FolderVocab> read_file_vocab(const Metadata& metadata) {
  FolderVocab vocab;
  RZ_TRY(const auto model, metadata.get_string("tokenizer.ggml.model"));
  vocab.model = model.value_or("");
  RZ_TRY(const auto pre, metadata.get_string("tokenizer.ggml.pre"));
  vocab.pre = pre.value_or("");
  RZ_TRY(const auto tokens, metadata.get_strings("tokenizer.ggml.tokens"));
  for (const std::string_view token : tokens.value_or(std::vector<std::string_view>()))
    vocab.tokens.emplace_back(token);
  RZ_TRY(const auto merges, metadata.get_strings("tokenizer.ggml.merges"));
  for (const std::string_view merge : merges.value_or(std::vector<std::string_view>()))
    vocab.merges.emplace_back(merge);
  RZ_TRY(const auto types, metadata.get_ints("tokenizer.ggml.token_type"));
  if (types) vocab.types.assign(types->begin(), types->end());
  vocab.types.resize(vocab.tokens.size(), static_cast<int32_t>(TokenType::kNormal));
  RZ_TRY(const auto scores, metadata.get_doubles("tokenizer.ggml.scores"));
  if (scores) vocab.scores.assign(scores->begin(), scores->end());
  if (!vocab.scores.empty()) vocab.scores.resize(vocab.tokens.size());
  RZ_TRY(const auto charsmap, metadata.get_ints("tokenizer.ggml.precompiled_charsmap"));
  if (charsmap) {
    for (const int64_t byte : *charsmap) vocab.charsmap.push_back(static_cast<uint8_t>(byte & 0xFF));
  }
  const size_t n_tokens = vocab.tokens.size();
  vocab.bos = id_of(metadata, n_tokens, "bos_token_id"), vocab.eos = id_of(metadata, n_tokens, "eos_token_id"),
  vocab.eot = id_of(metadata, n_tokens, "eot_token_id");
  vocab.eom = id_of(metadata, n_tokens, "eom_token_id");
  vocab.unk = id_of(metadata, n_tokens, "unknown_token_id"),
  vocab.sep = id_of(metadata, n_tokens, "seperator_token_id");
  vocab.pad = id_of(metadata, n_tokens, "padding_token_id"), vocab.cls = id_of(metadata, n_tokens, "cls_token_id"),
  vocab.mask = id_of(metadata, n_tokens, "mask_token_id");
  vocab.add_bos = flag_of(metadata, "add_bos_token"), vocab.add_eos = flag_of(metadata, "add_eos_token");
  vocab.add_space_prefix = flag_of(metadata, "add_space_prefix");
  vocab.remove_extra_whitespaces = flag_of(metadata, "remove_extra_whitespaces");
  vocab.lowercase = flag_of(metadata, "normalizer.lowercase");
  vocab.strip_accents = flag_of(metadata, "normalizer.strip_accents");
  return vocab;
}

}  // namespace realizar
