// The chat templates of a model. Most have one; some have a second one for requests with tools, and others for uses of
// their own. Knows where they lie in either format, and nothing of their language.
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
// The folder of the templates besides the default one, each NAME.jinja, as transformers writes them.
inline constexpr const char* kTemplateFolder = "additional_chat_templates";

struct NamedTemplate {
  std::string name, source;
  std::string where;  // the key or the file that it came from
};
using ChatTemplates = std::vector<NamedTemplate>;

// Null where no template has that name.
const NamedTemplate* find_template(const ChatTemplates& templates, std::string_view name);
// Whether the name can be a file's, and a part of a key.
bool is_plain_template_name(std::string_view name);
// The key of GGUF's metadata.
std::string gguf_template_key(std::string_view name);

ChatTemplates gguf_templates(const Metadata& metadata);
// From chat_template.jinja and kTemplateFolder, tokenizer_config.json and chat_template.json, in this order: the first
// of a name counts. `tokenizer_config`: that file's text. Errors: those of reading; FormatError for JSON.
Result<ChatTemplates> folder_templates(const std::filesystem::path& folder,
                                       const std::optional<std::string>& tokenizer_config);

}  // namespace realizar
