#include "formats/chat_templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/try.h"
#include "base/utf8.h"
#include "formats/hf_config.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t kMaxTemplateBytes = uint64_t{1} << 26;
constexpr size_t kMaxNameBytes = 64;

void add_template(ChatTemplates& templates, NamedTemplate added) {
  if (find_template(templates, added.name) == nullptr) templates.push_back(std::move(added));
}

// A single text, or a list of named ones.
void add_member(const json& value, const std::string& where, ChatTemplates& templates) {
  if (value.is_string()) add_template(templates, {std::string(kDefaultTemplate), value.get<std::string>(), where});
  if (value.is_object()) {
    for (const auto& [name, source] : value.items()) {
      if (source.is_string())
        add_template(templates, {name, source.get<std::string>(), fmt::format("{}.{}", where, name)});
    }
  }
  if (!value.is_array()) return;
  for (const json& entry : value) {
    if (!entry.is_object()) continue;
    const json name = entry.value("name", json()), source = entry.value("template", json());
    if (!name.is_string() || !source.is_string()) continue;
    const auto& text = name.get_ref<const std::string&>();
    add_template(templates, {text, source.get<std::string>(), fmt::format("{}[{}]", where, text)});
  }
}

Status add_json_file(const std::optional<std::string>& text, const fs::path& path, ChatTemplates& templates) {
  if (!text) return {};
  RZ_TRY(const json root, parse_json_object(*text, path.string()));
  const auto member = root.find("chat_template");
  if (member != root.end()) add_member(*member, path.filename().string() + ": chat_template", templates);
  return {};
}

Result<std::string> read_text(const fs::path& path) {
  RZ_TRY(std::string text, read_file(path, kMaxTemplateBytes));
  return without_byte_order_mark(std::move(text));
}

Result<std::optional<std::string>> text_of(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::optional<std::string>();
  RZ_TRY(std::string text, read_text(path));
  return std::optional(std::move(text));
}

Status add_jinja_files(const fs::path& folder, ChatTemplates& templates) {
  constexpr const char* kFile = "chat_template.jinja";
  RZ_TRY(auto source, text_of(folder / kFile));
  if (source) add_template(templates, {std::string(kDefaultTemplate), std::move(*source), kFile});
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder / kTemplateFolder, error)) {
    if (entry.path().extension() == ".jinja") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    RZ_TRY(std::string text, read_text(file));
    const std::string where = std::string(kTemplateFolder) + "/" + file.filename().string();
    add_template(templates, {file.stem().string(), std::move(text), where});
  }
  return {};
}

}  // namespace

const NamedTemplate* find_template(const ChatTemplates& templates, std::string_view name) {
  const auto found = std::ranges::find(templates, name, &NamedTemplate::name);
  return found == templates.end() ? nullptr : &*found;
}

bool is_plain_template_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, is_plain);
}

std::string gguf_template_key(std::string_view name) {
  return name == kDefaultTemplate ? kGgufTemplateKey : std::string(kGgufTemplateKey) + "." + std::string(name);
}

ChatTemplates gguf_templates(const Metadata& metadata) {
  ChatTemplates templates;
  const std::string prefix = std::string(kGgufTemplateKey) + ".";
  for (const auto& [key, value] : metadata.entries()) {
    const auto* source = std::get_if<std::string>(&value);
    if (source == nullptr) continue;
    if (key == kGgufTemplateKey) add_template(templates, {std::string(kDefaultTemplate), *source, key});
    if (key.starts_with(prefix)) add_template(templates, {key.substr(prefix.size()), *source, key});
  }
  return templates;
}

Result<ChatTemplates> folder_templates(const fs::path& folder, const std::optional<std::string>& tokenizer_config) {
  ChatTemplates templates;
  RZ_CHECK_OK(add_jinja_files(folder, templates));
  RZ_CHECK_OK(add_json_file(tokenizer_config, folder / "tokenizer_config.json", templates));
  RZ_TRY(const auto of_processor, text_of(folder / "chat_template.json"));
  RZ_CHECK_OK(add_json_file(of_processor, folder / "chat_template.json", templates));
  return templates;
}

}  // namespace realizar
