#include "formats/hf_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <variant>

#include "base/files.h"
#include "base/plain_json.h"
#include "base/printable.h"
#include "base/try.h"
#include "formats/folder_modules.h"
#include "formats/foreign_files.h"
#include "formats/hf_config.h"
#include "formats/packed_matrix.h"
#include "formats/part_name.h"
#include "formats/quantized_tensors.h"
#include "formats/safetensors_reader.h"
#include "formats/tokenizer_files.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t kMaxSideFileBytes = uint64_t{1} << 30;

// In 2023, programs described the quantization of the weights in a separate file.
struct QuantizationFile {
  const char* name;
  const char* method;
  std::string_view prefix;  // of its keys
};
constexpr QuantizationFile kQuantizationFiles[] = {{"quantize_config.json", "gptq", ""},
                                                   {"quant_config.json", "awq", ""},
                                                   {"hf_quant_config.json", "modelopt", "quantization."}};

std::string quantization_key(std::string_view key) {
  return fmt::format("quantization_config.{}", key == "w_bit" ? "bits" : key == "q_group_size" ? "group_size" : key);
}

// Adds these keys to a config.json without them.
Status add_quantization(HfFolder& folder) {
  Metadata& metadata = folder.config.metadata;
  for (const auto& [key, value] : metadata.entries()) {
    if (key.starts_with("quantization_config")) return {};
  }
  for (const QuantizationFile& file : kQuantizationFiles) {
    const fs::path path = folder.root / file.name;
    RZ_TRY(const auto text, read_optional(path));
    if (!text) continue;
    RZ_TRY(const HfConfig own, parse_hf_config(*text, path.string()));
    metadata.set("quantization_config.quant_method", std::string(file.method));
    for (const auto& [key, value] : own.metadata.entries()) {
      // Lists of strings view data in `own`, and none of them is read.
      if (!key.starts_with(file.prefix) || std::holds_alternative<MetaArray>(value)) continue;
      metadata.set(quantization_key(std::string_view(key).substr(file.prefix.size())), value);
    }
    return {};
  }
  return {};
}

// Pooling modes of sentence-transformers: newer releases name one, older ones have a flag for each.
std::optional<std::string> pooling_flag(const std::string& mode) {
  constexpr std::pair<std::string_view, const char*> kFlags[] = {{"mean", "mean_tokens"},
                                                                 {"cls", "cls_token"},
                                                                 {"lasttoken", "lasttoken"},
                                                                 {"max", "max_tokens"},
                                                                 {"weightedmean", "weightedmean_tokens"},
                                                                 {"mean_sqrt_len_tokens", "mean_sqrt_len_tokens"}};
  const auto found = std::ranges::find(kFlags, mode, &std::pair<std::string_view, const char*>::first);
  if (found == std::end(kFlags)) return std::nullopt;
  return fmt::format("1_Pooling.pooling_mode_{}", found->second);
}

// Adds sentence-transformers' pooling settings, as keys that begin with the module's usual name.
Status add_pooling(HfFolder& folder, const fs::path& path) {
  if (path.empty()) return {};
  RZ_TRY(const auto text, read_file(path, kMaxSideFileBytes));
  RZ_TRY(const json pooling, parse_json_object(text, path.string()));
  for (const auto& [key, value] : pooling.items()) {
    if (value.is_boolean()) folder.config.metadata.set("1_Pooling." + key, MetaValue(value.get<bool>()));
    if (key != "pooling_mode" || !value.is_string()) continue;
    const auto flag = pooling_flag(value.get<std::string>());
    if (!flag) {
      return unsupported(
          fmt::format("{}: pooling_mode '{}' is not supported", path.string(), shown(value.get<std::string>())), key);
    }
    folder.config.metadata.set(*flag, MetaValue(true));
  }
  return {};
}

// The tensors of the folder, read from its SafeTensors files: the headers only.
struct FolderWeights {
  std::vector<MappedFile> maps = {};
  std::vector<TensorInfo> tensors = {};
  std::vector<RawTensor> raws = {};
  std::vector<std::string> notes = {};
};

struct Shard {
  std::string file;
  SafeTensors tensors;
};

// For each tensor name, the files that hold it.
using Holders = std::map<std::string, std::set<std::string>, std::less<>>;

Result<SafeTensors> open_safetensors(FolderWeights& weights, const fs::path& path) {
  RZ_TRY(MappedFile map, MappedFile::open(path));
  RZ_TRY(SafeTensors tensors, map.checked(parse_safetensors(map.bytes(), path.string())));
  weights.maps.push_back(std::move(map));
  return tensors;
}

void add_holders(const Shard& shard, Holders& holders) {
  for (const TensorInfo& tensor : shard.tensors.tensors) holders[tensor.name].insert(shard.file);
  for (const RawTensor& raw : shard.tensors.raws) holders[raw.name].insert(shard.file);
  for (const std::string& name : shard.tensors.buffers) holders[name].insert(shard.file);
}

