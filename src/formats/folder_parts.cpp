#include "formats/folder_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/printable.h"
#include "base/try.h"
#include "formats/foreign_files.h"
#include "formats/part_name.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;

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

Result<FolderParts> find_folder_parts(const fs::path& folder) {
  if (is_there(folder / kIndexName)) return parts_of_index(folder);
  if (is_there(folder / kSingleName)) return FolderParts{{kSingleName}};
  return parts_by_name(folder);
}

}  // namespace realizar
