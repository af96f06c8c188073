#include "formats/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>

#include "base/ascii_case.h"
#include "base/mapped_file.h"
#include "base/try.h"
#include "formats/folder_modules.h"
#include "formats/foreign_files.h"
#include "formats/gguf_folder.h"
#include "formats/gguf_reader.h"
#include "formats/hf_folder.h"
#include "formats/layout.h"
#include "formats/split_files.h"

namespace realizar {

struct ModelFile::Impl {
  FileFormat format = FileFormat::kGguf;
  std::filesystem::path path;
  std::filesystem::path side_folder;  // kHuggingFace
  std::vector<MappedFile> maps;
  HfConfig hf_config;  // kHuggingFace: owns what the metadata views
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
