#include "model/tensor_binder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/try.h"
#include "model/config_reader.h"
#include "model/tensor_roles.h"
#include "quant/finite.h"

namespace realizar {

std::vector<float> TensorBinder::Part::of(const std::vector<float>& fused) const {
  std::vector<float> own(n_rows);
  for (uint32_t row = 0; row < n_rows; ++row) own[row] = fused[row_at(row)];
  return own;
}

TensorBinder::TensorBinder(const ModelFile& file, const ArchSpec& spec, const ModelConfig& config, Backend* backend,
                           const ModelOptions& options)
    : file_(file), spec_(spec), config_(config), backend_(backend), options_(options) {}

Error TensorBinder::not_finite(const TensorInfo& tensor) const {
  return format_error(fmt::format("{}: tensor '{}' of type {} holds NaN or an infinity: the file is damaged, or was "
                                  "made from damaged weights",
                                  file_.path().string(), tensor.name, traits(tensor.type).name),
                      tensor.name);
}

uint64_t TensorBinder::size_of(Dim dim) const {
  const uint32_t n_skipped = dim == Dim::kCtx ? n_skipped_positions() : 0;
  return realizar::size_of(config_, layer_, dim) + n_skipped;
}

uint32_t TensorBinder::n_skipped_positions() const {
  return is_gguf() ? 0 : spec_.hf_keys.n_skipped_positions;
}

const TensorInfo* TensorBinder::first_of(Role role) const {
  const TensorSpec* spec = spec_of(role);
  return spec == nullptr ? nullptr : find(pattern_of(*spec), 0);
}

bool TensorBinder::is_in_file(Role role) const {
  return first_of(role) != nullptr;
}

bool TensorBinder::is_known(Role role) const {
  const TensorSpec* spec = spec_of(role);
  return spec != nullptr && !pattern_of(*spec).empty();
}

uint32_t TensorBinder::shard_unit(Role reader, uint32_t n_together) const {
  const TensorInfo* tensor = first_of(reader);
  if (tensor == nullptr) return 0;
  const uint32_t block = tensor->type == TypeId::kF8_E4M3 ? kF8ScaleCols : traits(tensor->type).block_elems;
  return std::lcm(n_together, block);
}

bool TensorBinder::has_row_factors(Role role) const {
  const TensorInfo* tensor = first_of(role);
  return tensor != nullptr && tensor->type == TypeId::kNVFP4;
}

Result<WeightId> TensorBinder::matrix(Role role, std::vector<uint32_t> row_order, uint32_t shard_unit) {
  RZ_TRY(const Found found, find_role(role));
  if (found.tensors.empty()) return kNoWeight;
  const auto n_rows = static_cast<uint32_t>(size_of(spec_of(role)->rows));
  return load_rows(found, role, {.n_rows = n_rows, .row_order = std::move(row_order), .shard_unit = shard_unit});
}

Result<std::vector<WeightId>> TensorBinder::matrices(Role role) {
  RZ_TRY(const Found found, find_role(role));
  const TensorSpec& spec = *spec_of(role);
  const auto n_rows = static_cast<uint32_t>(size_of(spec.rows)), n_cols = static_cast<uint32_t>(size_of(spec.cols));
  const auto n_mats = static_cast<uint32_t>(size_of(stack_dim(role)));
  const bool is_one_stack = found.tensors.size() == 1;
  std::vector<WeightId> weights;
  for (uint32_t i = 0; i < n_mats; ++i) {
    const Found own{{found.tensors[is_one_stack ? 0 : i]}};
    const TensorInfo& tensor = *own.tensors.front();
    const Part part{.first_row = is_one_stack ? i * n_rows : 0, .n_rows = n_rows};
    if (backend_ == nullptr) {
      RZ_TRY(const WeightId checked, check_rows(own, {.n_rows = n_rows}));
      weights.push_back(checked);
      continue;
    }
    std::vector<std::byte> unpacked;
    RZ_TRY(const auto stored, bytes_of(tensor, unpacked));
    RZ_TRY(const auto scales, row_scales(own, {.n_rows = n_rows}));
    const size_t n_bytes = n_rows * row_bytes(traits(tensor.type), n_cols);
    const size_t n_scales = size_t{n_rows} * n_row_scales(tensor.type, n_cols);
    MatrixSource source;
    source.name = tensor.name;
    source.type = tensor.type;
    source.n_rows = n_rows;
    source.n_cols = n_cols;
    source.pieces = {is_one_stack ? stored.subspan(i * n_bytes, n_bytes) : stored};
    source.scales = std::span(scales).subspan(scales.size() > n_scales ? i * n_scales : 0, n_scales);
    source.layer = layer_;
    source.shard = spec.shard;
    RZ_TRY(const WeightId weight, load(source, own, part));
    weights.push_back(weight);
  }
  return weights;
}

Result<std::vector<WeightId>> TensorBinder::split_matrix(Role role, const std::vector<Part>& parts) {
  RZ_TRY(const Found found, find_role(role));
  const TensorSpec& spec = *spec_of(role);
  if (found.tensors.empty()) return missing(spec, pattern_of(spec), 0);
  std::vector<WeightId> weights;
  for (const Part& part : parts) {
    RZ_TRY(const WeightId weight, load_rows(found, role, part));
    weights.push_back(weight);
  }
  return weights;
}

Result<std::vector<float>> TensorBinder::values(Role role) {
  RZ_TRY(const Found found, find_role(role));
  std::vector<float> values;
  for (const TensorInfo* tensor : found.tensors) {
    RZ_TRY(const auto own, read_vector(*tensor));
    if (!all_finite(tensor->type, tensor->data.data(), own.size())) return not_finite(*tensor);
    RZ_CHECK_OK(finish_values(*tensor));
    values.insert(values.end(), own.begin(), own.end());
  }
  return values;
}

Result<std::vector<float>> TensorBinder::norm_values(Role role) {
  RZ_TRY(auto values, this->values(role));
  if (!spec_.hf_norm_plus_one || is_gguf()) return values;
  for (float& value : values) value += 1.0f;
  return values;
}

Result<WeightId> TensorBinder::repeated_vector(Role role, uint32_t n_times) {
  RZ_TRY(const auto own, this->values(role));
  std::vector<float> all;
  for (uint32_t i = 0; i < n_times; ++i) all.insert(all.end(), own.begin(), own.end());
  return upload(all);
}

Result<WeightId> TensorBinder::decay() {
  RZ_TRY(auto values, this->values(Role::kSsmA));
  if (!is_gguf()) {
    for (float& value : values) value = -std::exp(value);
  }
  return upload(values);
}

Result<WeightId> TensorBinder::upload(const std::vector<float>& values) {
  if (values.empty()) return kNoWeight;
  if (backend_ == nullptr) return kChecked;
  auto loaded = backend_->load_vector(values, layer_);
  if (loaded.ok() || loaded.error().code != ErrorCode::kResourceExhausted) return loaded;
  Error error = std::move(loaded).error();
  const std::string where = layer_ >= 0 ? fmt::format(" of layer {}", file_layer()) : "";
  error.message = fmt::format("a vector{}: {}", where, error.message);
  return error;
}

Result<WeightId> TensorBinder::vector(Role role) {
  RZ_TRY(const auto values, this->values(role));
  return upload(values);
}

Result<WeightId> TensorBinder::norm(Role role) {
  RZ_TRY(const auto values, norm_values(role));
  return upload(values);
}

void TensorBinder::ignore(Role role) {
  if (const TensorInfo* tensor = first_of(role); tensor != nullptr) claimed_.insert(tensor);
}

Result<WeightId> TensorBinder::positions() {
  RZ_TRY(const Found found, find_role(Role::kPositionEmbed));
  if (found.tensors.empty()) return kNoWeight;
  return load_rows(found, Role::kPositionEmbed,
                   {.first_row = n_skipped_positions(), .n_rows = config_.n_ctx_train, .is_alone = true});
}

Result<WeightId> TensorBinder::head() {
  RZ_TRY(const Found head, find_role(Role::kHead));
  if (config_.is_head_tied) return kNoWeight;
  const TensorSpec* spec = spec_of(Role::kHead);
  if (head.tensors.empty()) return missing(*spec, pattern_of(*spec), 0);
  if (config_.has_unit_head) return load_unit_rows(head);
  return load_rows(head, Role::kHead, {.n_rows = config_.n_vocab, .shard_unit = kHeadShardUnit});
}

Status TensorBinder::claim_ignored() {
  for (const TensorSpec& spec : spec_.tensors) {
    // Already folded into the config.
    const bool is_in_config = spec.role == Role::kRopeFactors || spec.role == Role::kRopeShort ||
                              spec.role == Role::kRopeLong || spec.role == Role::kLayerScale ||
                              spec.role == Role::kXieluAlphaP || spec.role == Role::kXieluAlphaN ||
                              spec.role == Role::kXieluBeta || spec.role == Role::kXieluEps;
    if (spec.role != Role::kIgnored && !is_in_config) continue;
    const std::string_view pattern = is_gguf() ? spec.gguf : spec.hf;
    for (uint32_t layer = 0; layer < (n_placeholders(pattern) > 0 ? config_.n_layers : 1); ++layer) {
      const TensorInfo* tensor = find(pattern, layer, 0);
      if (tensor == nullptr) continue;
      if (is_in_config) RZ_CHECK_OK(check_shape(*tensor, {size_of(spec.rows)}));
      claimed_.insert(tensor);
    }
  }
  return claim_extra_layers();
}

Status TensorBinder::claim_extra_layers() {
  RZ_TRY(const uint32_t n_extra, read_n_extra_layers(ConfigKeys(file_, spec_)));
  const std::string_view layers = is_gguf() ? "blk." : "model.layers.";
  const uint32_t n_own = n_file_layers(config_);
  for (uint32_t layer = n_own; layer < n_own + n_extra; ++layer) {
    const std::string begin = fmt::format("{}{}.", layers, layer);
    for (const TensorInfo& tensor : file_.tensors()) {
      if (tensor.name.starts_with(begin)) claimed_.insert(&tensor);
    }
  }
  return {};
}

Status TensorBinder::check_all_claimed() const {
  for (const TensorInfo& tensor : file_.tensors()) {
    if (claimed_.contains(&tensor) || is_unused(file_, spec_, tensor)) continue;
    return unsupported(fmt::format("{}: tensor '{}' of shape [{}] does not belong to architecture '{}'",
                                   file_.path().string(), tensor.name, fmt::join(tensor.shape, ", "), spec_.name),
                       tensor.name);
  }
  return {};
}

std::optional<uint64_t> TensorBinder::weights_hash() const {
  return options_.hash_weights ? std::optional(weights_hash_) : std::nullopt;
}

// The table row that matches a tensor of this file, or the first row for its format.
const TensorSpec* TensorBinder::spec_of(Role role) const {
  const TensorSpec* first = nullptr;
  for (const TensorSpec& spec : spec_.tensors) {
    if (spec.role != role) continue;
    const std::string_view pattern = pattern_of(spec);
    if (find(pattern, 0) != nullptr) return &spec;
    if (first == nullptr || (!pattern.empty() && pattern_of(*first).empty())) first = &spec;
  }
  return first;
}

const TensorInfo* TensorBinder::find(std::string_view name_pattern, uint32_t layer, uint32_t expert) const {
  return name_pattern.empty() ? nullptr : find_tensor(file_, filled_name(name_pattern, layer, expert));
}

// Outside layers the single placeholder of a name is the index within the file's list.
const TensorInfo* TensorBinder::find(std::string_view name_pattern, uint32_t expert) const {
  return find(name_pattern, layer_ < 0 ? expert : file_layer(), expert);
}

Status TensorBinder::check_shape(const TensorInfo& tensor, std::vector<uint64_t> expected) const {
  // Dimensions of 1 are ignored: GGUF stores a matrix with one row as a vector, and Hugging Face's depthwise
  // convolutions have a channel dimension.
  const auto without_ones = [](std::vector<uint64_t> shape) {
    std::erase(shape, 1u);
    return shape;
  };
  if (without_ones({tensor.shape.begin(), tensor.shape.end()}) == without_ones(expected)) return {};
  return format_error(fmt::format("{}: tensor '{}': expected shape [{}], actual [{}]", file_.path().string(),
                                  tensor.name, fmt::join(expected, ", "), fmt::join(tensor.shape, ", ")),
                      tensor.name);
}

Error TensorBinder::missing(const TensorSpec& spec, std::string_view pattern, uint32_t expert) const {
  std::vector<uint64_t> shape{size_of(spec.rows)};
  if (spec.cols != Dim::kNone) shape.push_back(size_of(spec.cols));
  if (is_stack(spec.role, pattern)) shape.insert(shape.begin(), size_of(stack_dim(spec.role)));
  const std::string name = filled_name(pattern, layer_ < 0 ? expert : file_layer(), expert);
  return not_found(fmt::format("{}: tensor '{}' of shape [{}] {}", file_.path().string(), name, fmt::join(shape, ", "),
                               why_missing(file_, name)),
                   name);
}

std::string_view TensorBinder::pattern_of(const TensorSpec& spec) const {
  if (!is_gguf()) return spec.hf;
  return find(spec.gguf_per_expert, 0) != nullptr ? spec.gguf_per_expert : spec.gguf;
}

Result<TensorBinder::Found> TensorBinder::find_role(Role role) {
  Found found;
  const TensorSpec* spec = spec_of(role);
  if (spec == nullptr) return found;
  const bool is_matrix = spec->cols != Dim::kNone;
  const uint64_t rows = size_of(spec->rows), cols = size_of(spec->cols);
  const std::string_view pattern = pattern_of(*spec);
  const bool has_row_tensors = is_by_row(*spec, pattern);
  const uint64_t n_tensors = has_row_tensors ? rows : is_listed(*spec, pattern) ? size_of(stack_dim(role)) : 1;
  found.transposed = !is_gguf() && spec_.hf_transposes_linear() && is_matrix && role != Role::kEmbed &&
                     role != Role::kPositionEmbed && role != Role::kHead;
  for (uint32_t expert = 0; expert < n_tensors; ++expert) {
    const TensorInfo* tensor = find(pattern, expert);
    if (tensor == nullptr) {
      if (spec->need == Need::kOptional && expert == 0) return Found{};
      return missing(*spec, pattern, expert);
    }
    std::vector<uint64_t> expected{rows};
    if (is_matrix) expected.push_back(cols);
    if (has_row_tensors) expected = {cols};
    if (is_stack(role, pattern) && !is_gguf() && spec_.hf_transposes_experts()) {
      found.transposed = is_expert_role(role) && tensor->packed == nullptr;
    }
    const bool is_flat = !is_gguf() && spec_.hf_has_flat_experts() && is_stack(role, pattern);
    if (is_flat) found.transposed = role == Role::kExpertDown;
    if (found.transposed) std::swap(expected[0], expected[1]);
    if (is_flat) expected[0] *= size_of(Dim::kExperts);
    if (is_stack(role, pattern) && !is_flat) expected.insert(expected.begin(), size_of(stack_dim(role)));
    RZ_CHECK_OK(check_shape(*tensor, std::move(expected)));
    if (tensor->type != (expert == 0 ? tensor->type : found.tensors[0]->type)) {
      return unsupported(fmt::format("{}: tensor '{}': experts of different types are not supported",
                                     file_.path().string(), tensor->name),
                         tensor->name);
    }
    claimed_.insert(tensor);
    found.tensors.push_back(tensor);
  }
  return found;
}

}  // namespace realizar
