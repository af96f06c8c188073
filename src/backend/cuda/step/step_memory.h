// Work memory of steps on a device: activations and scratch, which programs share, and a step's input.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "backend/act_layout.h"
#include "backend/cuda/compile/launch_plan.h"
#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/step/buffer_sizes.h"
#include "backend/cuda/step/choice_input.h"
#include "backend/cuda/step/cut_lists.h"
#include "backend/cuda/step/graph_cache.h"
#include "backend/cuda/step/step_input.h"

namespace realizar::cuda {

struct Activation2D {
  uint32_t n_cols;
  Rows rows;
  float* values;  // on the device
};

class StepMemory {
 public:
  // partial_bytes: limit for attention's partial results at a time.
  StepMemory(Device& device, uint64_t partial_bytes) : device_(device), partial_bytes_(partial_bytes) {}

  void configure(const BackendLimits& limits) { limits_ = limits; }
  const BackendLimits& limits() const { return limits_; }
  // Allocates for a program's steps, after the weights and the cache. True if buffers used by launches have moved.
  // Errors: ResourceExhausted; no program can run afterwards.
  Result<bool> fit(const ActLayout& acts, const DeviceProgram& program, const Weights& weights, const KvLayout& cache);
  size_t n_bytes() const { return sizes_.total(); }

  static StepShape shape_of(const StepBatch& batch);
  // Before a step: uploads its input, for launches of this shape. `acts` and `program` must outlive the step's results.
  void begin(const ActLayout& acts, const DeviceProgram& program, const KvLayout& cache, const StepBatch& batch,
             const StepShape& shape);

  Activation2D act(ActId id) const {
    const ActPlace& place = (*acts_)[id];
    return {place.n_cols, place.rows, reinterpret_cast<float*>(as<std::byte>(Buffer::kActivations) + place.offset)};
  }
  template <class T>
  T* as(Buffer buffer) const {
    return static_cast<T*>(buffers_[static_cast<size_t>(buffer)]);
  }
  QuantRows view(const QuantBuffers& rows) const;
  SplitRows view(const SplitBuffers& rows) const;
  const StepInput& input() const { return input_; }
  const ChoiceInput& choice_input() const { return choice_input_; }
  // The list of cuts for the program's window, and the number of its entries in this step's launches.
  const RowCut* cut_list(uint32_t window_idx) const { return cut_lists_.list(window_idx); }
  uint64_t n_row_cuts(uint32_t window) const;
  // Passes of attention's partial results in this step: for decode rows, and for prompt tiles.
  const DecodePasses& passes() const { return passes_; }
  uint64_t max_tile_cuts() const { return pass_tile_cuts(heads_, n_positions(), partial_bytes_); }

  // The activation's rows in this step, on the device.
  std::span<float> rows_of(ActId id) const;
  // After the step. Errors of the device are reported by its next wait.
  std::span<const float> read(ActId id);
  std::span<const TokenId> chosen() const { return {host_chosen_, n_chosen_}; }
  // Queues the copy of the chosen tokens.
  void download_chosen();

 private:
  // Host copy of an activation for read().
  struct ReadCopy {
    std::vector<float> values;
    bool is_read = false;  // in this step
  };

  Status grow(const BufferSizes& sizes);
  Status fit_step_input(size_t n_bytes, const KvLayout& cache);
  Status fit_choice_input(size_t n_bytes);
  Status fit_cut_lists(const DeviceProgram& program);
  void set_passes(const DeviceProgram& program);
  uint32_t n_positions() const { return std::max(1u, limits_.max_context); }  // in the longest context

  Device& device_;
  BackendLimits limits_;
  uint64_t partial_bytes_;
  BufferSizes sizes_;
  std::array<void*, kBuffers> buffers_{};
  StepInput input_;
  ChoiceInput choice_input_;
  CutLists cut_lists_;
  TokenId* host_chosen_ = nullptr;  // pinned, [max_logit_rows]

  // State of the current step.
  const ActLayout* acts_ = nullptr;
  AttentionHeads heads_ = kNoHeads;
  DecodePasses passes_;
  StepShape exact_, shape_;  // of its rows, and of its launches
  size_t n_chosen_ = 0;
  std::vector<ReadCopy> copies_;  // by ActId
};

}  // namespace realizar::cuda
