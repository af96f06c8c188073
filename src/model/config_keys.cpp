#include "model/config_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/try.h"
#include "model/tensor_roles.h"

namespace realizar {

Error out_of_range(const ModelFile& file, std::string_view key, std::string_view expected, std::string actual) {
  return format_error(fmt::format("{}: {}: expected {}, actual {}", file.path().string(), key, expected, actual),
                      std::string(key));
}

std::string ConfigKeys::key(std::string_view gguf, std::string_view hf) const {
  if (!is_gguf()) return std::string(hf);
  return gguf.empty() ? "" : std::string(spec_->name) + "." + std::string(gguf);
}

std::optional<double> ConfigKeys::default_of(std::string_view gguf, std::string_view hf) const {
  for (const Default& own : spec_->defaults) {
    const std::string_view name = is_gguf() ? own.gguf : own.hf;
    if (name.empty() || name != (is_gguf() ? gguf : hf)) continue;
    if (!own.gguf_other.empty()) {
      const auto other = file_->metadata().get_double(key(own.gguf_other, ""));
      return other.ok() ? *other : std::nullopt;
    }
    const auto n_layers = file_->metadata().get_int(key("block_count", spec_->hf_keys.n_layers));
    if (own.n_layers == 0 || (n_layers.ok() && *n_layers == own.n_layers)) return own.value;
  }
  return std::nullopt;
}

Result<std::optional<uint32_t>> ConfigKeys::optional_int(std::string_view gguf, std::string_view hf, int64_t min,
                                                         int64_t max) const {
  const std::string name = key(gguf, hf);
  if (name.empty()) return std::optional<uint32_t>();
  RZ_TRY(auto value, file_->metadata().get_int(name));
  if (const auto otherwise = default_of(gguf, hf); !value && otherwise) value = static_cast<int64_t>(*otherwise);
  if (!value) return std::optional<uint32_t>();
  if (*value < min || *value > max) {
    return out_of_range(*file_, name, fmt::format("{} to {}", min, max), std::to_string(*value));
  }
  return std::optional(static_cast<uint32_t>(*value));
}

Result<uint32_t> ConfigKeys::required_int(std::string_view gguf, std::string_view hf, int64_t min, int64_t max) const {
  RZ_TRY(const auto value, optional_int(gguf, hf, min, max));
  if (!value) return out_of_range(*file_, key(gguf, hf), "a whole number", "nothing");
  return *value;
}

bool ConfigKeys::is_list(std::string_view gguf, std::string_view hf) const {
  const MetaValue* value = file_->metadata().find(key(gguf, hf));
  return value != nullptr && std::holds_alternative<MetaArray>(*value);
}

Result<std::optional<std::vector<uint32_t>>> ConfigKeys::layer_ints(std::string_view gguf, std::string_view hf,
                                                                    uint32_t n_layers, int64_t min, int64_t max) const {
  using Numbers = std::optional<std::vector<uint32_t>>;
  if (!is_list(gguf, hf)) {
    RZ_TRY(const auto one, optional_int(gguf, hf, min, max));
    return one ? Numbers(std::in_place, n_layers, *one) : Numbers();
  }
  const std::string name = key(gguf, hf);
  RZ_TRY(const auto list, file_->metadata().get_ints(name));
  // GGUF's lists may include the extra layers that predict further tokens.
  RZ_TRY(const auto n_extra, optional_int("nextn_predict_layers", "", 0, kMaxLayers));
  const size_t n_listed = list ? list->size() : 0;
  if (n_listed != n_layers && n_listed != n_layers + n_extra.value_or(0)) {
    return out_of_range(*file_, name, fmt::format("{} entries", n_layers), std::to_string(n_listed));
  }
  Numbers numbers(std::in_place);
  for (uint32_t i = 0; i < n_layers; ++i) {
    const int64_t value = (*list)[i];
    if (value < min || value > max) {
      return out_of_range(*file_, name, fmt::format("{} to {}", min, max), std::to_string(value));
    }
    numbers->push_back(static_cast<uint32_t>(value));
  }
  return numbers;
}

Result<std::optional<double>> ConfigKeys::optional_positive(std::string_view gguf, std::string_view hf) const {
  const std::string name = key(gguf, hf);
  if (name.empty()) return std::optional<double>();
  RZ_TRY(auto value, file_->metadata().get_double(name));
  if (!value) value = default_of(gguf, hf);
  if (value && !(std::isfinite(*value) && *value > 0)) {
    return out_of_range(*file_, name, "a finite number above 0", fmt::format("{}", *value));
  }
  return value;
}

Result<double> ConfigKeys::required_positive(std::string_view gguf, std::string_view hf) const {
  RZ_TRY(const auto value, optional_positive(gguf, hf));
  if (!value) return out_of_range(*file_, key(gguf, hf), "a finite number above 0", "nothing");
  return *value;
}

const TensorInfo* find_tensor(const ModelFile& file, std::string_view name) {
  const TensorInfo* tensor = file.find(name);
  if (tensor != nullptr || name.empty() || file.format() == FileFormat::kGguf) return tensor;
  const std::string_view bare = name.substr(name.find('.') + 1);
  for (const std::string& other : {std::string(bare), fmt::format("language_model.{}", name),
                                   fmt::format("model.language_model.{}", bare), fmt::format("roberta.{}", bare)}) {
    if (tensor = file.find(other); tensor != nullptr) return tensor;
  }
  return nullptr;
}

std::string why_missing(const ModelFile& file, std::string_view name) {
  const auto empty = std::ranges::find(file.empty_tensors(), name, &TensorInfo::name);
  if (empty == file.empty_tensors().end()) return "is missing";
  return fmt::format("is required, but it is empty in the file: shape [{}]", fmt::join(empty->shape, ", "));
}

const TensorInfo* find_tensor_of(const ConfigKeys& keys, Role role, std::string_view& name) {
  for (const TensorSpec& tensor : keys.spec().tensors) {
    const std::string_view own = keys.is_gguf() ? tensor.gguf : tensor.hf;
    if (tensor.role != role || own.empty()) continue;
    if (name.empty()) name = own;
    if (const TensorInfo* found = find_tensor(keys.file(), own); found != nullptr) return found;
  }
  return nullptr;
}

Result<std::vector<float>> read_vector(const TensorInfo& tensor) {
  const TypeTraits& type = traits(tensor.type);
  if (type.block_elems != 1) {
    return unsupported(fmt::format("tensor '{}': a vector of type {} is not supported", tensor.name, type.name),
                       tensor.name);
  }
  std::vector<float> values(tensor.n_elems());
  type.decode(tensor.data.data(), values.data(), values.size());
  return values;
}

Result<std::optional<float>> read_number(const ConfigKeys& keys, Role role, uint32_t layer) {
  for (const TensorSpec& spec : keys.spec().tensors) {
    if (spec.role != role) continue;
    const std::string name = filled_name(keys.is_gguf() ? spec.gguf : spec.hf, layer, 0);
    const TensorInfo* tensor = find_tensor(keys.file(), name);
    if (tensor == nullptr || tensor->n_elems() != 1) continue;  // the binder reports the shape
    RZ_TRY(const auto values, read_vector(*tensor));
    if (std::isfinite(values[0])) return std::optional(values[0]);
    return out_of_range(keys.file(), name, "a finite number", fmt::format("{}", values[0]));
  }
  return std::optional<float>();
}

bool knows_role(const ArchSpec& spec, Role role) {
  return std::ranges::any_of(spec.tensors, [role](const TensorSpec& tensor) { return tensor.role == role; });
}

bool is_optional(const ArchSpec& spec, Role role) {
  return std::ranges::any_of(
      spec.tensors, [&](const TensorSpec& tensor) { return tensor.role == role && tensor.need == Need::kOptional; });
}

bool has_role(const ConfigKeys& keys, Role role, uint32_t layer) {
  return std::ranges::any_of(keys.spec().tensors, [&](const TensorSpec& tensor) {
    if (tensor.role != role) return false;
    return find_tensor(keys.file(), filled_name(keys.is_gguf() ? tensor.gguf : tensor.hf, layer, 0)) != nullptr;
  });
}

}  // namespace realizar
