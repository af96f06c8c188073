#include "api/text_assets.h"

#include <system_error>
#include <utility>

#include "api/vocab.h"
#include "base/try.h"
#include "formats/gguf_kind.h"
#include "formats/hf_folder.h"
#include "formats/tokenizer_files.h"
#include "text/tokenizer/json_forms.h"

namespace realizar {
namespace {

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

}  // namespace realizar
