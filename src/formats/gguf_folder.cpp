#include "formats/gguf_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/ascii_case.h"
#include "base/files.h"
#include "base/printable.h"
#include "formats/foreign_files.h"
#include "formats/gguf_kind.h"
#include "formats/json_object.h"
#include "formats/part_name.h"

namespace realizar {
namespace {

constexpr size_t kMaxNamesShown = 12;
constexpr std::string_view kGguf = ".gguf";

bool begins_gguf(const std::string& name) {
  const auto part = part_name(name, kGguf);
  return ends_with_ignoring_case(name, kGguf) && (!part || part->no == 1);
}

// The base model of a PEFT folder, "" if it is not stated; nullopt: not such a folder.
std::optional<std::string> base_of_adapter(const std::filesystem::path& folder) {
  constexpr uint64_t kMaxConfigBytes = 1 << 20;
  const auto text = read_file(folder / "adapter_config.json", kMaxConfigBytes);
  if (!text.ok()) return std::nullopt;
  const auto config = parse_json_object(*text, "adapter_config.json");
  const auto base = config.ok() ? config->value("base_model_name_or_path", nlohmann::json()) : nlohmann::json();
  return base.is_string() ? base.get<std::string>() : "";
}

Error no_model_in(const std::filesystem::path& folder, const std::vector<std::string>& companions) {
  const std::string advice = pytorch_folder_advice(folder);
  if (!advice.empty()) return unsupported(fmt::format("{}: {}", folder.string(), advice), folder.string());
  if (!companions.empty()) {
    const auto kind = gguf_kind_at(folder / companions.front()).value_or(GgufKind::kModel);
    if (kind != GgufKind::kModel) {
      return unsupported(
          fmt::format("there is no model in {}: {} is {}", folder.string(), companions.front(), kind_advice(kind)),
          folder.string());
    }
  }
  if (const auto base = base_of_adapter(folder)) {
    return unsupported(fmt::format("there is no model in {}: it is {}{}", folder.string(),
                                   kind_advice(GgufKind::kAdapter), base->empty() ? "" : "; it names " + shown(*base)),
                       folder.string());
  }
  return not_found(fmt::format("there is no model in {}: expected a .gguf file, or config.json with .safetensors files",
                               folder.string()),
                   folder.string());
}

}  // namespace

bool is_gguf_model(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  // llama.cpp looks for projectors by this name, whatever their headers say.
  if (!begins_gguf(name) || name.starts_with("mmproj")) return false;
  const auto kind = gguf_kind_at(path);
  return kind ? *kind == GgufKind::kModel : !is_companion_name(path.string());
}

Result<std::filesystem::path> find_gguf(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::string> names, companions;
  auto entry = std::filesystem::directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (begins_gguf(name)) (is_gguf_model(entry->path()) ? names : companions).push_back(name);
  }
  if (error) {
    return not_found(fmt::format("cannot read the folder {}: {}", folder.string(), error.message()), folder.string());
  }
  if (names.size() == 1) return folder / names.front();
  // A vocabulary alone suffices to tokenize texts.
  const bool is_vocabulary =
      companions.size() == 1 && gguf_kind_at(folder / companions.front()) == GgufKind::kVocabulary;
  if (names.empty() && is_vocabulary) return folder / companions.front();
  if (names.empty()) return no_model_in(folder, companions);
  std::sort(names.begin(), names.end());
  const size_t n_more = names.size() - std::min(names.size(), kMaxNamesShown);
  names.resize(names.size() - n_more);
  return invalid_argument(fmt::format("there are several models in {}, name one: {}{}", folder.string(),
                                      fmt::join(names, ", "), n_more > 0 ? fmt::format(" and {} more", n_more) : ""),
                          folder.string());
}

std::vector<std::filesystem::path> parts_of_gguf(const std::filesystem::path& path) {
  const auto own = part_name(path.filename().string(), kGguf);
  if (!own || own->no != 1) return {path};
  std::vector<std::filesystem::path> parts;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const auto part = part_name(entry->path().filename().string(), kGguf);
    if (part && part->is_same_set(*own)) parts.push_back(entry->path());
  }
  return parts;
}

}  // namespace realizar
