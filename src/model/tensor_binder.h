// Finds a model's tensors by their role, checks their shapes, and brings them onto a backend; remembers which were
// claimed. Between begin_layer calls roles are those of one layer.
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

// Rows of a head that stay together where ranks share it.
inline constexpr uint32_t kHeadShardUnit = 32;

class TensorBinder {
 public:
  // Rows of a fused matrix that are a weight of their own: from first_row on, all together, or n_run of every `stride`.
  struct Part {
    uint32_t first_row = 0, n_rows = 0;
    std::vector<uint32_t> row_order = {};  // as MatrixSource's
    uint32_t shard_unit = 0;               // as MatrixSource's
    uint32_t n_run = 0, stride = 0;        // 0: all together
    bool is_alone = false;                 // no other part of the matrix is read

    // Where row `row` of the weight is in the matrix.
    uint32_t row_at(uint32_t row) const { return first_row + (n_run == 0 ? row : row / n_run * stride + row % n_run); }
    // The weight's elements of a vector with one for each of the matrix's rows.
    std::vector<float> of(const std::vector<float>& fused) const;
  };

  // backend: null where tensors are only checked. Every weight is then kChecked, and of matrices no byte is read.
  TensorBinder(const ModelFile& file, const ArchSpec& spec, const ModelConfig& config, Backend* backend,
               const ModelOptions& options);

  void begin_layer(uint32_t layer);
  // A size of the layer that is being bound; layers may differ in it.
  uint64_t size_of(Dim dim) const;

  bool is_gguf() const { return file_.format() == FileFormat::kGguf; }
  // Whether the architecture has such a tensor in files of this format, and whether this file has it.
  bool is_known(Role role) const;
  bool is_in_file(Role role) const;

  // How many rows, a multiple of n_together, stay together where ranks or devices share a product's outputs, which the
  // role's matrices read: its blocks are whole then. 0, where there is no such matrix.
  uint32_t shard_unit(Role reader, uint32_t n_together) const;

  // Whether the role's matrices have a factor each in files, which load with them.
  bool has_row_factors(Role role) const;

  // These give kNoWeight or no values where an optional tensor is absent. Errors: NotFound (by name and shape),
  // FormatError (shape, or values that are not finite), the backend's own.
  Result<WeightId> matrix(Role role, std::vector<uint32_t> row_order = {}, uint32_t shard_unit = 0);
  Result<WeightId> vector(Role role);
  Result<WeightId> norm(Role role);
  Result<std::vector<float>> values(Role role);
  // With 1 added where the file keeps w for 1 + w.
  Result<std::vector<float>> norm_values(Role role);
  // What all heads have in common, once for each.
  Result<WeightId> repeated_vector(Role role, uint32_t n_times);
  // The decay of a scan. Hugging Face keeps the logarithm of its opposite.
  Result<WeightId> decay();
  // kNoWeight where there are no values.
  Result<WeightId> upload(const std::vector<float>& values);
  // A tensor that the file may have and this layer does not read.
  void ignore(Role role);
  // A weight for each matrix of a stack, which some files keep one by one. Errors: as matrix's.
  Result<std::vector<WeightId>> matrices(Role role);
  // A fused matrix's parts; the first begins with its first row. Errors: as matrix's; NotFound where it is absent.
  Result<std::vector<WeightId>> split_matrix(Role role, const std::vector<Part>& parts);

  // A part of a fused matrix as a stack with a matrix for each of its runs; and the same with each of them turned over,
  // as F32. Errors: as split_matrix's.
  Result<WeightId> heads(Role role, const Part& part);
  Result<WeightId> turned_heads(Role role, const Part& part);

  // The table of positions, from the first one's row on.
  Result<WeightId> positions();
  // The head's own matrix, which a file may have and not use where the head is the embedding.
  Result<WeightId> head();
  // What the table of tensors names and the program does not read as a weight; and the layers that come after the
  // model's own.
  Status claim_ignored();
  Status check_all_claimed() const;
  // What adapters may change of what was bound; empty where the options do not ask for it.
  std::vector<AdapterTarget> take_targets() { return std::move(targets_); }
  // The hash of the tensors that were bound; nullopt where the options do not ask for it.
  std::optional<uint64_t> weights_hash() const;

