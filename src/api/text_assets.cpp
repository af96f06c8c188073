#include "api/text_assets.h"

#include "api/vocab.h"

namespace realizar {
namespace {

constexpr const char* kGgufTemplateKey = "tokenizer.chat_template";

std::string piece_of(const text::Tokenizer& tokenizer, std::optional<TokenId> id) {
  return id ? std::string(tokenizer.piece(*id)) : std::string();
}

Result<text::Tokenizer> read_tokenizer(const ModelFile& file) {
  if (file.format() == FileFormat::kGguf) {
    RZ_TRY(const text::GgufVocab vocab, read_gguf_vocab(file.metadata()));
    return text::Tokenizer::from_gguf(vocab);
  }
  RZ_TRY(const SideFiles side, file.side_files());
  const std::string config = side.tokenizer_config_json.value_or("");
  if (side.tokenizer_json) return text::Tokenizer::from_hf(*side.tokenizer_json, config);
  if (side.tokenizer_model) return text::Tokenizer::from_sentencepiece(*side.tokenizer_model, config);
  return not_found("there is neither tokenizer.json nor tokenizer.model", file.path().string());
}

}  // namespace

Result<text::Tokenizer> load_tokenizer(const ModelFile& file) {
  auto tokenizer = file.checked(read_tokenizer(file));
  if (tokenizer.ok()) return tokenizer;
  Error error = std::move(tokenizer).error();
  const std::string path = file.path().string();
  if (!error.message.starts_with(path)) error.message.insert(0, path + ": ");
  return error;
}

Result<std::optional<ChatTemplateSource>> load_chat_template(const ModelFile& file, const text::Tokenizer& tokenizer) {
  std::optional<std::string> source;
  if (file.format() == FileFormat::kGguf) {
    RZ_TRY(source, file.metadata().get_string(kGgufTemplateKey));
  } else {
    RZ_TRY(SideFiles side, file.side_files());
    source = std::move(side.chat_template);
  }
  if (!source) return std::optional<ChatTemplateSource>();
  return std::optional(ChatTemplateSource{std::move(*source), piece_of(tokenizer, tokenizer.bos()),
                                          piece_of(tokenizer, tokenizer.eos())});
}

}  // namespace realizar
