#include "model/tensor_binder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "model/config_reader.h"
#include "model/f8_scales.h"
#include "model/fingerprint.h"
#include "quant/finite.h"

namespace realizar {
namespace {

// Replaces the first "{}" by the layer, the second by the expert.
std::string filled(std::string_view pattern, uint32_t layer, uint32_t expert) {
  std::string name(pattern);
  for (const uint32_t number : {layer, expert}) {
    const size_t at = name.find("{}");
    if (at != std::string::npos) name.replace(at, 2, std::to_string(number));
  }
  return name;
}

size_t n_places(std::string_view pattern) {
  size_t n = 0;
  for (size_t at = pattern.find("{}"); at != std::string_view::npos; at = pattern.find("{}", at + 2)) ++n;
  return n;
}

bool is_expert_role(Role role) {
  return role == Role::kExpertGate || role == Role::kExpertUp || role == Role::kExpertDown;
}

Error not_finite(const ModelFile& file, const TensorInfo& tensor) {
  return format_error(fmt::format("{}: tensor '{}' of type {} holds NaN or an infinity: the file is damaged, or was "
                                  "made from damaged weights",
                                  file.path().string(), tensor.name, traits(tensor.type).name),
                      tensor.name);
}

// One tensor holds the matrices of all experts.
bool is_stack(Role role, std::string_view pattern) {
  return is_expert_role(role) && n_places(pattern) == 1;
}

}  // namespace

TensorBinder::TensorBinder(const ModelFile& file, const ArchSpec& spec, const ModelConfig& config, Backend& backend,
                           const ModelOptions& options)
    : file_(file), spec_(spec), config_(config), backend_(backend), options_(options) {}

void TensorBinder::begin_layer(uint32_t layer) {
  layer_ = static_cast<int32_t>(layer);
}

uint64_t TensorBinder::size_of(Dim dim) const {
  switch (dim) {
    case Dim::kNone:
      return 1;
    case Dim::kModel:
      return config_.d_model;
    case Dim::kVocab:
      return config_.n_vocab;
    case Dim::kHalfRot:
      return config_.ropes.empty() ? 0 : config_.ropes.front().n_rot / 2;
    case Dim::kCtx:
      return config_.n_ctx_train;
    default:
      break;
  }
  const LayerConfig& layer = config_.layers[static_cast<size_t>(std::max(layer_, 0))];
  const auto size = [dim](const auto& kind) { return realizar::size_of(kind, dim); };
  const uint64_t of_mixer = std::visit(size, layer.mixer);
  return of_mixer > 0 ? of_mixer : std::visit(size, layer.ffn);
}

bool TensorBinder::is_in_file(Role role) const {
  const TensorSpec* spec = spec_of(role);
  return spec != nullptr && find(pattern_of(*spec), 0) != nullptr;
}

Result<WeightId> TensorBinder::matrix(Role role, std::vector<uint32_t> row_order, uint32_t shard_unit) {
  RZ_TRY(const Found found, find_role(role));
  if (found.tensors.empty()) return kNoWeight;
  const auto n_rows = static_cast<uint32_t>(size_of(spec_of(role)->rows));
  return load_rows(found, role, 0, {n_rows, std::move(row_order), shard_unit});
}

Result<std::vector<WeightId>> TensorBinder::split_matrix(Role role, const std::vector<Part>& parts) {
  RZ_TRY(const Found found, find_role(role));
  const TensorSpec& spec = *spec_of(role);
  if (found.tensors.empty()) return missing(spec, pattern_of(spec), 0);
  std::vector<WeightId> weights;
  uint32_t first_row = 0;
  for (const Part& part : parts) {
    RZ_TRY(const WeightId weight, load_rows(found, role, first_row, part));
    weights.push_back(weight);
    first_row += part.n_rows;
  }
  return weights;
}

Result<std::vector<float>> TensorBinder::values(Role role) {
  RZ_TRY(const Found found, find_role(role));
  if (found.tensors.empty()) return std::vector<float>();
  const TensorInfo& tensor = *found.tensors.front();
  RZ_TRY(auto values, read_vector(tensor));
  if (!all_finite(tensor.type, tensor.data.data(), values.size())) return not_finite(file_, tensor);
  RZ_CHECK_OK(finish_values(tensor));
  return values;
}

Result<std::vector<float>> TensorBinder::norm_values(Role role) {
  RZ_TRY(auto values, this->values(role));
  if (!spec_.hf_norm_plus_one || file_.format() != FileFormat::kHuggingFace) return values;
  for (float& value : values) value += 1.0f;
  return values;
}

Result<WeightId> TensorBinder::upload(const std::vector<float>& values) {
  if (values.empty()) return kNoWeight;
  return backend_.load_vector(values, layer_);
}

Result<WeightId> TensorBinder::vector(Role role) {
  RZ_TRY(const auto values, this->values(role));
  return upload(values);
}

Result<WeightId> TensorBinder::norm(Role role) {
  RZ_TRY(const auto values, norm_values(role));
  return upload(values);
}

Result<WeightId> TensorBinder::head() {
  RZ_TRY(const Found head, find_role(Role::kHead));
  if (config_.is_head_tied) return kNoWeight;
  const TensorSpec* spec = spec_of(Role::kHead);
  if (head.tensors.empty()) return missing(*spec, pattern_of(*spec), 0);
  return load_rows(head, Role::kHead, 0, {config_.n_vocab});
}

// What the table names and the program does not read as a weight: buffers, and factors that are in inv_freq already.
Status TensorBinder::claim_ignored() {
  for (const TensorSpec& spec : spec_.tensors) {
    const bool consumed_by_config =
        spec.role == Role::kRopeFactors || spec.role == Role::kRopeShort || spec.role == Role::kRopeLong;
    if (spec.role != Role::kIgnored && !consumed_by_config) continue;
    const std::string_view pattern = file_.format() == FileFormat::kGguf ? spec.gguf : spec.hf;
    for (uint32_t layer = 0; layer < (n_places(pattern) > 0 ? config_.n_layers : 1); ++layer) {
      const TensorInfo* tensor = find(pattern, layer, 0);
      if (tensor == nullptr) continue;
      if (consumed_by_config) RZ_CHECK_OK(check_shape(*tensor, {size_of(spec.rows)}));
      claimed_.insert(tensor);
    }
  }
  return {};
}

Status TensorBinder::check_all_claimed() const {
  for (const TensorInfo& tensor : file_.tensors()) {
    if (claimed_.contains(&tensor) || is_unused_f8_scale(tensor.name)) continue;
    return unsupported(fmt::format("{}: tensor '{}' of shape [{}] has no part in architecture '{}'",
                                   file_.path().string(), tensor.name, fmt::join(tensor.shape, ", "), spec_.name),
                       tensor.name);
  }
  return {};
}

std::optional<uint64_t> TensorBinder::weights_hash() const {
  return options_.hash_weights ? std::optional(weights_hash_) : std::nullopt;
}

const TensorSpec* TensorBinder::spec_of(Role role) const {
  for (const TensorSpec& spec : spec_.tensors) {
    if (spec.role == role) return &spec;
  }
  return nullptr;
}

const TensorInfo* TensorBinder::find(std::string_view name_pattern, uint32_t layer, uint32_t expert) const {
  return name_pattern.empty() ? nullptr : find_tensor(file_, filled(name_pattern, layer, expert));
}

const TensorInfo* TensorBinder::find(std::string_view name_pattern, uint32_t expert) const {
  return find(name_pattern, static_cast<uint32_t>(std::max(layer_, 0)), expert);
}

Status TensorBinder::check_shape(const TensorInfo& tensor, std::vector<uint64_t> expected) const {
  if (tensor.shape == expected) return {};
  return format_error(fmt::format("{}: tensor '{}': expected shape [{}], actual [{}]", file_.path().string(),
                                  tensor.name, fmt::join(expected, ", "), fmt::join(tensor.shape, ", ")),
                      tensor.name);
}

Error TensorBinder::missing(const TensorSpec& spec, std::string_view pattern, uint32_t expert) const {
  std::vector<uint64_t> shape{size_of(spec.rows)};
  if (spec.cols != Dim::kNone) shape.push_back(size_of(spec.cols));
  if (is_stack(spec.role, pattern)) shape.insert(shape.begin(), size_of(Dim::kExperts));
  const std::string name = filled(pattern, static_cast<uint32_t>(std::max(layer_, 0)), expert);
  return not_found(
      fmt::format("{}: tensor '{}' of shape [{}] is missing", file_.path().string(), name, fmt::join(shape, ", ")),
      name);
}

std::string_view TensorBinder::pattern_of(const TensorSpec& spec) const {
  if (file_.format() == FileFormat::kHuggingFace) return spec.hf;
  const bool is_apart = !spec.gguf_per_expert.empty() && find(spec.gguf_per_expert, 0) != nullptr;
  return is_apart ? spec.gguf_per_expert : spec.gguf;
}

Result<TensorBinder::Found> TensorBinder::find_role(Role role) {
  Found found;
  const TensorSpec* spec = spec_of(role);
  if (spec == nullptr) return found;
  const bool is_gguf = file_.format() == FileFormat::kGguf;
  const bool is_matrix = spec->cols != Dim::kNone;
  const uint64_t rows = size_of(spec->rows), cols = size_of(spec->cols);
  const std::string_view pattern = pattern_of(*spec);
  const uint64_t n_tensors = is_expert_role(role) && !is_stack(role, pattern) ? size_of(Dim::kExperts) : 1;
  found.transposed = !is_gguf && spec_.hf_transposed_linear && is_matrix && role != Role::kEmbed &&
                     role != Role::kPositionEmbed && role != Role::kHead;
  for (uint32_t expert = 0; expert < n_tensors; ++expert) {
    const TensorInfo* tensor = find(pattern, expert);
    if (tensor == nullptr) {
      if (spec->need == Need::kOptional && expert == 0) return Found{};
      return missing(*spec, pattern, expert);
    }
    std::vector<uint64_t> expected{rows};
    if (is_matrix) expected.push_back(cols);
    if (found.transposed) std::swap(expected[0], expected[1]);
    if (is_stack(role, pattern)) expected.insert(expected.begin(), size_of(Dim::kExperts));
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

Result<WeightId> TensorBinder::load_rows(const Found& found, Role role, uint32_t first_row, const Part& part) {
  const TensorSpec& spec = *spec_of(role);
  const TensorInfo& first = *found.tensors.front();
  MatrixSource source;
  source.name = first.name;
  source.type = first.type;
  source.n_rows = part.n_rows;
  source.n_cols = static_cast<uint32_t>(size_of(spec.cols));
  source.n_mats = is_expert_role(role) ? static_cast<uint32_t>(size_of(Dim::kExperts)) : 1;
  source.row_order = part.row_order;
  source.transposed = found.transposed;
  source.layer = layer_;
  source.is_gathered = role == Role::kPositionEmbed || (role == Role::kEmbed && !config_.is_head_tied);
  source.shard = spec.shard;
  source.shard_unit = part.shard_unit;
  for (const TensorInfo* tensor : found.tensors) source.pieces.push_back(tensor->data);
  const uint32_t n_rows = part.n_rows;
  const bool is_part = n_rows != size_of(spec.rows);
  if (is_part && !found.transposed) {
    const size_t bytes = row_bytes(traits(first.type), source.n_cols);
    source.pieces = {first.data.subspan(first_row * bytes, n_rows * bytes)};
  }
  std::vector<std::byte> columns;
  if (is_part && found.transposed) {
    // A fused Conv1D: rows of the matrix are columns of what is stored.
    const size_t elem_bytes = traits(first.type).block_bytes, stored_cols = size_of(spec.rows);
    for (uint32_t row = 0; row < source.n_cols; ++row) {
      const auto columns_of_row = first.data.subspan((row * stored_cols + first_row) * elem_bytes, n_rows * elem_bytes);
      columns.insert(columns.end(), columns_of_row.begin(), columns_of_row.end());
    }
    source.pieces = {columns};
  }
  RZ_TRY(const auto scales, f8_scales(found, first_row, n_rows));
  source.scales = scales;
  std::future<uint64_t> hash;
  if (options_.hash_weights && first_row == 0) hash = hash_beside(found.tensors);
  const auto loaded = backend_.load_matrix(source);
  if (hash.valid()) weights_hash_ = hash.get();
  if (!loaded.ok()) return explained(loaded.error(), found);
  for (const TensorInfo* tensor : found.tensors) {
    file_.release(tensor->data);
    if (first_row == 0) RZ_CHECK_OK(report_progress(*tensor));
  }
  return loaded;
}

// A backend knows a stack of experts by the first one's name, and no file.
Error TensorBinder::explained(const Error& error, const Found& found) const {
  if (error.code != ErrorCode::kFormatError) return error;
  for (const TensorInfo* tensor : found.tensors) {
    if (!all_finite(tensor->type, tensor->data.data(), tensor->n_elems())) return not_finite(file_, *tensor);
  }
  return error;
}

// The scales of all the role's tensors, one after the other; empty for other types than F8.
Result<std::vector<float>> TensorBinder::f8_scales(const Found& found, uint32_t first_row, uint32_t n_rows) {
  std::vector<float> scales;
  if (found.tensors.front()->type != TypeId::kF8_E4M3) return scales;
  for (const TensorInfo* tensor : found.tensors) {
    const TensorInfo* stored = find_f8_scales(file_, *tensor);
    RZ_CHECK_OK(append_f8_scales(*tensor, stored, first_row, n_rows, scales));
    if (stored != nullptr && claimed_.insert(stored).second) RZ_CHECK_OK(finish_values(*stored));
  }
  return scales;
}

// A small tensor's values have been read.
Status TensorBinder::finish_values(const TensorInfo& tensor) {
  if (options_.hash_weights) weights_hash_ = hash_of(tensor, weights_hash_);
  return report_progress(tensor);
}

// On another thread while the backend reads the same bytes: so it takes hardly any time of its own.
std::future<uint64_t> TensorBinder::hash_beside(const std::vector<const TensorInfo*>& tensors) const {
  const auto hash_all = [&tensors](uint64_t hash) {
    for (const TensorInfo* tensor : tensors) hash = hash_of(*tensor, hash);
    return hash;
  };
  // Where no thread can be had the hash is taken when it is asked for.
  return std::async(std::launch::async | std::launch::deferred, hash_all, weights_hash_);
}

Status TensorBinder::report_progress(const TensorInfo& tensor) {
  done_bytes_ += tensor.data.size();
  if (!options_.progress || options_.progress(done_bytes_, file_.file_bytes())) return {};
  return Error{ErrorCode::kCancelled, "loading was cancelled", file_.path().string()};
}

}  // namespace realizar
