// Finds, checks and uploads a model's tensors: role by role, then every tensor of the file must have been claimed.
#pragma once

#include <future>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "backend/backend.h"
#include "formats/model_file.h"
#include "model/arch/arch_spec.h"
#include "model/model.h"
#include "model/model_config.h"

namespace realizar {

class Binder {
 public:
  Binder(const ModelFile& file, const ArchSpec& spec, const ModelConfig& config, Backend& backend,
         const ModelOptions& options);

  Result<Weights> bind();
  // Of the tensors that were bound; nullopt where the options do not ask for it.
  std::optional<uint64_t> weights_hash() const;

 private:
  // A matrix role's tensors in the file: one, or one an expert; empty where an optional one is absent.
  struct Found {
    std::vector<const TensorInfo*> tensors;
    bool transposed = false;
  };

  const TensorSpec* spec_of(Role role) const;
  uint64_t size_of(Dim dim) const;
  const TensorInfo* find(std::string_view name_pattern, uint32_t layer, uint32_t expert) const;
  Result<Found> find_role(Role role, uint32_t layer);
  // A backend's refusal, by the tensor that it is of.
  Error explained(const Error& error, const Found& found) const;
  Status check_shape(const TensorInfo& tensor, std::vector<uint64_t> expected) const;
  Error missing(const TensorSpec& spec, std::string_view pattern, uint32_t layer, uint32_t expert) const;
  // The name that this file uses for the tensor.
  std::string_view pattern_of(const TensorSpec& spec, uint32_t layer) const;

  Status bind_layer(uint32_t layer, LayerWeights& w);
  Status bind_attention(uint32_t layer, LayerWeights& w);
  Status bind_ffn(uint32_t layer, LayerWeights& w);
  Result<bool> is_head_tied();
  Status bind_top(Weights& w);

  // Uploads rows [first_row, first_row + n_rows) of a role's matrix; n_rows 0: all.
  Result<WeightId> matrix(Role role, uint32_t layer, std::vector<uint32_t> row_order = {});
  Result<WeightId> matrix_rows(const Found& found, Role role, uint32_t first_row, uint32_t n_rows,
                               std::vector<uint32_t> row_order);
  Result<std::vector<float>> f8_scales(const Found& found, uint32_t first_row, uint32_t n_rows);
  Result<std::vector<float>> vector_values(Role role, uint32_t layer);
  Result<WeightId> vector(Role role, uint32_t layer);
  Result<WeightId> norm(Role role, uint32_t layer);
  Result<WeightId> upload(const std::vector<float>& values);

  std::vector<uint32_t> rope_row_order(uint32_t n_heads) const;
  uint32_t shard_unit(Role role, uint32_t first_row) const;
  Status claim_ignored();
  Status check_all_claimed() const;
  std::future<uint64_t> hash_beside(const std::vector<const TensorInfo*>& tensors) const;
  Status finish_values(const TensorInfo& tensor);
  Status report_progress(const TensorInfo& tensor);

  const ModelFile& file_;
  const ArchSpec& spec_;
  const ModelConfig& config_;
  Backend& backend_;
  const ModelOptions& options_;
  int32_t layer_ = -1;  // that is being bound
  bool is_head_tied_ = false;
  std::unordered_set<const TensorInfo*> claimed_;
  uint64_t done_bytes_ = 0;
  uint64_t weights_hash_ = 0;
};

}  // namespace realizar
