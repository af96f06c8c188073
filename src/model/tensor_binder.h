// Finds a model's tensors by their role, checks their shapes, loads them onto a backend, and records which are claimed.
// begin_layer() selects the layer of the roles that follow.
#pragma once

#include <algorithm>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "backend/backend.h"
#include "formats/model_file.h"
#include "model/arch/arch_spec.h"
#include "model/model.h"
#include "model/model_config.h"

namespace realizar {

// Rows of a head that stay together if ranks share it.
inline constexpr uint32_t kHeadShardUnit = 32;

class TensorBinder {
 public:
  // Rows of a fused matrix that become one weight: consecutive from first_row on, or n_run of every `stride` rows.
  struct Part {
    uint32_t first_row = 0, n_rows = 0;
    std::vector<uint32_t> row_order = {};  // as MatrixSource's
    uint32_t shard_unit = 0;               // as MatrixSource's
    uint32_t n_run = 0, stride = 0;        // 0: consecutive
    bool is_alone = false;                 // the only part of the matrix that is read

    // Index within the matrix of the weight's row `row`.
    uint32_t row_at(uint32_t row) const { return first_row + (n_run == 0 ? row : row / n_run * stride + row % n_run); }
    // The weight's elements of a vector with one element per row of the matrix.
    std::vector<float> of(const std::vector<float>& fused) const;
  };

  // backend: null to only check tensors; every weight is then kChecked, and matrix data is not read.
  TensorBinder(const ModelFile& file, const ArchSpec& spec, const ModelConfig& config, Backend* backend,
               const ModelOptions& options);

  void begin_layer(uint32_t layer) { layer_ = static_cast<int32_t>(layer); }
  // In the current layer.
  uint64_t size_of(Dim dim) const;

  bool is_gguf() const { return file_.format() == FileFormat::kGguf; }
  // Whether the architecture has such a tensor in this file format, and whether the file has it.
  bool is_known(Role role) const;
  bool is_in_file(Role role) const;

  // Number of rows, a multiple of n_together, that stay together if ranks or devices share a product's outputs: the
  // columns of `reader`, which reads them, are then split between whole blocks. 0 if there is no such matrix.
  uint32_t shard_unit(Role reader, uint32_t n_together) const;

  // Whether the role's matrices have one factor each, which is loaded with them.
  bool has_row_factors(Role role) const;

  // kNoWeight or no values if an optional tensor is missing. Errors: NotFound (by name and shape), FormatError (shape,
  // or values that are not finite), those of the backend.
  Result<WeightId> matrix(Role role, std::vector<uint32_t> row_order = {}, uint32_t shard_unit = 0);
  Result<WeightId> vector(Role role);
  Result<WeightId> norm(Role role);
  Result<std::vector<float>> values(Role role);
  // With 1 added if the file stores w for a factor of 1 + w.
  Result<std::vector<float>> norm_values(Role role);
  // The tensor repeated, once for each head.
  Result<WeightId> repeated_vector(Role role, uint32_t n_times);
  // The decay of a scan. Hugging Face stores log(-decay).
  Result<WeightId> decay();
  // kNoWeight if there are no values.
  Result<WeightId> upload(const std::vector<float>& values);
  // Claims a tensor that the file may have but this layer does not use.
  void ignore(Role role);
  // One weight for each matrix of a stack, which may be one tensor or several. Errors: those of matrix().
  Result<std::vector<WeightId>> matrices(Role role);
  // Parts of a fused matrix; the first one has its first row. Errors: those of matrix(); NotFound if it is missing.
  Result<std::vector<WeightId>> split_matrix(Role role, const std::vector<Part>& parts);

  // A part of a fused matrix as a stack with one matrix per run; and with each of these transposed, in F32. Errors:
  // those of split_matrix().
  Result<WeightId> heads(Role role, const Part& part);
  Result<WeightId> transposed_heads(Role role, const Part& part);

