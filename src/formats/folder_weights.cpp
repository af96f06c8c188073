#include "formats/folder_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/printable.h"
#include "base/try.h"
#include "formats/folder_parts.h"
#include "formats/safetensors_reader.h"

namespace realizar {
namespace {

struct Shard {
  std::string file;
  SafeTensors tensors;
};

// The files that hold a tensor, by its name.
using Holders = std::map<std::string, std::set<std::string>, std::less<>>;

Result<SafeTensors> open_safetensors(FolderWeights& weights, const std::filesystem::path& path) {
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

// The index means another part's tensor of this name.
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

}  // namespace

Status add_safetensors(FolderWeights& weights, const std::filesystem::path& file, const std::string& prefix) {
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

Status add_folder_parts(FolderWeights& weights, const std::filesystem::path& folder) {
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

}  // namespace realizar
