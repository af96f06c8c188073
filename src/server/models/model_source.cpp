#include "server/models/model_source.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "api/found_model.h"
#include "base/ascii_case.h"
#include "hub/name_table.h"

namespace realizar::server {
namespace {

std::string_view without_tag(std::string_view name) {
  constexpr std::string_view kTag = ":latest";
  const bool has_tag = name.size() > kTag.size() && ends_with_ignoring_case(name, kTag);
  return has_tag ? name.substr(0, name.size() - kTag.size()) : name;
}

}  // namespace

std::string adapted_name(const std::string& model, const std::string& adapter) {
  return model + ":" + adapter;
}

bool is_same_name(std::string_view a, std::string_view b) {
  return equals_ignoring_case(without_tag(a), without_tag(b));
}

std::vector<std::string> hub_spellings(const std::string& id) {
  constexpr size_t kMaxNameBytes = 500;
  std::vector<std::string> spellings;
  if (id.size() > kMaxNameBytes) return spellings;
  const auto name = hub::parse_name(id);
  if (!name.ok()) return spellings;
  for (const hub::ModelName& meant : hub::meanings(*name)) spellings.push_back(hub::to_string(meant));
  return spellings;
}

bool is_same_model(const ModelSource& a, const ModelSource& b) {
  const StoredTexts none;
  const StoredTexts& texts_a = a.texts == nullptr ? none : *a.texts;
  const StoredTexts& texts_b = b.texts == nullptr ? none : *b.texts;
  return a.id == b.id && a.path == b.path && a.beside.chat_template == b.beside.chat_template &&
         a.beside.params == b.beside.params && texts_a == texts_b && a.adapters == b.adapters &&
         a.default_adapter == b.default_adapter;
}

void keep_adapters_of_flags(const ModelSource& old, ModelSource& source) {
  std::ranges::copy_if(old.adapters, std::back_inserter(source.adapters),
                       [](const AdapterSource& adapter) { return adapter.name != kStoredAdapter; });
  const bool is_of_flags = !old.default_adapter.empty() && old.default_adapter != kStoredAdapter;
  if (is_of_flags) source.default_adapter = old.default_adapter;
}

uint64_t bytes_on_disk(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::filesystem::file_size(path, error);
  uint64_t n_bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(path, error)) {
    const auto ending = file.path().extension();
    if (ending == ".safetensors" || ending == ".gguf") n_bytes += file.file_size(error);
  }
  return n_bytes;
}

std::chrono::system_clock::time_point time_of(const std::string& path) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  if (error) return {};
  return std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(
      std::chrono::file_clock::to_sys(written).time_since_epoch()));
}

}  // namespace realizar::server