  // The table of positions, without skipped rows.
  Result<WeightId> positions();
  // The head's matrix; kNoWeight if the head is tied, even if the file has one.
  Result<WeightId> head();
  // Claims tensors of the architecture that are not loaded as weights, and those of extra layers.
  Status claim_ignored();
  Status check_all_claimed() const;
  // The bound matrices that adapters can change; empty if the options have no slots.
  std::vector<AdapterTarget> take_targets() { return std::move(targets_); }
  // Hash of the bound tensors; nullopt unless the options request it.
  std::optional<uint64_t> weights_hash() const;

 private:
  static constexpr WeightId kChecked{0};

  // A matrix role's tensors in the file: one, or one per expert; empty if an optional one is missing.
  struct Found {
    std::vector<const TensorInfo*> tensors;
    bool transposed = false;
  };

  Status claim_extra_layers();
  uint32_t n_skipped_positions() const;
  const TensorSpec* spec_of(Role role) const;
  const TensorInfo* find(std::string_view name_pattern, uint32_t layer, uint32_t expert) const;
  const TensorInfo* find(std::string_view name_pattern, uint32_t expert) const;
  // The first tensor of the role in the current layer, or null.
  const TensorInfo* first_of(Role role) const;
  Result<Found> find_role(Role role);
  // The tensor's name pattern in this file.
  std::string_view pattern_of(const TensorSpec& spec) const;
  Error missing(const TensorSpec& spec, std::string_view pattern, uint32_t expert) const;
  Status check_shape(const TensorInfo& tensor, std::vector<uint64_t> expected) const;
  Error not_finite(const TensorInfo& tensor) const;

  // In target_binding.cpp:
  void note_target(Role role, const Part& part, WeightId weight);
  std::vector<uint32_t> rows_in_other_format(Role role, const Part& part) const;
  // The tensor's name in the current layer without ".weight"; empty if the format does not have it as one tensor.
  std::string target_name(const TensorSpec& spec, bool of_gguf) const;

  // In tensor_loading.cpp:
  // Checks what load_rows() would, without reading the matrix.
  Result<WeightId> check_rows(const Found& found, const Part& part);
  Result<WeightId> load_rows(const Found& found, Role role, const Part& part, bool is_stack = false);
  // The head's rows, each normalized to length 1.
  Result<WeightId> load_unit_rows(const Found& head);
  // The part's rows: a span of the matrix or, if they are not consecutive, copies in `gathered`.
  std::span<const std::byte> part_of_matrix(const Found& found, Role role, const Part& part,
                                            std::span<const std::byte> matrix, std::vector<std::byte>& gathered) const;
  // The part of each matrix of a stack, [n_mats, part.n_rows, n_cols].
  std::vector<std::byte> part_of_stack(const Found& found, Role role, const Part& part,
                                       std::span<const std::byte> stack) const;
  // Loads a source made from the role's tensors; these are hashed and reported as read with their first part.
  Result<WeightId> load(const MatrixSource& source, const Found& found, const Part& part);
  // The bytes of a tensor in its type; those of a packed tensor are written to `unpacked`.
  Result<std::span<const std::byte>> bytes_of(const TensorInfo& tensor, std::vector<std::byte>& unpacked) const;
  Result<std::vector<float>> row_scales(const Found& found, const Part& part);
  Status append_row_factors(const TensorInfo& tensor, uint32_t n_rows, std::vector<float>& out);
  // A backend's error with the name of the tensor.
  Error explained(const Error& error, const Found& found) const;
  std::future<uint64_t> hash_async(const std::vector<const TensorInfo*>& tensors) const;
  Status finish_values(const TensorInfo& tensor);
  // Releases the file's pages of the tensor.
  void release(const TensorInfo& tensor) const;
  Status report_progress(const TensorInfo& tensor);

  const ModelFile& file_;
  const ArchSpec& spec_;
  const ModelConfig& config_;
  Backend* backend_;
  const ModelOptions& options_;
  // Index of the current layer in the file; 0 outside layers.
  uint32_t file_layer() const { return static_cast<uint32_t>(std::max(layer_, 0)) / config_.n_layers_each; }

  int32_t layer_ = -1;  // the current layer; -1: outside layers
  std::unordered_set<const TensorInfo*> claimed_;
  std::vector<AdapterTarget> targets_;
  uint64_t done_bytes_ = 0;
  uint64_t weights_hash_ = 0;
};

}  // namespace realizar
