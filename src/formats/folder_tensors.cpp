#include "formats/folder_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/try.h"
#include "formats/layout.h"

namespace realizar {

TypeId TensorPart::float_type() const {
  return dtype == "F32" ? TypeId::kF32 : dtype == "BF16" ? TypeId::kBF16 : TypeId::kF16;
}

FolderTensors::FolderTensors(const Metadata& config, std::string_view file, const std::vector<TensorInfo>& tensors,
                             const std::vector<RawTensor>& raws)
    : config_(config), file_(file) {
  for (const TensorInfo& tensor : tensors) {
    parts_[tensor.name] = {std::string(traits(tensor.type).name), tensor.shape, tensor.data};
  }
  for (const RawTensor& raw : raws) parts_[raw.name] = {raw.dtype, raw.shape, raw.data};
}

const TensorPart* FolderTensors::find(const std::string& name) const {
  const auto found = parts_.find(name);
  return found == parts_.end() ? nullptr : &found->second;
}

std::vector<std::string> FolderTensors::bases(std::string_view end) const {
  std::vector<std::string> names;
  for (const auto& [name, part] : parts_) {
    if (name.size() > end.size() && name.ends_with(end)) names.push_back(name.substr(0, name.size() - end.size()));
  }
  return names;
}

Result<const TensorPart*> FolderTensors::take(const std::string& name, std::initializer_list<std::string_view> dtypes,
                                              const std::vector<uint64_t>& shape) {
  const TensorPart* part = find(name);
  if (part == nullptr) return missing(name);
  if (std::ranges::find(dtypes, part->dtype) == dtypes.end() || (!shape.empty() && part->shape != shape)) {
    return format_error(
        fmt::format("{}: tensor '{}': expected {}{}, actual {} {}", file_, name, fmt::join(dtypes, " or "),
                    shape.empty() ? "" : " " + shape_to_string(shape), part->dtype, shape_to_string(part->shape)),
        name);
  }
  taken_.insert(name);
  return part;
}

void FolderTensors::add(std::string name, TypeId type, std::vector<uint64_t> shape, std::span<const std::byte> data,
                        std::unique_ptr<PackedMatrix> packed) {
  made_.push_back({std::move(name), type, std::move(shape), data, std::move(packed)});
}

void FolderTensors::note(std::string text) {
  if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(std::move(text));
}

Result<std::string> FolderTensors::text(const std::string& key, std::string_view otherwise) const {
  RZ_TRY(const auto value, config_.get_string("quantization_config." + key));
  return value.value_or(std::string(otherwise));
}

Result<bool> FolderTensors::flag(const std::string& key, bool otherwise) const {
  RZ_TRY(const auto value, config_.get_bool("quantization_config." + key));
  return value.value_or(otherwise);
}

Result<int64_t> FolderTensors::number(const std::string& key, int64_t otherwise) const {
  RZ_TRY(const auto value, config_.get_int("quantization_config." + key));
  return value.value_or(otherwise);
}

Result<std::optional<double>> FolderTensors::real(const std::string& key) const {
  return config_.get_double("quantization_config." + key);
}

Error FolderTensors::refused(std::string_view what) const {
  return unsupported(fmt::format("{}: quantization_config: {}", file_, what), std::string(file_));
}

Error FolderTensors::missing(const std::string& name) const {
  return format_error(fmt::format("{}: tensor '{}' is missing, without which the matrix cannot be read", file_, name),
                      name);
}

Error FolderTensors::uneven(const std::string& name, const std::vector<uint64_t>& shape) const {
  return format_error(fmt::format("{}: tensor '{}': a shape of {} does not go with the bits and groups of its matrix",
                                  file_, name, shape_to_string(shape)),
                      name);
}

}  // namespace realizar
