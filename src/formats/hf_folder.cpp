#include "formats/hf_folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "base/byte_order_mark.h"
#include "base/files.h"
#include "base/plain_json.h"
#include "base/try.h"
#include "formats/foreign_files.h"
#include "formats/json_object.h"
#include "formats/quantized_tensors.h"
#include "formats/safetensors_reader.h"
#include "formats/tokenizer_files.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t kMaxSideFileBytes = uint64_t{1} << 30;

struct Weights {
  HfFolder& folder;
  std::vector<RawTensor> raws = {};
};

// Names of what lies in the shard, the buffers that are no weights among them.
// `prefix`: of the names that they get.
Result<std::vector<std::string>> add_shard(Weights& weights, const fs::path& path, const std::string& prefix = "") {
  HfFolder& folder = weights.folder;
  RZ_TRY(MappedFile map, MappedFile::open(path));
  RZ_TRY(SafeTensors shard, map.checked(parse_safetensors(map.bytes(), path.string())));
  std::vector<std::string> names = std::move(shard.buffers);
  for (TensorInfo& tensor : shard.tensors) {
    tensor.name = prefix + std::string(tensor.name);
    names.push_back(tensor.name);
    folder.tensors.push_back(std::move(tensor));
  }
  for (RawTensor& raw : shard.raws) {
    names.push_back(raw.name);
    weights.raws.push_back(std::move(raw));
  }
  folder.maps.push_back(std::move(map));
  return names;
}

Status check_in_index(const ShardMap& shard_of, const std::string& name, const std::string& shard,
                      const fs::path& index_path) {
  const auto found = shard_of.find(name);
  if (found != shard_of.end() && found->second == shard) return {};
  return format_error(fmt::format("{}: tensor '{}' lies in {}, expected {}", index_path.string(), name, shard,
                                  found == shard_of.end() ? "no entry" : found->second),
                      name);
}

// Every tensor of the index lies in its shard, and every tensor of a shard in the index.
Status add_shards(Weights& weights, const fs::path& root, const fs::path& index_path) {
  RZ_TRY(const std::string index, read_file(index_path, kMaxSideFileBytes));
  RZ_TRY(const ShardMap shard_of, parse_safetensors_index(index, index_path.string()));
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : shard_of) shards.insert(shard);
  size_t n_found = 0;
  for (const std::string& shard : shards) {
    RZ_TRY(const auto names, add_shard(weights, root / shard));
    for (const std::string& name : names) RZ_CHECK_OK(check_in_index(shard_of, name, shard, index_path));
    n_found += names.size();
  }
  if (n_found == shard_of.size()) return {};
  return format_error(
      fmt::format("{}: expected {} tensors in the shards, actual {}", index_path.string(), shard_of.size(), n_found),
      index_path.string());
}

Status add_weights(Weights& weights, const fs::path& root) {
  std::error_code error;
  const fs::path index = root / "model.safetensors.index.json";
  if (fs::exists(index, error)) return add_shards(weights, root, index);
  const fs::path single = root / "model.safetensors";
  if (!fs::exists(single, error)) {
    const std::string advice = pytorch_folder_advice(root);
    if (!advice.empty()) return unsupported(fmt::format("{}: {}", root.string(), advice), root.string());
    return not_found(fmt::format("{} has neither model.safetensors nor model.safetensors.index.json", root.string()),
                     root.string());
  }
  RZ_CHECK_OK(add_shard(weights, single));
  return {};
}

// chat_template in tokenizer_config.json: a string, or a list of named ones of which "default" counts.
Result<std::optional<std::string>> template_in_config(const std::string& text, const fs::path& path) {
  RZ_TRY(const json root, parse_json_object(text, path.string()));
  const json value = root.value("chat_template", json());
  if (value.is_string()) return std::optional(value.get<std::string>());
  if (!value.is_array()) return std::optional<std::string>();
  for (const json& entry : value) {
    if (!entry.is_object() || entry.value("name", json()) != "default") continue;
    const json named = entry.value("template", json());
    if (named.is_string()) return std::optional(named.get<std::string>());
  }
  return std::optional<std::string>();
}

// What sentence-transformers keeps of pooling, as keys that begin with the module's name.
Status add_pooling(HfFolder& folder, const fs::path& root) {
  const fs::path path = root / "1_Pooling" / "config.json";
  RZ_TRY(const auto text, read_optional(path));
  if (!text) return {};
  RZ_TRY(const json pooling, parse_json_object(*text, path.string()));
  for (const auto& [key, value] : pooling.items()) {
    if (value.is_boolean()) folder.config.metadata.set("1_Pooling." + key, MetaValue(value.get<bool>()));
  }
  return {};
}

// Products that sentence-transformers has after pooling, in files of their own.
Status add_dense(Weights& weights, const fs::path& root) {
  std::error_code error;
  for (const char* module : {"2_Dense", "3_Dense"}) {
    const fs::path path = root / module / "model.safetensors";
    if (fs::exists(path, error)) RZ_CHECK_OK(add_shard(weights, path, std::string(module) + "."));
  }
  return {};
}

}  // namespace

Result<HfFolder> open_hf_folder(const fs::path& path) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  const fs::path root = is_folder ? path : path.parent_path();
  if (!is_folder && !fs::exists(path, error)) return not_found("no such file: " + path.string(), path.string());
  HfFolder folder;
  const fs::path config_path = root / "config.json";
  if (!is_folder && !fs::exists(config_path, error)) {
    return not_found(
        fmt::format("{}: a .safetensors file needs config.json and tokenizer.json in its folder; {} has no "
                    "config.json",
                    path.string(), fs::absolute(path, error).parent_path().string()),
        path.string());
  }
  RZ_TRY(const std::string config, read_file(config_path, kMaxSideFileBytes));
  RZ_TRY(folder.config, parse_hf_config(config, config_path.string()));
  RZ_CHECK_OK(add_pooling(folder, root));
  Weights weights{folder};
  if (is_folder) {
    RZ_CHECK_OK(add_weights(weights, root));
    RZ_CHECK_OK(add_dense(weights, root));
  } else {
    RZ_CHECK_OK(add_shard(weights, path));
  }
  RZ_CHECK_OK(
      bind_packed_matrices(folder.config.metadata, config_path.string(), folder.tensors, weights.raws, folder.notes));
  if (weights.raws.empty()) return folder;
  const RawTensor& raw = weights.raws.front();
  return unsupported_element_type(root.string(), raw.name, raw.dtype);
}

Result<std::optional<std::string>> read_optional(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::optional<std::string>();
  RZ_TRY(std::string text, read_file(path, kMaxSideFileBytes));
  return std::optional(std::move(text));
}

Result<SideFiles> read_side_files(const fs::path& root) {
  SideFiles files;
  RZ_CHECK_OK(read_tokenizer_files(root, files));
  RZ_TRY(files.generation_config_json, read_optional(root / "generation_config.json"));
  if (files.generation_config_json) files.generation_config_json = plain_json(*files.generation_config_json);
  RZ_TRY(files.chat_template, read_optional(root / "chat_template.jinja"));
  if (files.chat_template) files.chat_template = without_byte_order_mark(std::move(*files.chat_template));
  if (!files.chat_template && files.tokenizer_config_json) {
    RZ_TRY(files.chat_template, template_in_config(*files.tokenizer_config_json, root / "tokenizer_config.json"));
  }
  return files;
}

}  // namespace realizar