// Whether the index refers to another part's tensor of this name.
bool is_outvoted(const std::string& tensor, const std::string& file, const ShardMap& index, const Holders& holders) {
  const auto named = index.find(tensor);
  return named != index.end() && named->second != file && holders.at(tensor).contains(named->second);
}

void note_absent_tensors(const ShardMap& index, const Holders& holders, std::vector<std::string>& notes) {
  constexpr size_t kMaxShown = 3;
  std::vector<std::string> names;
  for (const auto& [tensor, file] : index) {
    if (!holders.contains(tensor)) names.push_back(shown(tensor));
  }
  if (names.empty()) return;
  const size_t n_more = names.size() - std::min(names.size(), kMaxShown);
  std::ranges::sort(names);
  names.resize(names.size() - n_more);
  notes.push_back(fmt::format("the folder's index names tensors that no part has: {}{}", fmt::join(names, ", "),
                              n_more > 0 ? fmt::format(" and {} more", n_more) : ""));
}

// Adds the tensors of one file, with a prefix for their names.
Status add_safetensors(FolderWeights& weights, const fs::path& file, const std::string& prefix = "") {
  RZ_TRY(SafeTensors own, open_safetensors(weights, file));
  for (TensorInfo& tensor : own.tensors) {
    tensor.name = prefix + std::string(tensor.name);
    weights.tensors.push_back(std::move(tensor));
  }
  for (RawTensor& raw : own.raws) {
    raw.name = prefix + std::string(raw.name);
    weights.raws.push_back(std::move(raw));
  }
  return {};
}

// Adds the tensors of the folder's parts, whether or not its index names them: for a tensor in two parts the index
// decides. A tensor that the index names but no part has becomes a note, since only the model knows which tensors it
// needs.
Status add_folder_parts(FolderWeights& weights, const fs::path& folder) {
  RZ_TRY(FolderParts parts, find_folder_parts(folder));
  Holders holders;
  std::vector<Shard> shards;
  for (const std::string& file : parts.files) {
    RZ_TRY(SafeTensors tensors, open_safetensors(weights, folder / file));
    shards.push_back({file, std::move(tensors)});
    add_holders(shards.back(), holders);
  }
  for (Shard& shard : shards) {
    const auto counts = [&](const std::string& name) { return !is_outvoted(name, shard.file, parts.index, holders); };
    for (TensorInfo& tensor : shard.tensors.tensors) {
      if (counts(tensor.name)) weights.tensors.push_back(std::move(tensor));
    }
    for (RawTensor& raw : shard.tensors.raws) {
      if (counts(raw.name)) weights.raws.push_back(std::move(raw));
    }
  }
  std::ranges::move(parts.notes, std::back_inserter(weights.notes));
  note_absent_tensors(parts.index, holders, weights.notes);
  return {};
}

// sentence-transformers' products after pooling, in separate files: added under their usual names.
Status add_dense(FolderWeights& weights, const std::vector<fs::path>& folders) {
  constexpr const char* kPrefixes[] = {"2_Dense.", "3_Dense."};
  for (size_t i = 0; i < folders.size(); ++i) {
    RZ_CHECK_OK(add_safetensors(weights, folders[i] / "model.safetensors", kPrefixes[i]));
  }
  return {};
}

constexpr uint64_t kMaxIndexBytes = uint64_t{1} << 30;
constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr const char* kSingleName = "model.safetensors";
constexpr std::string_view kSafeTensors = ".safetensors";

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Error missing_part(const fs::path& folder, const std::string& part, std::string_view reason) {
  return not_found(fmt::format("{}: {} is missing, {}", folder.string(), shown(part), reason), part);
}

// Parts of the same set that the index omits still hold tensors.
void add_unnamed_parts(const fs::path& folder, std::set<std::string>& files) {
  std::vector<std::string> more;
  for (const std::string& file : files) {
    const auto part = part_name(file, kSafeTensors);
    for (uint32_t no = 1; part && no <= part->count; ++no) {
      const std::string name = part->name_of(no);
      if (is_there(folder / name)) more.push_back(name);
    }
    if (part) break;
  }
  files.insert(more.begin(), more.end());
}

Result<FolderParts> parts_of_index(const fs::path& folder) {
  const fs::path path = folder / kIndexName;
  RZ_TRY(const std::string text, read_file(path, kMaxIndexBytes));
  FolderParts parts;
  RZ_TRY(parts.index, parse_safetensors_index(text, path.string()));
  std::set<std::string> files;
  for (const auto& [tensor, file] : parts.index) files.insert(file);
  if (files.empty()) return format_error(fmt::format("{}: 'weight_map' names no tensor", path.string()), path.string());
  for (const std::string& file : files) {
    if (is_there(folder / file)) continue;
    if (!is_there(folder / kSingleName)) return missing_part(folder, file, fmt::format("which {} names", kIndexName));
    const std::string note =
        fmt::format("{} names {}, which is missing: {} is read instead", kIndexName, shown(file), kSingleName);
    return FolderParts{{kSingleName}, {}, {note}};
  }
  add_unnamed_parts(folder, files);
  parts.files.assign(files.begin(), files.end());
  return parts;
}

