// Reads the text side of a model without its weights: tokenizer and chat template, from GGUF metadata or from the files
// of a Hugging Face folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "formats/chat_templates.h"
#include "formats/metadata.h"
#include "formats/model_file.h"
#include "realizar/result.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar {

// Errors: NotFound if the file has no vocabulary; the tokenizer's own.
Result<text::Tokenizer> load_tokenizer(const ModelFile& file);

// The chat templates, and the texts of bos and eos that they may print; nullopt if the model has none.
struct ChatTemplateSource {
  std::string source;  // for conversations without tools; "": the model has none for them
  std::string bos_token, eos_token;
  std::string tool_source;  // for those with tools; "": `source`
  ChatTemplates all;        // with the files that they come from

  // The source for a conversation.
  const std::string& source_for(bool has_tools) const {
    return has_tools && !tool_source.empty() ? tool_source : source;
  }
  // Both sources together: they show how the model writes answers in either case.
  std::string joined() const { return tool_source.empty() ? source : source + "\n" + tool_source; }
};
Result<std::optional<ChatTemplateSource>> load_chat_template(const ModelFile& file, const text::Tokenizer& tokenizer);

struct TextAssets {
  text::Tokenizer tokenizer;
  std::optional<ChatTemplateSource> chat_template;
};
// Reads no weights: `path` is a path that ModelFile::open accepts, a folder with tokenizer.json, tokenizer.model or
// rwkv_vocab_v20230424.txt, or one of these files. Errors: those of ModelFile::open, and the tokenizer's own.
Result<TextAssets> open_text_assets(const std::filesystem::path& path);

// The vocabulary in GGUF metadata (keys tokenizer.ggml.*). The result's views are valid as long as the file that
// `metadata` belongs to. Ids of special tokens outside the vocabulary are left out. Errors: NotFound without
// tokenizer.ggml.model or .tokens; FormatError for a key of the wrong type.
Result<text::GgufVocab> read_gguf_vocab(const Metadata& metadata);

// A sentence for each key of a special token that is left out for that reason, except end tokens
// (formats/end_claims.h).
std::vector<std::string> notes_of_special_ids(const Metadata& metadata, size_t n_tokens);

}  // namespace realizar
