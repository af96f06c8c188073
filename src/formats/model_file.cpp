#include "formats/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/ascii_case.h"
#include "base/mapped_file.h"
#include "base/printable.h"
#include "base/try.h"
#include "formats/folder_modules.h"
#include "formats/foreign_files.h"
#include "formats/gguf_format.h"
#include "formats/gguf_kind.h"
#include "formats/gguf_reader.h"
#include "formats/hf_folder.h"
#include "formats/layout.h"
#include "formats/part_name.h"

namespace realizar {

struct ModelFile::Impl {
  FileFormat format = FileFormat::kGguf;
  std::filesystem::path path;
  std::filesystem::path side_folder;  // kHuggingFace
  std::vector<MappedFile> maps;
  HfConfig hf_config;  // kHuggingFace: owns the data that the metadata views
  Metadata metadata;
  std::vector<GgufEntry> gguf_entries;
  std::vector<TensorInfo> tensors, empty_tensors;
  TensorIndex index;
  std::vector<std::string> notes;
};

namespace {

bool is_gguf(const MappedFile& file) {
  const auto bytes = file.bytes();
  return bytes.size() >= 4 && std::string_view(reinterpret_cast<const char*>(bytes.data()), 4) == "GGUF";
}

Error not_gguf(const MappedFile& file, const std::string& path) {
  const std::string advice = foreign_file_advice(file.bytes());
  if (!advice.empty()) return unsupported(fmt::format("{}: this is {}", path, advice), path);
  return format_error(
      fmt::format("{}: expected a GGUF file, a .safetensors file or a folder; the file does not begin with 'GGUF'",
                  path),
      path);
}

std::vector<TensorInfo> take_empty(std::vector<TensorInfo>& tensors) {
  const auto first = std::stable_partition(tensors.begin(), tensors.end(),
                                           [](const TensorInfo& tensor) { return tensor.n_elems() > 0; });
  std::vector<TensorInfo> empty(std::make_move_iterator(first), std::make_move_iterator(tensors.end()));
  tensors.erase(first, tensors.end());
  return empty;
}

// A GGUF file split into parts NAME-00001-of-0000N.gguf (keys split.no, split.count, split.tensors.count). Parts that
// realizar writes have the id of their set (split.set_id), so that parts of two models are never mixed; parts from
// other programs have none.
struct SplitGguf {
  std::vector<MappedFile> maps;
  Metadata metadata;               // of the first part
  std::vector<GgufEntry> entries;  // the same entries as stored
  std::vector<TensorInfo> tensors;
};

constexpr int64_t kMaxParts = 99999;  // five digits in the name

struct SplitKeys {
  int64_t no = 0, count = 1;
};

Result<SplitKeys> split_keys(const Metadata& metadata) {
  RZ_TRY(const auto no, metadata.get_int("split.no"));
  RZ_TRY(const auto count, metadata.get_int("split.count"));
  // A file merged by llama-gguf-split keeps the keys, with a count of 0.
  const bool is_merged = no == 0 && count == 0;
  return SplitKeys{no.value_or(0), is_merged ? 1 : count.value_or(1)};
}

// The path of part `no`, derived from the path of part `own_no`, whose name must have that form, ignoring case.
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

// Compares the announced number of tensors with the total over all parts.
Status check_tensors_count(const SplitGguf& split, const std::string& path) {
  RZ_TRY(const auto n_tensors, split.metadata.get_int("split.tensors.count"));
  if (!n_tensors || *n_tensors == static_cast<int64_t>(split.tensors.size())) return {};
  return format_error(fmt::format("{}: split.tensors.count: expected {}, actual {} tensors in all parts", path,
                                  split.tensors.size(), *n_tensors),
                      path);
}

// Parts of two sets may agree in everything else, such as today's and last week's version of a model.
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

// Reads `part`, and the other parts if it is one of several. Errors: NotFound (a part), FormatError.
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

}  // namespace

uint64_t TensorInfo::n_elems() const {
  uint64_t n = 1;
  for (const uint64_t dim : shape) n *= dim;
  return n;
}

uint64_t TensorInfo::n_bytes() const {
  return packed == nullptr ? data.size() : row_bytes(traits(type), n_elems());
}

Result<ModelFile> ModelFile::open(const std::filesystem::path& given) {
  auto impl = std::make_unique<Impl>();
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(given, error);
  const bool is_gguf_folder = is_folder && !is_hf_folder(given);
  std::filesystem::path path = given;
  if (is_gguf_folder) {
    RZ_TRY(path, find_gguf(given));
  }
  impl->path = path;
  if ((is_folder && !is_gguf_folder) || equals_ignoring_case(path.extension().string(), ".safetensors")) {
    impl->format = FileFormat::kHuggingFace;
    RZ_TRY(HfFolder folder, open_hf_folder(path));
    impl->side_folder = std::move(folder.root);
    impl->maps = std::move(folder.maps);
    impl->hf_config = std::move(folder.config);
    impl->metadata = std::move(impl->hf_config.metadata);
    impl->tensors = std::move(folder.tensors);
    impl->notes = std::move(folder.notes);
  } else {
    RZ_TRY(MappedFile map, MappedFile::open(path));
    if (!is_gguf(map)) {
      return not_gguf(map, path.string());
    }
    RZ_TRY(SplitGguf split, open_gguf_parts(std::move(map)));
    impl->maps = std::move(split.maps);
    impl->metadata = std::move(split.metadata);
    impl->gguf_entries = std::move(split.entries);
    impl->tensors = std::move(split.tensors);
  }
  impl->empty_tensors = take_empty(impl->tensors);
  RZ_TRY(impl->index, index_tensors(impl->tensors, path.string()));
  return ModelFile(std::move(impl));
}

Result<ModelFile> ModelFile::described(const std::filesystem::path& path, FileFormat format, HfConfig metadata,
                                       std::vector<TensorInfo> tensors) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->side_folder = path.parent_path();
  impl->format = format;
  impl->hf_config = std::move(metadata);
  impl->metadata = std::move(impl->hf_config.metadata);
  impl->tensors = std::move(tensors);
  RZ_TRY(impl->index, index_tensors(impl->tensors, path.string()));
  return ModelFile(std::move(impl));
}

