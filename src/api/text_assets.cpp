#include "api/text_assets.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <system_error>
#include <utility>

#include "base/try.h"
#include "formats/end_claims.h"
#include "formats/gguf_kind.h"
#include "formats/hf_folder.h"
#include "formats/tokenizer_files.h"
#include "text/tokenizer/json_forms.h"

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

constexpr const char* kTokenizerModel = "tokenizer.model";
constexpr const char* kRwkvVocab = "rwkv_vocab_v20230424.txt";
// For RWKV's World models, llama.cpp's converter may write the name of a template that is built into llama.cpp; this is
// that template's result.
constexpr std::string_view kRwkvWorldName = "rwkv-world";
constexpr const char* kRwkvWorld =
    "{% for message in messages %}{{ message['role']|capitalize + ': ' + message['content']|trim + '\\n\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}";

std::string piece_of(const text::Tokenizer& tokenizer, std::optional<TokenId> id) {
  return id ? std::string(tokenizer.piece(*id)) : std::string();
}

Result<text::Tokenizer> read_tokenizer(const SideFiles& side, const std::string& path) {
  const std::string config = side.tokenizer_config_json.value_or("");
  if (side.tokenizer_json) return text::Tokenizer::from_hf(*side.tokenizer_json, config);
  if (side.tokenizer_model) return text::Tokenizer::from_sentencepiece(*side.tokenizer_model, config);
  if (side.rwkv_vocab) return text::Tokenizer::from_rwkv(*side.rwkv_vocab, config);
  RZ_TRY(const auto form, text::json_form_of({.tekken = side.tekken_json,
                                              .vocab = side.vocab_json,
                                              .merges = side.merges_txt,
                                              .config_json = config,
                                              .model_type = side.model_type}));
  if (form) return text::Tokenizer::from_hf(form->tokenizer, form->config);
  return not_found(
      "there is neither tokenizer.json nor tokenizer.model, nor tekken.json, nor vocab.json with merges.txt", path);
}

Result<text::Tokenizer> read_tokenizer(const ModelFile& file) {
  if (file.format() == FileFormat::kGguf) {
    RZ_TRY(const text::GgufVocab vocab, read_gguf_vocab(file.metadata()));
    return text::Tokenizer::from_gguf(vocab);
  }
  RZ_TRY(const SideFiles side, file.side_files());
  return read_tokenizer(side, file.path().string());
}

Result<text::Tokenizer> with_path(Result<text::Tokenizer> tokenizer, const std::string& path) {
  if (tokenizer.ok()) return tokenizer;
  Error error = std::move(tokenizer).error();
  if (!error.message.starts_with(path)) error.message.insert(0, path + ": ");
  return error;
}

std::optional<ChatTemplateSource> with_tokens(ChatTemplates templates, const text::Tokenizer& tokenizer) {
  const NamedTemplate* usual = find_template(templates, kDefaultTemplate);
  const NamedTemplate* for_tools = find_template(templates, kToolTemplate);
  if (usual == nullptr && for_tools == nullptr) return std::nullopt;
  return ChatTemplateSource{usual == nullptr ? "" : usual->source, piece_of(tokenizer, tokenizer.bos()),
                            piece_of(tokenizer, tokenizer.eos()), for_tools == nullptr ? "" : for_tools->source,
                            std::move(templates)};
}

// A folder with config.json but without a tokenizer is left to ModelFile::open, as is the folder of a .gguf file: its
// errors name what is missing.
bool has_side_files(const std::filesystem::path& folder) {
  std::error_code error;
  if (!has_vocabulary(folder) || !std::filesystem::is_directory(folder, error)) return false;
  return std::filesystem::exists(folder / "config.json", error) || !find_gguf(folder).ok();
}

Result<TextAssets> from_side_files(SideFiles side, const std::string& path) {
  RZ_TRY(text::Tokenizer tokenizer, with_path(read_tokenizer(side, path), path));
  auto chat_template = with_tokens(std::move(side.chat_templates), tokenizer);
  return TextAssets{std::move(tokenizer), std::move(chat_template)};
}

}  // namespace

Result<text::Tokenizer> load_tokenizer(const ModelFile& file) {
  return with_path(file.checked(read_tokenizer(file)), file.path().string());
}

Result<std::optional<ChatTemplateSource>> load_chat_template(const ModelFile& file, const text::Tokenizer& tokenizer) {
  if (file.format() == FileFormat::kGguf) {
    if (const auto usual = file.metadata().get_string(kGgufTemplateKey); !usual.ok()) return usual.error();
    ChatTemplates templates = gguf_templates(file.metadata());
    for (NamedTemplate& one : templates) {
      if (one.source == kRwkvWorldName) one.source = kRwkvWorld;
    }
    return with_tokens(std::move(templates), tokenizer);
  }
  RZ_TRY(SideFiles side, file.side_files());
  return with_tokens(std::move(side.chat_templates), tokenizer);
}

Result<TextAssets> open_text_assets(const std::filesystem::path& path) {
  if (has_side_files(path)) {
    RZ_TRY(SideFiles side, read_side_files(path));
    return from_side_files(std::move(side), path.string());
  }
  std::error_code error;
  if (is_vocabulary_file(path.filename()) && std::filesystem::exists(path, error)) {
    RZ_TRY(SideFiles side, read_side_files(path.parent_path()));
    const bool is_rwkv = path.filename() == kRwkvVocab;
    if (is_rwkv || path.filename() == kTokenizerModel) side.tokenizer_json.reset();
    if (is_rwkv) side.tokenizer_model.reset();
    return from_side_files(std::move(side), path.string());
  }
  RZ_TRY(const ModelFile file, ModelFile::open(path));
  RZ_TRY(text::Tokenizer tokenizer, load_tokenizer(file));
  RZ_TRY(auto chat_template, load_chat_template(file, tokenizer));
  return TextAssets{std::move(tokenizer), std::move(chat_template)};
}

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
