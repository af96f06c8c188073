#include "formats/folder_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "base/ascii_case.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/try.h"
#include "base/utf8.h"
#include "formats/foreign_files.h"
#include "formats/hf_config.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kMaxModules = 64;

bool has_file(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// "" for the folder itself; nullopt for a path that leaves it.
std::optional<std::string> path_below(const std::string& text) {
  if (text.find('\0') != std::string::npos) return std::nullopt;
  const fs::path path = fs::path(text).lexically_normal();
  if (path.is_absolute() || (!path.empty() && *path.begin() == "..")) return std::nullopt;
  std::string below = path.generic_string();
  while (below.ends_with('/')) below.pop_back();
  return below == "." ? "" : below;
}

Result<FolderModule> parse_module(const json& entry, const std::string& file) {
  const json type = entry.is_object() ? entry.value("type", json()) : json();
  const json path = entry.is_object() ? entry.value("path", json()) : json();
  if (!type.is_string() || !path.is_string()) {
    return format_error(fmt::format("{}: expected modules with a 'type' and a 'path'", file), file);
  }
  const auto name = type.get<std::string>();
  const auto below = path_below(path.get<std::string>());
  if (below) return FolderModule{name.substr(name.rfind('.') + 1), *below};
  return format_error(
      fmt::format("{}: path '{}': expected a folder of the model's own", file, shown(path.get<std::string>())), file);
}

Error absent_module(const fs::path& file, const FolderModule& module, std::string_view what) {
  return not_found(fmt::format("{} names {}, {}", file.string(), shown(module.path), what), module.path);
}

Error refused_module(const fs::path& file, const FolderModule& module, std::string_view reason) {
  return unsupported(
      fmt::format("{}: module '{}' of type {} {}", file.string(), shown(module.path), shown(module.kind), reason),
      module.kind);
}

// Products are applied to each row before pooling, and a vector's length is ignored: so neither is allowed where that
// would change the result.
Status check_order(const fs::path& file, const std::vector<FolderModule>& modules) {
  bool is_pooled = false, has_dense = false;
  for (const FolderModule& module : modules) {
    const bool is_first = &module == &modules.front();
    if (is_first != (module.kind == "Transformer")) {
      constexpr std::string_view kKnown[] = {"Transformer", "Pooling", "Dense", "Normalize", "Dropout"};
      const bool is_known = std::ranges::find(kKnown, module.kind) != std::end(kKnown);
      return refused_module(file, module,
                            is_known ? "is not supported here; the first module, and only that, must be a Transformer"
                                     : "is not supported (Transformer, Pooling, Dense and Normalize are)");
    }
    if (module.kind == "Pooling") {
      if (is_pooled || has_dense) return refused_module(file, module, "is not supported after another one");
      is_pooled = true;
    } else if (module.kind == "Dense") {
      if (!is_pooled) return refused_module(file, module, "is not supported before the Pooling");
      has_dense = true;
    } else if (module.kind == "Normalize") {
      if (!is_pooled) return refused_module(file, module, "is not supported before the Pooling");
    } else if (!is_first && module.has_files()) {
      return refused_module(file, module, "is not supported (Transformer, Pooling, Dense and Normalize are)");
    }
  }
  return {};
}

// Only the product is computed: no activation, no residual, and its input is the pooled vector.
Status check_dense(const fs::path& config_file) {
  RZ_TRY(const std::string text, read_file(config_file, kMaxModulesBytes));
  RZ_TRY(const json config, parse_json_object(text, config_file.string()));
  const auto text_of = [&](const char* key, const char* otherwise) {
    const json value = config.value(key, json());
    return value.is_string() ? value.get<std::string>() : std::string(otherwise);
  };
  const std::string activation = text_of("activation_function", "torch.nn.modules.activation.Tanh");
  const auto refused = [&](const char* key, const std::string& value) {
    return unsupported(fmt::format("{}: {} {} is not supported", config_file.string(), key, shown(value)), key);
  };
  if (activation.substr(activation.rfind('.') + 1) != "Identity") return refused("activation_function", activation);
  if (config.value("use_residual", json()) == true) return refused("use_residual", "true");
  const std::string input = text_of("module_input_name", "sentence_embedding");
  if (input != "sentence_embedding") return refused("module_input_name", input);
  return {};
}

Status check_module(const fs::path& file, const fs::path& folder, const FolderModule& module) {
  const fs::path own = folder / module.path;
  if (!module.has_files()) return {};
  if (!has_file(own)) return absent_module(file, module, "which is not there");
  if (!has_file(own / "config.json")) return absent_module(file, module, "which has no config.json");
  if (module.kind != "Dense") return {};
  if (!has_file(own / "model.safetensors")) {
    const std::string advice = pytorch_folder_advice(own);
    if (!advice.empty()) return unsupported(fmt::format("{}: {}", own.string(), advice), module.path);
    return absent_module(file, module, "which has no model.safetensors");
  }
  return check_dense(own / "config.json");
}

Result<FolderModules> usual_modules(const fs::path& folder) {
  FolderModules found{folder};
  if (const fs::path pooling = folder / "1_Pooling" / "config.json"; has_file(pooling)) found.pooling = pooling;
  for (const char* name : {"2_Dense", "3_Dense"}) {
    const fs::path dense = folder / name;
    if (!has_file(dense / "model.safetensors")) continue;
    if (has_file(dense / "config.json")) RZ_CHECK_OK(check_dense(dense / "config.json"));
    found.dense.push_back(dense);
  }
  return found;
}

bool has_ending(const fs::path& folder, std::string_view ending) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (ends_with_ignoring_case(entry->path().filename().string(), ending)) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<FolderModule>> parse_folder_modules(std::string_view text, const std::string& file) {
  const std::string wrapped = fmt::format("{{\"modules\": {}}}", after_byte_order_mark(text));
  RZ_TRY(const json root, parse_json_object(wrapped, file));
  const json list = root.value("modules", json());
  if (!list.is_array() || list.empty() || list.size() > kMaxModules || root.size() != 1) {
    return format_error(fmt::format("{}: expected a list of 1 to {} modules", file, kMaxModules), file);
  }
  std::vector<FolderModule> modules;
  for (const json& entry : list) {
    RZ_TRY(FolderModule module, parse_module(entry, file));
    modules.push_back(std::move(module));
  }
  return modules;
}

std::vector<fs::path> FolderModules::files() const {
  std::vector<fs::path> files;
  if (!pooling.empty()) files.push_back(pooling);
  for (const fs::path& folder : dense) {
    files.push_back(folder / "config.json");
    files.push_back(folder / "model.safetensors");
  }
  return files;
}

Result<FolderModules> read_folder_modules(const fs::path& folder) {
  constexpr size_t kMaxDense = 2;
  const fs::path file = folder / kModulesName;
  if (!has_file(file)) return usual_modules(folder);
  RZ_TRY(const std::string text, read_file(file, kMaxModulesBytes));
  RZ_TRY(const auto modules, parse_folder_modules(text, file.string()));
  RZ_CHECK_OK(check_order(file, modules));
  FolderModules found;
  for (const FolderModule& module : modules) {
    RZ_CHECK_OK(check_module(file, folder, module));
    const fs::path own = module.path.empty() ? folder : folder / module.path;
    if (module.kind == "Transformer") found.transformer = own;
    if (module.kind == "Pooling") found.pooling = own / "config.json";
    if (module.kind != "Dense") continue;
    if (found.dense.size() == kMaxDense)
      return refused_module(file, module, "is one too many: two Dense are supported");
    found.dense.push_back(own);
  }
  return found;
}

bool is_hf_folder(const fs::path& folder) {
  if (!has_file(folder / "config.json") && !has_file(folder / kModulesName)) return false;
  return has_ending(folder, ".safetensors") || !has_ending(folder, ".gguf");
}

}  // namespace realizar