 private:
  static constexpr WeightId kChecked{0};

  // A matrix role's tensors in the file: one, or one an expert; empty where an optional one is absent.
  struct Found {
    std::vector<const TensorInfo*> tensors;
    bool transposed = false;
  };

  Status claim_extra_layers();
  uint32_t n_skipped_positions() const;
  const TensorSpec* spec_of(Role role) const;
  const TensorInfo* find(std::string_view name_pattern, uint32_t layer, uint32_t expert) const;
  const TensorInfo* find(std::string_view name_pattern, uint32_t expert) const;
  Result<Found> find_role(Role role);
  // The name that this file uses for the tensor.
  std::string_view pattern_of(const TensorSpec& spec) const;
  Error missing(const TensorSpec& spec, std::string_view pattern, uint32_t expert) const;
  Status check_shape(const TensorInfo& tensor, std::vector<uint64_t> expected) const;
  Error not_finite(const TensorInfo& tensor) const;

  // These are in target_binding.cpp.
  void note_target(Role role, const Part& part, WeightId weight);
  std::vector<uint32_t> rows_elsewhere(Role role, const Part& part) const;
  // The name of the layer's tensor without ".weight"; empty where that format does not have it as one tensor.
  std::string target_name(const TensorSpec& spec, bool of_gguf) const;

  // These are in tensor_loading.cpp.
  // All that load_rows would refuse, without the matrix's bytes.
  Result<WeightId> check_rows(const Found& found, const Part& part);
  Result<WeightId> load_rows(const Found& found, Role role, const Part& part, bool is_stack = false);
  // The head's rows, each divided by its length.
  Result<WeightId> load_unit_rows(const Found& head);
  // A part's rows of a matrix, where they lie or, where they lie apart, in `gathered`.
  std::span<const std::byte> part_of_matrix(const Found& found, Role role, const Part& part,
                                            std::span<const std::byte> matrix, std::vector<std::byte>& gathered) const;
  // A part of each of a stack's matrices, [n_mats, part.n_rows, n_cols].
  std::vector<std::byte> part_of_stack(const Found& found, Role role, const Part& part,
                                       std::span<const std::byte> stack) const;
  // Loads what was made of the role's tensors; they count as read with the part that begins with their first row.
  Result<WeightId> load(const MatrixSource& source, const Found& found, const Part& part);
  // The stored bytes of a tensor in its type; `unpacked` holds them where they had to be made.
  Result<std::span<const std::byte>> bytes_of(const TensorInfo& tensor, std::vector<std::byte>& unpacked) const;
  Result<std::vector<float>> row_scales(const Found& found, const Part& part);
  Status append_row_factors(const TensorInfo& tensor, uint32_t n_rows, std::vector<float>& out);
  // A backend's refusal, by the tensor that it is of.
  Error explained(const Error& error, const Found& found) const;
  std::future<uint64_t> hash_beside(const std::vector<const TensorInfo*>& tensors) const;
  Status finish_values(const TensorInfo& tensor);
  // Its pages of the file.
  void release(const TensorInfo& tensor) const;
  Status report_progress(const TensorInfo& tensor);

  const ModelFile& file_;
  const ArchSpec& spec_;
  const ModelConfig& config_;
  Backend* backend_;
  const ModelOptions& options_;
  // Of the layer that is being bound, in the file; 0 where none is.
  uint32_t file_layer() const { return static_cast<uint32_t>(std::max(layer_, 0)) / config_.n_layers_each; }

  int32_t layer_ = -1;  // that is being bound; -1: none
  std::unordered_set<const TensorInfo*> claimed_;
  std::vector<AdapterTarget> targets_;
  uint64_t done_bytes_ = 0;
  uint64_t weights_hash_ = 0;
};

}  // namespace realizar