// Sets of parts by name, with the one called "model" first.
std::vector<PartName> sets_in(const fs::path& folder) {
  std::vector<PartName> sets;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const auto part = part_name(entry->path().filename().string(), kSafeTensors);
    const auto is_same = [&](const PartName& set) { return set.is_same_set(*part); };
    if (part && std::ranges::none_of(sets, is_same)) sets.push_back(*part);
  }
  std::ranges::sort(sets, {}, [](const PartName& set) { return std::pair(set.stem != "model", set.name_of(1)); });
  return sets;
}

Result<FolderParts> parts_by_name(const fs::path& folder) {
  const std::vector<PartName> sets = sets_in(folder);
  if (sets.empty()) {
    const std::string advice = pytorch_folder_advice(folder);
    if (!advice.empty()) return unsupported(fmt::format("{}: {}", folder.string(), advice), folder.string());
    return not_found(fmt::format("{} has neither {} nor {}", folder.string(), kSingleName, kIndexName),
                     folder.string());
  }
  const PartName& set = sets.front();
  if (sets.size() > 1 && set.stem != "model") {
    return not_found(fmt::format("{} has the parts of several models, {} and {}, and no {}", folder.string(),
                                 shown(set.name_of(1)), shown(sets[1].name_of(1)), kIndexName),
                     folder.string());
  }
  FolderParts parts;
  for (uint32_t no = 1; no <= set.count; ++no) {
    const auto file = find_in_any_case(folder, set.name_of(no));
    if (!file) return missing_part(folder, set.name_of(no), fmt::format("one of {} parts", set.count));
    parts.files.push_back(file->filename().string());
  }
  return parts;
}

}  // namespace

Result<HfFolder> open_hf_folder(const fs::path& path) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  if (!is_folder && !fs::exists(path, error)) return not_found("no such file: " + path.string(), path.string());
  FolderModules modules{path.parent_path()};
  if (is_folder) {
    RZ_TRY(modules, read_folder_modules(path));
  }
  HfFolder folder;
  folder.root = modules.transformer;
  const fs::path config_path = folder.root / "config.json";
  if (!is_folder && !fs::exists(config_path, error)) {
    return not_found(
        fmt::format("{}: a .safetensors file needs config.json and tokenizer.json in its folder; {} has no "
                    "config.json",
                    path.string(), fs::absolute(path, error).parent_path().string()),
        path.string());
  }
  RZ_TRY(const std::string config, read_file(config_path, kMaxSideFileBytes));
  RZ_TRY(folder.config, parse_hf_config(config, config_path.string()));
  RZ_CHECK_OK(add_quantization(folder));
  RZ_CHECK_OK(add_pooling(folder, modules.pooling));
  FolderWeights weights;
  if (is_folder) {
    RZ_CHECK_OK(add_folder_parts(weights, folder.root));
    RZ_CHECK_OK(add_dense(weights, modules.dense));
  } else {
    RZ_CHECK_OK(add_safetensors(weights, path));
  }
  folder.maps = std::move(weights.maps);
  folder.tensors = std::move(weights.tensors);
  folder.notes = std::move(weights.notes);
  RZ_CHECK_OK(
      bind_packed_matrices(folder.config.metadata, config_path.string(), folder.tensors, weights.raws, folder.notes));
  if (weights.raws.empty()) return folder;
  const RawTensor& raw = weights.raws.front();
  return unsupported_element_type(folder.root.string(), raw.name, raw.dtype);
}

Result<std::optional<std::string>> read_optional(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::optional<std::string>();
  RZ_TRY(std::string text, read_file(path, kMaxSideFileBytes));
  return std::optional(std::move(text));
}

Result<std::optional<std::string>> read_optional_json(const fs::path& path) {
  RZ_TRY(const auto text, read_optional(path));
  return text ? std::optional(plain_json(*text)) : std::nullopt;
}

Result<SideFiles> read_side_files(const fs::path& root) {
  SideFiles files;
  RZ_CHECK_OK(read_tokenizer_files(root, files));
  RZ_TRY(files.generation_config_json, read_optional_json(root / "generation_config.json"));
  RZ_TRY(files.config_json, read_optional_json(root / "config.json"));
  RZ_TRY(files.special_tokens_map_json, read_optional_json(root / "special_tokens_map.json"));
  RZ_TRY(files.chat_templates, folder_templates(root, files.tokenizer_config_json));
  return files;
}

Result<FolderParts> find_folder_parts(const fs::path& folder) {
  if (is_there(folder / kIndexName)) return parts_of_index(folder);
  if (is_there(folder / kSingleName)) return FolderParts{{kSingleName}};
  return parts_by_name(folder);
}

}  // namespace realizar
