#include "model/binding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <future>

#include "model/config_reader.h"
#include "model/f8_scales.h"
#include "model/fingerprint.h"
#include "model/forward.h"
#include "quant/finite.h"

namespace realizar {
namespace {

constexpr uint32_t kNoLayer = 0;

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

Binder::Binder(const ModelFile& file, const ArchSpec& spec, const ModelConfig& config, Backend& backend,
               const ModelOptions& options)
    : file_(file), spec_(spec), config_(config), backend_(backend), options_(options) {}

Result<Weights> Binder::bind() {
  Weights w;
  RZ_CHECK_OK(bind_top(w));
  w.layers.resize(config_.n_layers);
  for (uint32_t layer = 0; layer < config_.n_layers; ++layer) RZ_CHECK_OK(bind_layer(layer, w.layers[layer]));
  RZ_CHECK_OK(claim_ignored());
  RZ_CHECK_OK(check_all_claimed());
  return w;
}

const TensorSpec* Binder::spec_of(Role role) const {
  for (const TensorSpec& spec : spec_.tensors) {
    if (spec.role == role) return &spec;
  }
  return nullptr;
}

uint64_t Binder::size_of(Dim dim) const {
  const uint64_t n_q = uint64_t{config_.n_heads} * config_.head_dim;
  const uint64_t n_kv = uint64_t{config_.n_kv_heads} * config_.head_dim;
  switch (dim) {
    case Dim::kNone:
      return 1;
    case Dim::kModel:
      return config_.d_model;
    case Dim::kQ:
      return n_q;
    case Dim::kKv:
      return n_kv;
    case Dim::kQkv:
      return n_q + 2 * n_kv;
    case Dim::kFf:
      return config_.d_ff;
    case Dim::kGateUp:
      return 2 * uint64_t{config_.d_ff};
    case Dim::kVocab:
      return config_.n_vocab;
    case Dim::kHead:
      return config_.head_dim;
    case Dim::kHalfRot:
      return config_.rope.n_rot / 2;
    case Dim::kExperts:
      return config_.moe.n_experts;
    case Dim::kExpertFf:
      return config_.moe.d_ff;
    case Dim::kCtx:
      return config_.n_ctx_train;
  }
  return 0;
}

// Hugging Face files made from the bare model lack the first component of each name ("transformer.", "model.").
const TensorInfo* Binder::find(std::string_view name_pattern, uint32_t layer, uint32_t expert) const {
  if (name_pattern.empty()) return nullptr;
  const std::string name = filled(name_pattern, layer, expert);
  if (const TensorInfo* tensor = file_.find(name)) return tensor;
  if (file_.format() == FileFormat::kGguf) return nullptr;
  return file_.find(name.substr(name.find('.') + 1));
}

Status Binder::check_shape(const TensorInfo& tensor, std::vector<uint64_t> expected) const {
  if (tensor.shape == expected) return {};
  return format_error(fmt::format("{}: tensor '{}': expected shape [{}], actual [{}]", file_.path().string(),
                                  tensor.name, fmt::join(expected, ", "), fmt::join(tensor.shape, ", ")),
                      tensor.name);
}

Error Binder::missing(const TensorSpec& spec, std::string_view pattern, uint32_t layer, uint32_t expert) const {
  std::vector<uint64_t> shape{size_of(spec.rows)};
  if (spec.cols != Dim::kNone) shape.push_back(size_of(spec.cols));
  if (is_stack(spec.role, pattern)) shape.insert(shape.begin(), config_.moe.n_experts);
  const std::string name = filled(pattern, layer, expert);
  return not_found(
      fmt::format("{}: tensor '{}' of shape [{}] is missing", file_.path().string(), name, fmt::join(shape, ", ")),
      name);
}

std::string_view Binder::pattern_of(const TensorSpec& spec, uint32_t layer) const {
  if (file_.format() == FileFormat::kHuggingFace) return spec.hf;
  const bool is_apart = !spec.gguf_per_expert.empty() && find(spec.gguf_per_expert, layer, 0) != nullptr;
  return is_apart ? spec.gguf_per_expert : spec.gguf;
}

Result<Binder::Found> Binder::find_role(Role role, uint32_t layer) {
  Found found;
  const TensorSpec* spec = spec_of(role);
  if (spec == nullptr) return found;
  const bool is_gguf = file_.format() == FileFormat::kGguf;
  const bool is_matrix = spec->cols != Dim::kNone;
  const uint64_t rows = size_of(spec->rows), cols = size_of(spec->cols);
  const std::string_view pattern = pattern_of(*spec, layer);
  const uint32_t n_tensors = is_expert_role(role) && !is_stack(role, pattern) ? config_.moe.n_experts : 1;
  found.transposed = !is_gguf && spec_.hf_transposed_linear && is_matrix && role != Role::kEmbed &&
                     role != Role::kPositionEmbed && role != Role::kHead;
  for (uint32_t expert = 0; expert < n_tensors; ++expert) {
    const TensorInfo* tensor = find(pattern, layer, expert);
    if (tensor == nullptr) {
      if (spec->need == Need::kOptional && expert == 0) return Found{};
      return missing(*spec, pattern, layer, expert);
    }
    std::vector<uint64_t> expected{rows};
    if (is_matrix) expected.push_back(cols);
    if (found.transposed) std::swap(expected[0], expected[1]);
    if (is_stack(role, pattern)) expected.insert(expected.begin(), config_.moe.n_experts);
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

Result<WeightId> Binder::matrix_rows(const Found& found, Role role, uint32_t first_row, uint32_t n_rows,
                                     std::vector<uint32_t> row_order) {
  const TensorSpec& spec = *spec_of(role);
  const TensorInfo& first = *found.tensors.front();
  MatrixSource source;
  source.name = first.name;
  source.type = first.type;
  source.n_rows = n_rows;
  source.n_cols = static_cast<uint32_t>(size_of(spec.cols));
  source.n_mats = is_expert_role(role) ? config_.moe.n_experts : 1;
  source.row_order = std::move(row_order);
  source.transposed = found.transposed;
  source.layer = layer_;
  source.is_gathered = role == Role::kPositionEmbed || (role == Role::kEmbed && !is_head_tied_);
  source.shard = spec.shard;
  source.shard_unit = shard_unit(role, first_row);
  for (const TensorInfo* tensor : found.tensors) source.pieces.push_back(tensor->data);
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
      const auto part = first.data.subspan((row * stored_cols + first_row) * elem_bytes, n_rows * elem_bytes);
      columns.insert(columns.end(), part.begin(), part.end());
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
Error Binder::explained(const Error& error, const Found& found) const {
  if (error.code != ErrorCode::kFormatError) return error;
  for (const TensorInfo* tensor : found.tensors) {
    if (!all_finite(tensor->type, tensor->data.data(), tensor->n_elems())) return not_finite(file_, *tensor);
  }
  return error;
}

// Of all the role's tensors, one behind the other; empty for other types than F8.
Result<std::vector<float>> Binder::f8_scales(const Found& found, uint32_t first_row, uint32_t n_rows) {
  std::vector<float> scales;
  if (found.tensors.front()->type != TypeId::kF8_E4M3) return scales;
  for (const TensorInfo* tensor : found.tensors) {
    const TensorInfo* stored = find_f8_scales(file_, *tensor);
    RZ_CHECK_OK(append_f8_scales(*tensor, stored, first_row, n_rows, scales));
    if (stored != nullptr && claimed_.insert(stored).second) RZ_CHECK_OK(finish_values(*stored));
  }
  return scales;
}

// The queries of a fused matrix come first.
uint32_t Binder::shard_unit(Role role, uint32_t first_row) const {
  const bool is_query = role == Role::kWq || role == Role::kWo || (role == Role::kWqkv && first_row == 0);
  if (is_query) return config_.n_heads / config_.n_kv_heads * config_.head_dim;
  return role == Role::kWk || role == Role::kWv || role == Role::kWqkv ? config_.head_dim : 1;
}

Result<WeightId> Binder::matrix(Role role, uint32_t layer, std::vector<uint32_t> row_order) {
  RZ_TRY(const Found found, find_role(role, layer));
  if (found.tensors.empty()) return kNoWeight;
  return matrix_rows(found, role, 0, static_cast<uint32_t>(size_of(spec_of(role)->rows)), std::move(row_order));
}

Result<std::vector<float>> Binder::vector_values(Role role, uint32_t layer) {
  RZ_TRY(const Found found, find_role(role, layer));
  if (found.tensors.empty()) return std::vector<float>();
  const TensorInfo& tensor = *found.tensors.front();
  RZ_TRY(auto values, read_vector(tensor));
  if (!all_finite(tensor.type, tensor.data.data(), values.size())) return not_finite(file_, tensor);
  RZ_CHECK_OK(finish_values(tensor));
  return values;
}

Result<WeightId> Binder::upload(const std::vector<float>& values) {
  if (values.empty()) return kNoWeight;
  return backend_.load_vector(values, layer_);
}

Result<WeightId> Binder::vector(Role role, uint32_t layer) {
  RZ_TRY(const auto values, vector_values(role, layer));
  return upload(values);
}

Result<WeightId> Binder::norm(Role role, uint32_t layer) {
  RZ_TRY(auto values, vector_values(role, layer));
  if (spec_.hf_norm_plus_one && file_.format() == FileFormat::kHuggingFace) {
    for (float& value : values) value += 1.0f;
  }
  return upload(values);
}

// Stored pairs (2i, 2i + 1) become (i, i + n_rot / 2): the rotation is then the same for every file. q and k are
// permuted alike, so their products stay.
std::vector<uint32_t> Binder::rope_row_order(uint32_t n_heads) const {
  if (!config_.rope.interleaved) return {};
  const uint32_t half = config_.rope.n_rot / 2;
  std::vector<uint32_t> order(n_heads * config_.head_dim);
  for (uint32_t row = 0; row < order.size(); ++row) {
    const uint32_t dim = row % config_.head_dim;
    const uint32_t stored = dim < half ? 2 * dim : dim < 2 * half ? 2 * (dim - half) + 1 : dim;
    order[row] = row - dim + stored;
  }
  return order;
}

// GGUF ties by leaving the head out. Hugging Face says it, and may keep an unused copy of the head; where config.json
// is silent, the file decides.
Result<bool> Binder::is_head_tied() {
  RZ_TRY(const Found head, find_role(Role::kHead, kNoLayer));
  std::optional<bool> said;
  if (file_.format() == FileFormat::kHuggingFace) {
    RZ_TRY(said, file_.metadata().get_bool("tie_word_embeddings"));
  }
  const bool tied = said.value_or(head.tensors.empty());
  const TensorSpec* spec = spec_of(Role::kHead);
  if (!tied && head.tensors.empty()) return missing(*spec, pattern_of(*spec, kNoLayer), kNoLayer, 0);
  return tied;
}

// Tables come last: a backend that may keep them elsewhere then knows what else its device must hold.
Status Binder::bind_top(Weights& w) {
  RZ_TRY(is_head_tied_, is_head_tied());
  if (!is_head_tied_) {
    RZ_TRY(w.head, matrix(Role::kHead, kNoLayer));
  }
  RZ_TRY(w.final_norm, norm(Role::kFinalNorm, kNoLayer));
  RZ_TRY(w.final_norm_bias, vector(Role::kFinalNormBias, kNoLayer));
  RZ_TRY(w.head_bias, vector(Role::kHeadBias, kNoLayer));
  RZ_TRY(w.inv_freq, upload(config_.rope.inv_freq));
  RZ_TRY(w.embed, matrix(Role::kEmbed, kNoLayer));
  RZ_TRY(w.position_embed, matrix(Role::kPositionEmbed, kNoLayer));
  if (is_head_tied_) w.head = w.embed;
  return {};
}

Status Binder::bind_layer(uint32_t layer, LayerWeights& w) {
  layer_ = static_cast<int32_t>(layer);
  RZ_TRY(w.attn_norm, norm(Role::kAttnNorm, layer));
  RZ_TRY(w.attn_norm_bias, vector(Role::kAttnNormBias, layer));
  RZ_TRY(w.attn_post_norm, norm(Role::kAttnPostNorm, layer));
  RZ_TRY(w.ffn_norm, norm(Role::kFfnNorm, layer));
  RZ_TRY(w.ffn_norm_bias, vector(Role::kFfnNormBias, layer));
  RZ_TRY(w.ffn_post_norm, norm(Role::kFfnPostNorm, layer));
  RZ_CHECK_OK(bind_attention(layer, w));
  return bind_ffn(layer, w);
}

Status Binder::bind_attention(uint32_t layer, LayerWeights& w) {
  const auto n_q = static_cast<uint32_t>(size_of(Dim::kQ)), n_kv = static_cast<uint32_t>(size_of(Dim::kKv));
  const auto permuted = [](const std::vector<float>& values, const std::vector<uint32_t>& order) {
    if (order.empty() || values.empty()) return values;
    std::vector<float> result(values.size());
    for (size_t i = 0; i < values.size(); ++i) result[i] = values[order[i]];
    return result;
  };
  const auto q_order = rope_row_order(config_.n_heads), k_order = rope_row_order(config_.n_kv_heads);
  std::vector<float> bq, bk, bv;
  const TensorSpec* fused = spec_of(Role::kWqkv);
  if (fused != nullptr && find(pattern_of(*fused, layer), layer, 0) != nullptr) {
    RZ_TRY(const Found found, find_role(Role::kWqkv, layer));
    RZ_TRY(w.wq, matrix_rows(found, Role::kWqkv, 0, n_q, q_order));
    RZ_TRY(w.wk, matrix_rows(found, Role::kWqkv, n_q, n_kv, k_order));
    RZ_TRY(w.wv, matrix_rows(found, Role::kWqkv, n_q + n_kv, n_kv, {}));
    RZ_TRY(const auto bias, vector_values(Role::kBqkv, layer));
    if (!bias.empty()) {
      bq.assign(bias.begin(), bias.begin() + n_q);
      bk.assign(bias.begin() + n_q, bias.begin() + n_q + n_kv);
      bv.assign(bias.begin() + n_q + n_kv, bias.end());
    }
  } else {
    if (fused != nullptr && spec_of(Role::kWq) == nullptr) return missing(*fused, pattern_of(*fused, layer), layer, 0);
    RZ_TRY(w.wq, matrix(Role::kWq, layer, q_order));
    RZ_TRY(w.wk, matrix(Role::kWk, layer, k_order));
    RZ_TRY(w.wv, matrix(Role::kWv, layer));
    RZ_TRY(bq, vector_values(Role::kBq, layer));
    RZ_TRY(bk, vector_values(Role::kBk, layer));
    RZ_TRY(bv, vector_values(Role::kBv, layer));
  }
  RZ_TRY(w.bq, upload(permuted(bq, q_order)));
  RZ_TRY(w.bk, upload(permuted(bk, k_order)));
  RZ_TRY(w.bv, upload(bv));
  RZ_TRY(w.wo, matrix(Role::kWo, layer));
  RZ_TRY(w.bo, vector(Role::kBo, layer));
  RZ_TRY(const auto q_norm, vector_values(Role::kQNorm, layer));
  RZ_TRY(const auto k_norm, vector_values(Role::kKNorm, layer));
  RZ_TRY(w.q_norm, upload(permuted(q_norm, rope_row_order(1))));
  RZ_TRY(w.k_norm, upload(permuted(k_norm, rope_row_order(1))));
  return {};
}

Status Binder::bind_ffn(uint32_t layer, LayerWeights& w) {
  if (config_.layers[layer].ffn == FfnKind::kExperts) {
    RZ_TRY(w.router, matrix(Role::kRouter, layer));
    RZ_TRY(w.w_gate, matrix(Role::kExpertGate, layer));
    RZ_TRY(w.w_up, matrix(Role::kExpertUp, layer));
    RZ_TRY(w.w_down, matrix(Role::kExpertDown, layer));
    return {};
  }
  if (spec_of(Role::kWGateUp) != nullptr) {
    RZ_TRY(const Found found, find_role(Role::kWGateUp, layer));
    RZ_TRY(w.w_gate, matrix_rows(found, Role::kWGateUp, 0, config_.d_ff, {}));
    RZ_TRY(w.w_up, matrix_rows(found, Role::kWGateUp, config_.d_ff, config_.d_ff, {}));
  } else {
    RZ_TRY(w.w_gate, matrix(Role::kWGate, layer));
    RZ_TRY(w.w_up, matrix(Role::kWUp, layer));
  }
  RZ_TRY(w.w_down, matrix(Role::kWDown, layer));
  RZ_TRY(w.b_up, vector(Role::kBUp, layer));
  RZ_TRY(w.b_down, vector(Role::kBDown, layer));
  return {};
}

// What the table names and the program does not read as a weight: buffers, and factors that are in inv_freq already.
Status Binder::claim_ignored() {
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

Status Binder::check_all_claimed() const {
  for (const TensorInfo& tensor : file_.tensors()) {
    if (claimed_.contains(&tensor) || is_unused_f8_scale(tensor.name)) continue;
    return unsupported(fmt::format("{}: tensor '{}' of shape [{}] has no part in architecture '{}'",
                                   file_.path().string(), tensor.name, fmt::join(tensor.shape, ", "), spec_.name),
                       tensor.name);
  }
  return {};
}

// A small tensor's values have been read.
Status Binder::finish_values(const TensorInfo& tensor) {
  if (options_.hash_weights) weights_hash_ = hash_of(tensor, weights_hash_);
  return report_progress(tensor);
}

// On another thread while the backend reads the same bytes: so it takes hardly any time of its own.
std::future<uint64_t> Binder::hash_beside(const std::vector<const TensorInfo*>& tensors) const {
  const auto hash_all = [&tensors](uint64_t hash) {
    for (const TensorInfo* tensor : tensors) hash = hash_of(*tensor, hash);
    return hash;
  };
  // Where no thread can be had the hash is taken when it is asked for.
  return std::async(std::launch::async | std::launch::deferred, hash_all, weights_hash_);
}

Status Binder::report_progress(const TensorInfo& tensor) {
  done_bytes_ += tensor.data.size();
  if (!options_.progress || options_.progress(done_bytes_, file_.file_bytes())) return {};
  return Error{ErrorCode::kCancelled, "loading was cancelled", file_.path().string()};
}

std::optional<uint64_t> Binder::weights_hash() const {
  return options_.hash_weights ? std::optional(weights_hash_) : std::nullopt;
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

Result<Model> Model::load(const ModelFile& file, Backend& backend, const ModelOptions& options) {
  RZ_TRY(const ModelConfig config, read_config(file, options));
  return load(file, config, backend, options);
}

Result<Model> Model::load(const ModelFile& file, const ModelConfig& config, Backend& backend,
                          const ModelOptions& options) {
  RZ_CHECK_OK(backend.check(outline_forward(config)));
  RZ_TRY(const ArchSpec* spec, find_architecture(file));
  Model model;
  model.config_ = config;
  Binder binder(file, *spec, config, backend, options);
  RZ_TRY(model.weights_, binder.bind());
  model.weights_hash_ = binder.weights_hash();
  return model;
}

}  // namespace realizar
