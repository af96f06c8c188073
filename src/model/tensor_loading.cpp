// Loads a role's tensors onto a backend: rows of matrices, parts of fused ones, scales, hashes, progress.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/cpu_features.h"
#include "base/thread_team.h"
#include "base/try.h"
#include "formats/packed_matrix.h"
#include "model/config_keys.h"
#include "model/f8_scales.h"
#include "model/fingerprint.h"
#include "model/tensor_binder.h"
#include "model/tensor_roles.h"
#include "quant/finite.h"

namespace realizar {

Result<WeightId> TensorBinder::heads(Role role, const Part& part) {
  RZ_TRY(const Found found, find_role(role));
  return load_rows(found, role, part, true);
}

Result<WeightId> TensorBinder::transposed_heads(Role role, const Part& part) {
  RZ_TRY(const Found found, find_role(role));
  const TensorInfo& tensor = *found.tensors.front();
  const TypeTraits& type = traits(tensor.type);
  if (backend_ == nullptr) return check_rows(found, part);
  RZ_TRY(const auto scales, row_scales(found, part));
  const size_t n_scales = scales.size() / part.n_rows;
  const auto n_cols = static_cast<uint32_t>(size_of(spec_of(role)->cols));
  const size_t bytes = row_bytes(type, n_cols);
  std::vector<std::byte> unpacked;
  RZ_TRY(const auto stored, bytes_of(tensor, unpacked));
  std::vector<float> row(n_cols), transposed(size_t{part.n_rows} * n_cols);
  for (uint32_t r = 0; r < part.n_rows; ++r) {
    type.decode(stored.data() + part.row_at(r) * bytes, row.data(), n_cols);
    for (uint32_t c = 0; n_scales > 0 && c < n_cols; ++c) {
      row[c] *= scales[r * n_scales + std::min<size_t>(c / kF8ScaleCols, n_scales - 1)];
    }
    float* to = transposed.data() + size_t{r / part.n_run} * part.n_run * n_cols + r % part.n_run;
    for (uint32_t c = 0; c < n_cols; ++c) to[size_t{c} * part.n_run] = row[c];
  }
  MatrixSource source;
  source.name = tensor.name;
  source.type = TypeId::kF32;
  source.n_mats = part.n_rows / part.n_run;
  source.n_rows = n_cols;
  source.n_cols = part.n_run;
  source.pieces = {std::as_bytes(std::span(transposed))};
  source.layer = layer_;
  return load(source, found, part);
}

std::span<const std::byte> TensorBinder::part_of_matrix(const Found& found, Role role, const Part& part,
                                                        std::span<const std::byte> matrix,
                                                        std::vector<std::byte>& gathered) const {
  const TensorSpec& spec = *spec_of(role);
  const TypeTraits& type = traits(found.tensors.front()->type);
  const auto n_cols = static_cast<uint32_t>(size_of(spec.cols));
  const size_t n_stored = size_of(spec.rows);
  // A part's rows lie in runs; in a transposed matrix they are columns.
  const uint32_t n_run = part.n_run == 0 ? part.n_rows : part.n_run;
  const size_t bytes = found.transposed ? type.block_bytes : row_bytes(type, n_cols);
  for (uint32_t line = 0; line < (found.transposed ? n_cols : 1); ++line) {
    for (uint32_t row = 0; row < part.n_rows; row += n_run) {
      const auto run = matrix.subspan((line * n_stored + part.row_at(row)) * bytes, n_run * bytes);
      if (!found.transposed && n_run == part.n_rows) return run;
      gathered.insert(gathered.end(), run.begin(), run.end());
    }
  }
  return gathered;
}

std::vector<std::byte> TensorBinder::part_of_stack(const Found& found, Role role, const Part& part,
                                                   std::span<const std::byte> stack) const {
  const TensorSpec& spec = *spec_of(role);
  const TypeTraits& type = traits(found.tensors.front()->type);
  const size_t n_stored = size_of(spec.rows), n_cols = size_of(spec.cols), n_mats = size_of(stack_dim(role));
  const size_t row = row_bytes(type, static_cast<uint32_t>(n_cols)), elem = type.block_bytes;
  std::vector<std::byte> own(n_mats * part.n_rows * row);
  std::byte* to = own.data();
  for (size_t mat = 0; mat < n_mats; ++mat) {
    const std::byte* from = stack.data() + mat * n_stored * row;
    for (uint32_t r = 0; r < part.n_rows; ++r, to += row) {
      if (!found.transposed) {
        std::memcpy(to, from + part.row_at(r) * row, row);
        continue;
      }
      for (size_t c = 0; c < n_cols; ++c)
        std::memcpy(to + c * elem, from + (c * n_stored + part.row_at(r)) * elem, elem);
    }
  }
  return own;
}

Result<WeightId> TensorBinder::check_rows(const Found& found, const Part& part) {
  RZ_CHECK_OK(row_scales(found, part));
  return kChecked;
}

Result<WeightId> TensorBinder::load_rows(const Found& found, Role role, const Part& part, bool is_stack) {
  if (backend_ == nullptr) return check_rows(found, part);
  const TensorSpec& spec = *spec_of(role);
  const TensorInfo& first = *found.tensors.front();
  MatrixSource source;
  source.name = first.name;
  source.type = first.type;
  source.n_rows = part.n_rows;
  source.n_cols = static_cast<uint32_t>(size_of(spec.cols));
  source.n_mats = stack_dim(role) != Dim::kNone ? static_cast<uint32_t>(size_of(stack_dim(role))) : 1;
  source.row_order = part.row_order;
  source.transposed = found.transposed;
  source.layer = layer_;
  source.is_embedding = role == Role::kEmbed;
  source.is_gathered =
      role == Role::kPositionEmbed || role == Role::kTypeEmbed || (role == Role::kEmbed && !config_.is_head_tied);
  source.shard = spec.shard;
  source.shard_unit = part.shard_unit;
  std::vector<std::vector<std::byte>> unpacked(found.tensors.size());
  for (size_t i = 0; i < found.tensors.size(); ++i) {
    RZ_TRY(const auto piece, bytes_of(*found.tensors[i], unpacked[i]));
    source.pieces.push_back(piece);
  }
  std::vector<std::byte> gathered;
  const bool is_one_stack = stack_dim(role) != Dim::kNone && found.tensors.size() == 1;
  const bool is_part = part.n_rows != size_of(spec.rows);
  if (is_one_stack && (is_part || found.transposed)) {
    gathered = part_of_stack(found, role, part, source.pieces.front());
    source.pieces = {gathered};
    source.transposed = false;
  } else if (is_part) {
    source.pieces = {part_of_matrix(found, role, part, source.pieces.front(), gathered)};
  }
  RZ_TRY(const auto scales, row_scales(found, part));
  source.scales = scales;
  if (is_stack) {
    source.n_mats = part.n_rows / part.n_run;
    source.n_rows = part.n_run;
  }
  RZ_TRY(const WeightId weight, load(source, found, part));
  if (!is_stack) note_target(role, part, weight);
  return weight;
}

// Rounded to the stored type, as in the model's own code.
Result<WeightId> TensorBinder::load_unit_rows(const Found& head) {
  const TensorInfo& tensor = *head.tensors.front();
  const bool is_plain = tensor.type == TypeId::kF32 || tensor.type == TypeId::kF16 || tensor.type == TypeId::kBF16;
  if (tensor.packed != nullptr || !is_plain) {
    return unsupported(fmt::format("{}: tensor '{}': a normalized head of type {} is not supported",
                                   file_.path().string(), tensor.name, traits(tensor.type).name),
                       tensor.name);
  }
  if (backend_ == nullptr) return kChecked;
  const TypeTraits& type = traits(tensor.type);
  const auto n_cols = static_cast<uint32_t>(tensor.shape.back());
  const size_t n_row_bytes = row_bytes(type, n_cols);
  std::vector<std::byte> rows(tensor.data.size());
  std::vector<float> row(n_cols);
  for (size_t at = 0; at < rows.size(); at += n_row_bytes) {
    type.decode(tensor.data.data() + at, row.data(), n_cols);
    const double squares = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
    const auto factor = static_cast<float>(1 / std::max(std::sqrt(squares), 1e-12));
    for (float& value : row) value *= factor;
    type.encode(row.data(), rows.data() + at, n_cols);
  }
  MatrixSource source;
  source.name = tensor.name;
  source.type = tensor.type;
  source.n_rows = config_.n_vocab;
  source.n_cols = n_cols;
  source.pieces = {rows};
  source.shard = spec_of(Role::kHead)->shard;
  source.shard_unit = kHeadShardUnit;
  return load(source, head, {.n_rows = config_.n_vocab});
}

Result<WeightId> TensorBinder::load(const MatrixSource& source, const Found& found, const Part& part) {
  const bool is_first = part.first_row == 0 || part.is_alone;
  std::future<uint64_t> hash;
  if (options_.hash_weights && is_first) hash = hash_async(found.tensors);
  const auto loaded = backend_->load_matrix(source);
  if (hash.valid()) weights_hash_ = hash.get();
  if (!loaded.ok()) return explained(loaded.error(), found);
  for (const TensorInfo* tensor : found.tensors) {
    release(*tensor);
    if (is_first) RZ_CHECK_OK(report_progress(*tensor));
  }
  return loaded;
}

// A backend only knows the name of a stack's first expert, and no file.
Error TensorBinder::explained(const Error& error, const Found& found) const {
  if (error.code == ErrorCode::kResourceExhausted || error.code == ErrorCode::kInternal) {
    const TensorInfo& tensor = *found.tensors.front();
    const std::string where = layer_ >= 0 ? fmt::format(" of layer {}", file_layer()) : "";
    return {error.code, fmt::format("tensor '{}'{}: {}", tensor.name, where, error.message), error.subject};
  }
  if (error.code != ErrorCode::kFormatError) return error;
  for (const TensorInfo* tensor : found.tensors) {
    if (tensor->packed != nullptr) continue;
    if (!all_finite(tensor->type, tensor->data.data(), tensor->n_elems())) return not_finite(*tensor);
  }
  return error;
}

Result<std::span<const std::byte>> TensorBinder::bytes_of(const TensorInfo& tensor,
                                                          std::vector<std::byte>& unpacked) const {
  if (tensor.packed == nullptr) return tensor.data;
  const size_t n_row_bytes = row_bytes(traits(tensor.type), tensor.shape.back());
  const auto n_rows = static_cast<uint32_t>(tensor.n_elems() / tensor.shape.back());
  unpacked.resize(n_rows * n_row_bytes);
  constexpr uint32_t kRowsAtOnce = 64;
  ThreadTeam team(n_usable_cores());
  std::vector<Status> done(team.size());
  auto unpack_share = [&](uint32_t member) {
    const uint32_t end = first_of_share(n_rows, member + 1, team.size());
    for (uint32_t r = first_of_share(n_rows, member, team.size()); r < end && done[member].ok(); r += kRowsAtOnce) {
      done[member] = tensor.packed->unpack(r, std::min(kRowsAtOnce, end - r), unpacked.data() + r * n_row_bytes);
    }
  };
  team.run(unpack_share);
  for (const Status& status : done) RZ_CHECK_OK(status);
  return std::span<const std::byte>(unpacked);
}

// NVFP4's factor of a whole matrix: a packed matrix has it, and in GGUF "x.scale" has one for each matrix of a stack.
Status TensorBinder::append_row_factors(const TensorInfo& tensor, uint32_t n_rows, std::vector<float>& out) {
  std::vector<float> factors{tensor.packed == nullptr ? 1.0f : tensor.packed->factor().value_or(1.0f)};
  constexpr std::string_view kSuffix = ".weight";
  const TensorInfo* stored = nullptr;
  if (tensor.packed == nullptr && tensor.name.ends_with(kSuffix)) {
    stored = file_.find(tensor.name.substr(0, tensor.name.size() - kSuffix.size()) + ".scale");
  }
  const size_t n_mats = tensor.shape.size() > 2 ? tensor.shape[0] : 1;
  factors.resize(n_mats, factors.front());
  if (stored != nullptr) {
    RZ_TRY(factors, read_vector(*stored));
    if (factors.size() == 1) factors.resize(n_mats, factors.front());
    if (factors.size() != n_mats) {
      RZ_CHECK_OK(check_shape(*stored, {n_mats}));
    }
    if (claimed_.insert(stored).second) RZ_CHECK_OK(finish_values(*stored));
  }
  for (const float factor : factors) {
    constexpr float kLargestElement = 448 * 6;
    if (!std::isfinite(factor * kLargestElement)) return not_finite(stored != nullptr ? *stored : tensor);
    out.resize(out.size() + n_rows, factor);
  }
  return {};
}

// The concatenated scales of the role's tensors; empty for types without scales of rows.
Result<std::vector<float>> TensorBinder::row_scales(const Found& found, const Part& part) {
  std::vector<float> scales;
  if (found.tensors.front()->type == TypeId::kNVFP4) {
    for (const TensorInfo* tensor : found.tensors) RZ_CHECK_OK(append_row_factors(*tensor, part.n_rows, scales));
    return scales;
  }
  if (found.tensors.front()->type != TypeId::kF8_E4M3) return scales;
  for (const TensorInfo* tensor : found.tensors) {
    const TensorInfo* stored = find_f8_scales(file_, *tensor);
    const uint32_t n_run = part.n_run == 0 ? part.n_rows : part.n_run;
    for (uint32_t row = 0; row < part.n_rows; row += n_run) {
      RZ_CHECK_OK(append_f8_scales(*tensor, stored, part.row_at(row), n_run, scales));
    }
    if (stored != nullptr && claimed_.insert(stored).second) RZ_CHECK_OK(finish_values(*stored));
  }
  return scales;
}

// Called after a vector's values were read.
Status TensorBinder::finish_values(const TensorInfo& tensor) {
  if (options_.hash_weights) weights_hash_ = hash_of(tensor, weights_hash_);
  return report_progress(tensor);
}

// On another thread while the backend reads the same bytes, so it adds hardly any time.
std::future<uint64_t> TensorBinder::hash_async(const std::vector<const TensorInfo*>& tensors) const {
  const auto hash_all = [&tensors](uint64_t hash) {
    for (const TensorInfo* tensor : tensors) hash = hash_of(*tensor, hash);
    return hash;
  };
  // If no thread can be started, the hash is computed in get().
  return std::async(std::launch::async | std::launch::deferred, hash_all, weights_hash_);
}

void TensorBinder::release(const TensorInfo& tensor) const {
  if (tensor.packed == nullptr) return file_.release(tensor.data);
  for (const auto part : tensor.packed->parts()) file_.release(part);
}

Status TensorBinder::report_progress(const TensorInfo& tensor) {
  if (tensor.packed == nullptr) {
    done_bytes_ += tensor.data.size();
  } else {
    for (const auto part : tensor.packed->parts()) done_bytes_ += part.size();
  }
  if (!options_.progress || options_.progress(done_bytes_, file_.file_bytes())) return {};
  return Error{ErrorCode::kCancelled, "loading was cancelled", file_.path().string()};
}

}  // namespace realizar