ModelFile::ModelFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ModelFile::ModelFile(ModelFile&&) noexcept = default;
ModelFile& ModelFile::operator=(ModelFile&&) noexcept = default;
ModelFile::~ModelFile() = default;

FileFormat ModelFile::format() const {
  return impl_->format;
}
const std::filesystem::path& ModelFile::path() const {
  return impl_->path;
}
const Metadata& ModelFile::metadata() const {
  return impl_->metadata;
}
std::span<const GgufEntry> ModelFile::gguf_entries() const {
  return impl_->gguf_entries;
}
std::span<const TensorInfo> ModelFile::tensors() const {
  return impl_->tensors;
}

std::span<const TensorInfo> ModelFile::empty_tensors() const {
  return impl_->empty_tensors;
}

std::span<const std::string> ModelFile::notes() const {
  return impl_->notes;
}

std::vector<std::filesystem::path> ModelFile::files() const {
  std::vector<std::filesystem::path> files{impl_->path};
  for (const MappedFile& map : impl_->maps) {
    if (map.path() != impl_->path.string()) files.emplace_back(map.path());
  }
  return files;
}

uint64_t ModelFile::file_bytes() const {
  uint64_t bytes = 0;
  for (const MappedFile& map : impl_->maps) bytes += map.bytes().size();
  return bytes;
}

Status ModelFile::check() const {
  for (const MappedFile& map : impl_->maps) RZ_CHECK_OK(map.check());
  return {};
}

const TensorInfo* ModelFile::find(std::string_view name) const {
  const auto found = impl_->index.find(name);
  return found == impl_->index.end() ? nullptr : &impl_->tensors[found->second];
}

Result<SideFiles> ModelFile::side_files() const {
  if (impl_->format == FileFormat::kGguf) return SideFiles{};
  return read_side_files(impl_->side_folder);
}

void ModelFile::release(std::span<const std::byte> data) const {
  if (!impl_->maps.empty()) impl_->maps.front().release(data);
}

}  // namespace realizar
