// The chat templates of a model. Most models have one; some have a second one for requests with tools, and others for
// special uses. Finds them in either format, and does not parse them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata.h"
#include "realizar/result.h"

namespace realizar {

inline constexpr std::string_view kDefaultTemplate = "default";
inline constexpr std::string_view kToolTemplate = "tool_use";
inline constexpr const char* kGgufTemplateKey = "tokenizer.chat_template";
inline constexpr const char* kGgufTemplateNamesKey = "tokenizer.chat_templates";
// The folder of all templates except the default one, each NAME.jinja, as written by transformers.
inline constexpr const char* kTemplateFolder = "additional_chat_templates";

struct NamedTemplate {
  std::string name, source;
  std::string where;  // the key or the file that it came from
};
using ChatTemplates = std::vector<NamedTemplate>;

// Null if no template has that name.
const NamedTemplate* find_template(const ChatTemplates& templates, std::string_view name);
// Whether the name can be a file name and a part of a key.
bool is_plain_template_name(std::string_view name);
// The key in GGUF's metadata.
std::string gguf_template_key(std::string_view name);

ChatTemplates gguf_templates(const Metadata& metadata);
// Reads chat_template.jinja and kTemplateFolder, tokenizer_config.json and chat_template.json, in this order: the first
// template of a name wins. `tokenizer_config`: that file's text. Errors: those of reading; FormatError for JSON.
Result<ChatTemplates> folder_templates(const std::filesystem::path& folder,
                                       const std::optional<std::string>& tokenizer_config);

}  // namespace realizar
