// Reads the text side of a model file and no weights: tokenizer and chat template, wherever the format keeps them (GGUF
// metadata, or the files of a Hugging Face folder).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "formats/model_file.h"
#include "realizar/result.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar {

// Errors: NotFound where the file has no vocabulary; the tokenizer's own.
Result<text::Tokenizer> load_tokenizer(const ModelFile& file);

// The template's source, and the spellings of bos and eos that it may print; nullopt where the model has none.
struct ChatTemplateSource {
  std::string source;
  std::string bos_token, eos_token;
};
Result<std::optional<ChatTemplateSource>> load_chat_template(const ModelFile& file, const text::Tokenizer& tokenizer);

struct TextAssets {
  text::Tokenizer tokenizer;
  std::optional<ChatTemplateSource> chat_template;
};
// Needs no weights: `path` is whatever ModelFile::open takes, or a folder that has tokenizer.json, tokenizer.model or
// rwkv_vocab_v20230424.txt, or one of these files. Errors: those of ModelFile::open, and the tokenizer's own.
Result<TextAssets> open_text_assets(const std::filesystem::path& path);

}  // namespace realizar
