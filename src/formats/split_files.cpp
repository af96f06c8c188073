#include "formats/split_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/printable.h"
#include "base/try.h"
#include "formats/gguf_format.h"
#include "formats/gguf_reader.h"
#include "formats/layout.h"
#include "formats/part_name.h"

namespace realizar {
namespace {

constexpr int64_t kMaxParts = 99999;  // five digits in the name

struct SplitKeys {
  int64_t no = 0, count = 1;
};

Result<SplitKeys> split_keys(const Metadata& metadata) {
  RZ_TRY(const auto no, metadata.get_int("split.no"));
  RZ_TRY(const auto count, metadata.get_int("split.count"));
  // A file that llama-gguf-split has merged keeps the keys, with a count of 0.
  const bool is_merged = no == 0 && count == 0;
  return SplitKeys{no.value_or(0), is_merged ? 1 : count.value_or(1)};
}

// The path of part `no`, from the path of part `own_no`, which must be spelled accordingly, in any case of letters.
Result<std::filesystem::path> part_path(const std::filesystem::path& own_path, int64_t own_no, int64_t no,
                                        int64_t count) {
  const auto own = part_name(own_path.filename().string(), ".gguf");
  if (!own || own->no != own_no + 1 || own->count != count) {
    return format_error(fmt::format("{}: part {} of {}: expected a name ending in '-{:05}-of-{:05}.gguf'",
                                    own_path.string(), own_no + 1, count, own_no + 1, count),
                        own_path.string());
  }
  if (no == own_no) return own_path;
  const std::string name = own->name_of(static_cast<uint32_t>(no + 1));
  return find_in_any_case(own_path.parent_path(), name).value_or(own_path.parent_path() / name);
}

// Compares the announced number of tensors with what all parts hold together.
Status check_tensors_count(const SplitGguf& split, const std::string& path) {
  RZ_TRY(const auto n_tensors, split.metadata.get_int("split.tensors.count"));
  if (!n_tensors || *n_tensors == static_cast<int64_t>(split.tensors.size())) return {};
  return format_error(fmt::format("{}: split.tensors.count: expected {}, actual {} tensors in all parts", path,
                                  split.tensors.size(), *n_tensors),
                      path);
}

// Parts of two sets may agree in everything else: a model's of today and of last week.
Status check_set(const SplitGguf& split, const Metadata& part, const std::string& path) {
  RZ_TRY(const auto expected, split.metadata.get_string(kGgufSetKey));
  RZ_TRY(const auto actual, part.get_string(kGgufSetKey));
  if (expected == actual) return {};
  const auto text = [](const std::optional<std::string>& id) { return id ? "'" + shown(*id) + "'" : "none"; };
  return format_error(fmt::format("{}: {}: expected {}, as in {}, actual {}: it is a part of another model", path,
                                  kGgufSetKey, text(expected), split.maps.front().path(), text(actual)),
                      path);
}

Status add_part(SplitGguf& split, MappedFile map, int64_t no, int64_t count) {
  RZ_TRY(GgufFile file, map.checked(parse_gguf(map.bytes(), map.path())));
  RZ_TRY(const SplitKeys keys, split_keys(file.metadata));
  if (keys.no != no || keys.count != count) {
    return format_error(fmt::format("{}: expected split.no {} of split.count {}, actual {} of {}", map.path(), no,
                                    count, keys.no, keys.count),
                        map.path());
  }
  if (no == 0) {
    split.metadata = std::move(file.metadata);
    split.entries = std::move(file.entries);
  } else {
    RZ_CHECK_OK(check_set(split, file.metadata, map.path()));
  }
  for (TensorInfo& tensor : file.tensors) split.tensors.push_back(std::move(tensor));
  split.maps.push_back(std::move(map));
  return {};
}

}  // namespace

Result<SplitGguf> open_gguf_parts(MappedFile part) {
  SplitGguf split;
  RZ_TRY(GgufFile file, part.checked(parse_gguf(part.bytes(), part.path())));
  RZ_TRY(const SplitKeys keys, split_keys(file.metadata));
  const std::string own_path = part.path();
  if (keys.count < 1 || keys.count > kMaxParts || keys.no < 0 || keys.no >= keys.count) {
    return format_error(fmt::format("{}: split.no {} of split.count {}: expected 0 <= no < count <= {}", own_path,
                                    keys.no, keys.count, kMaxParts),
                        own_path);
  }
  if (keys.count == 1) {
    split.metadata = std::move(file.metadata);
    split.entries = std::move(file.entries);
    split.tensors = std::move(file.tensors);
    split.maps.push_back(std::move(part));
    RZ_CHECK_OK(check_tensors_count(split, own_path));
    return split;
  }
  for (int64_t no = 0; no < keys.count; ++no) {
    RZ_TRY(const auto path, part_path(own_path, keys.no, no, keys.count));
    RZ_TRY(MappedFile map, MappedFile::open(path));
    RZ_CHECK_OK(add_part(split, std::move(map), no, keys.count));
  }
  RZ_CHECK_OK(check_tensors_count(split, own_path));
  return split;
}

}  // namespace realizar
