// From a model file to its text side, with no weight touched: tokenizer and chat template, wherever the format keeps
// them (GGUF metadata, or the files of a Hugging Face folder).
#pragma once

#include <optional>
#include <string>

#include "formats/model_file.h"
#include "realizar/result.h"
#include "text/tokenizer.h"

namespace realizar {

// Errors: NotFound where the file has no vocabulary; the tokenizer's own.
Result<text::Tokenizer> load_tokenizer(const ModelFile& file);

// The template's source, and the spellings of bos and eos that it may print; nullopt where the model has none.
struct ChatTemplateSource {
  std::string source;
  std::string bos_token, eos_token;
};
Result<std::optional<ChatTemplateSource>> load_chat_template(const ModelFile& file, const text::Tokenizer& tokenizer);

}  // namespace realizar
