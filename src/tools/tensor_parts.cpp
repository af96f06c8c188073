#include "tools/tensor_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "formats/packed_matrix.h"
#include "model/config_keys.h"
#include "model/tensor_roles.h"
#include "tools/weave.h"

namespace realizar {
namespace {

// Index of this part in the fused tensor, or nullopt.
std::optional<size_t> index_in(const Fusion& fusion, Role role) {
  const auto found = std::ranges::find(fusion.parts, role);
  if (found == fusion.parts.end()) return std::nullopt;
  return static_cast<size_t>(found - fusion.parts.begin());
}

}  // namespace

int32_t config_layer(const ModelConfig& config, const TensorSpec& spec, int32_t file_layer) {
  if (file_layer < 0) return -1;
  const int32_t first = file_layer * static_cast<int32_t>(config.n_layers_each);
  for (int32_t layer = first; layer < first + static_cast<int32_t>(config.n_layers_each); ++layer) {
    if (size_of(config, layer, spec.rows) > 0 && size_of(config, layer, spec.cols) > 0) return layer;
  }
  return first;
}

std::optional<Role> unused_twin(const ModelConfig& config, Role role, int32_t file_layer) {
  if (file_layer != 0 || !std::holds_alternative<Rwkv7Config>(config.layers.front().mixer)) return std::nullopt;
  if (role == Role::kVShareLow) return Role::kRateLow;
  if (role == Role::kVShare) return Role::kRate;
  if (role == Role::kVShareBias) return Role::kRateBias;
  return std::nullopt;
}

uint64_t TensorParts::size_of(const Part& part, Dim dim) const {
  const uint32_t n_skipped = is_hf() && dim == Dim::kCtx ? spec_.hf_keys.n_skipped_positions : 0;
  const int32_t n_each = static_cast<int32_t>(config_.n_layers_each), first = std::max(part.layer, 0) * n_each;
  for (int32_t layer = first; layer < first + n_each; ++layer) {
    if (const uint64_t size = realizar::size_of(config_, layer, dim); size > 0) return size + n_skipped;
  }
  return 0;
}

std::string_view TensorParts::pattern_of(const TensorSpec& spec) const {
  return is_hf() ? spec.hf : spec.gguf;
}

const TensorInfo* TensorParts::find(std::string_view pattern, int32_t layer, uint32_t index) const {
  if (pattern.empty()) return nullptr;
  return find_tensor(file_, filled_name(pattern, layer < 0 ? index : static_cast<uint32_t>(layer), index));
}

const TensorSpec* TensorParts::spec_of(const Part& part) const {
  for (const TensorSpec& spec : spec_.tensors) {
    if (spec.role != part.role || !is_of_layer(spec, part)) continue;
    if (find(pattern_of(spec), part.layer, 0) != nullptr) return &spec;
    if (!is_hf() && find(spec.gguf_per_expert, part.layer, 0) != nullptr) return &spec;
  }
  return nullptr;
}

// Two roles may share a name if a layer has only one of them.
bool TensorParts::is_of_layer(const TensorSpec& spec, const Part& part) const {
  const Dim stack = stack_dim(spec.role);
  return size_of(part, spec.rows) > 0 && size_of(part, spec.cols) > 0 && size_of(part, stack) > 0;
}

std::optional<Weave> TensorParts::weave_in(const Fusion& fusion, const Part& whole) const {
  const TensorSpec* spec = spec_of(whole);
  if (spec == nullptr || whole.layer < 0) return std::nullopt;
  const auto layer = static_cast<size_t>(config_layer(config_, *spec, whole.layer));
  return weave_of(fusion, spec_, config_.layers[layer], is_hf());
}

bool TensorParts::has(const Part& part) const {
  if (spec_of(part) != nullptr) return true;
  return std::ranges::any_of(fusions(), [&](const Fusion& fusion) {
    if (index_in(fusion, part.role)) return weave_in(fusion, {fusion.whole, part.layer}).has_value();
    return fusion.whole == part.role && std::ranges::all_of(fusion.parts, [&](Role role) {
             return spec_of({role, part.layer}) != nullptr;
           });
  });
}

std::vector<const TensorInfo*> TensorParts::tensors_of(const TensorSpec& spec, const Part& part) const {
  std::string_view pattern = pattern_of(spec);
  if (find(pattern, part.layer, 0) == nullptr && !is_hf()) pattern = spec.gguf_per_expert;
  const uint64_t n = is_by_row(spec, pattern)   ? size_of(part, spec.rows)
                     : is_listed(spec, pattern) ? size_of(part, stack_dim(spec.role))
                                                : 1;
  std::vector<const TensorInfo*> tensors;
  for (uint32_t i = 0; i < n; ++i) tensors.push_back(find(pattern, part.layer, i));
  return tensors;
}

// Some folders store matrices as [in, out].
Result<MatrixRows> TensorParts::unturned(const TensorSpec& spec, const TensorInfo& tensor, uint64_t n_rows,
                                         uint64_t n_cols) const {
  const Role role = spec.role;
  const bool is_table = role == Role::kEmbed || role == Role::kPositionEmbed || role == Role::kHead;
  const bool is_of_stack = is_hf() && is_stack(role, spec.hf);
  bool is_turned = is_hf() && spec_.hf_transposes_linear() && spec.cols != Dim::kNone && !is_table;
  if (is_of_stack && spec_.hf_transposes_experts()) is_turned = is_expert_role(role) && tensor.packed == nullptr;
  if (is_of_stack && spec_.hf_has_flat_experts()) is_turned = role == Role::kExpertDown;
  RZ_CHECK_OK(check_rows(tensor, is_turned ? n_rows : n_cols));
  if (is_turned) return turned_rows(stored_rows(file_, tensor, n_rows), n_cols);
  MatrixRows rows = stored_rows(file_, tensor, n_cols);
  if (is_hf() || tensor.type != TypeId::kNVFP4) return rows;
  const TensorInfo* factors = file_.find(tensor.name.substr(0, tensor.name.rfind('.')) + ".scale");
  const auto values = factors == nullptr ? Result<std::vector<float>>(std::vector<float>{1}) : read_vector(*factors);
  if (!values.ok() || values->empty()) return rows;
  return changed_rows(std::move(rows), [values = *values, n_rows](uint64_t row, std::span<float> elems) {
    for (float& elem : elems) elem *= values[std::min<size_t>(row / n_rows, values.size() - 1)];
  });
}

Result<MatrixRows> TensorParts::own_rows(const TensorSpec& spec, const Part& part) {
  const bool is_matrix = spec.cols != Dim::kNone;
  const uint64_t n_rows = size_of(part, spec.rows), n_cols = is_matrix ? size_of(part, spec.cols) : 1;
  std::vector<MatrixRows> all;
  const std::vector<const TensorInfo*> tensors = tensors_of(spec, part);
  const uint64_t n_mats = stack_dim(spec.role) == Dim::kNone ? 1 : size_of(part, stack_dim(spec.role));
  for (const TensorInfo* tensor : tensors) {
    if (tensor == nullptr) {
      return not_found(fmt::format("{}: a tensor of '{}' is missing in layer {}", file_.path().string(),
                                   pattern_of(spec), part.layer));
    }
    const uint64_t expected = n_rows * n_cols * n_mats / tensors.size();
    if (tensor->n_elems() != expected || expected == 0) {
      return format_error(fmt::format("{}: tensor '{}': expected {} elements, actual shape [{}]", file_.path().string(),
                                      tensor->name, expected, fmt::join(tensor->shape, ", ")),
                          tensor->name);
    }
    claimed_.insert(tensor);
    if (const TensorInfo* scales = file_.find(tensor->name.substr(0, tensor->name.rfind('.')) + ".scale")) {
      claimed_.insert(scales);
    }
    for (const char* end : {"_scale_inv", "_scale"}) {
      if (const TensorInfo* scales = file_.find(tensor->name + end)) claimed_.insert(scales);
    }
    RZ_TRY(MatrixRows rows, unturned(spec, *tensor, n_rows, n_cols));
    all.push_back(std::move(rows));
  }
  MatrixRows rows = joined_rows(std::move(all));
  const uint32_t n_skipped = is_hf() && spec.rows == Dim::kCtx ? spec_.hf_keys.n_skipped_positions : 0;
  if (n_skipped == 0) return rows;
  return ordered_rows(std::move(rows), n_rows - n_skipped, [n_skipped](uint64_t row) { return row + n_skipped; });
}

Result<MatrixRows> TensorParts::fused_rows(const Fusion& fusion, size_t index, const Part& part) {
  const Part whole{fusion.whole, part.layer};
  const TensorSpec& spec = *spec_of(whole);
  const auto weave = weave_in(fusion, whole);
  if (!weave) {
    return unsupported(
        fmt::format("{}: '{}' of layer {} has no known parts", file_.path().string(), pattern_of(spec), part.layer));
  }
  RZ_TRY(MatrixRows rows, own_rows(spec, whole));
  if (fusion.is_of_elements) rows = reshaped_rows(std::move(rows), 1);
  return unwoven(std::move(rows), *weave, index);
}

Result<MatrixRows> TensorParts::rows(const Part& part) {
  const auto in_gguf_form = [&](const TensorSpec& spec, MatrixRows rows) {
    return is_hf() ? forms_.to_gguf(part.role, config_layer(config_, spec, part.layer), std::move(rows))
                   : std::move(rows);
  };
  if (const TensorSpec* spec = spec_of(part)) {
    RZ_TRY(MatrixRows rows, own_rows(*spec, part));
    return in_gguf_form(*spec, std::move(rows));
  }
  for (const Fusion& fusion : fusions()) {
    const auto index = index_in(fusion, part.role);
    const TensorSpec* spec = index ? spec_of({fusion.whole, part.layer}) : nullptr;
    if (spec == nullptr || !weave_in(fusion, {fusion.whole, part.layer})) continue;
    RZ_TRY(MatrixRows rows, fused_rows(fusion, *index, part));
    return in_gguf_form(*spec, std::move(rows));
  }
  return not_found(fmt::format("{}: a part of layer {} is missing", file_.path().string(), part.layer));
}

std::optional<std::vector<float>> TensorParts::factors(const Part& part) const {
  const TensorSpec* spec = spec_of(part);
  for (const Fusion& fusion : fusions()) {
    if (spec == nullptr && index_in(fusion, part.role)) spec = spec_of({fusion.whole, part.layer});
  }
  if (spec == nullptr) return std::nullopt;
  std::vector<float> factors;
  for (const TensorInfo* tensor : tensors_of(*spec, part)) {
    if (tensor == nullptr || tensor->packed == nullptr || !tensor->packed->factor()) return std::nullopt;
    factors.push_back(*tensor->packed->factor());
  }
  return factors;
}

void TensorParts::claim(Role role) {
  for (const TensorSpec& spec : spec_.tensors) {
    const std::string_view pattern = pattern_of(spec);
    if (spec.role != role || pattern.empty()) continue;
    const uint32_t n_file_layers = n_placeholders(pattern) > 0 ? realizar::n_file_layers(config_) : 1;
    for (uint32_t layer = 0; layer < n_file_layers; ++layer) {
      if (const TensorInfo* tensor = find(pattern, static_cast<int32_t>(layer), 0)) claimed_.insert(tensor);
    }
  }
}

std::vector<const TensorInfo*> TensorParts::unclaimed() const {
  std::vector<const TensorInfo*> rest;
  for (const TensorInfo& tensor : file_.tensors()) {
    if (!claimed_.contains(&tensor) && !is_unused(file_, spec_, tensor)) rest.push_back(&tensor);
  }
  return rest;
}

Result<MatrixRows> rows_of_whole(const TensorParts& parts, const TensorSpec& tensor, const Part& part,
                                 const ArchSpec& target, const ModelConfig& config, bool is_hf,
                                 const std::function<Result<MatrixRows>(const Part&)>& rows_of) {
  const auto fusion = std::ranges::find(fusions(), tensor.role, &Fusion::whole);
  const int32_t layer = config_layer(config, tensor, part.layer);
  const auto weave = fusion == fusions().end() || layer < 0
                         ? std::nullopt
                         : weave_of(*fusion, target, config.layers[static_cast<size_t>(layer)], is_hf);
  // Tensors that make keys and values from a latent have the same layout in both formats.
  const bool is_alike = tensor.role == Role::kLatentKv && parts.spec_of(part) != nullptr;
  if (!weave || is_alike) return rows_of(part);
  std::vector<MatrixRows> all;
  for (const Role role : fusion->parts) {
    RZ_TRY(MatrixRows rows, rows_of({role, part.layer}));
    all.push_back(fusion->is_of_elements ? reshaped_rows(std::move(rows), 1) : std::move(rows));
  }
  return woven(all, *weave);
}

}  // namespace realizar
