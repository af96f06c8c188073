// What a step needs in the device's memory (activations, cache, scratch), and the launches of its operations.
#pragma once

#include <span>
#include <vector>

#include "backend/act_layout.h"
#include "backend/cuda/choice_input.h"
#include "backend/cuda/command.h"
#include "backend/cuda/cut_lists.h"
#include "backend/cuda/device.h"
#include "backend/cuda/graph_cache.h"
#include "backend/cuda/repack.h"
#include "backend/cuda/step_input.h"
#include "backend/cuda/weights.h"

namespace realizar::cuda {

// Device memory that grows to the largest that was asked for; what it held is lost then.
class Scratch {
 public:
  // Counts in n_moves where the memory is another afterwards.
  Status reserve(Device& device, size_t n_bytes, uint32_t& n_moves);
  size_t n_bytes() const { return n_bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
  size_t n_bytes_ = 0;
};

// Rows of some width as int8.
struct QuantScratch {
  Scratch codes, scales, halves;

  Status reserve(Device& device, size_t n_rows, size_t n_cols, uint32_t& n_moves);
  size_t n_bytes() const { return codes.n_bytes() + scales.n_bytes() + halves.n_bytes(); }
  QuantRows view() const { return {codes.as<uint32_t>(), scales.as<float>(), halves.as<int32_t>()}; }
};

// Rows of some width as sums of two 16-bit values.
struct SplitScratch {
  Scratch high, low, scales;

  Status reserve(Device& device, size_t n_rows, size_t n_cols, uint32_t& n_moves);
  size_t n_bytes() const { return high.n_bytes() + low.n_bytes() + scales.n_bytes(); }
  SplitRows view() const { return {high.as<uint32_t>(), low.as<uint32_t>(), scales.as<float>()}; }
};

class StepRunner {
 public:
  // partial_bytes: what attention may take for partial results at a time.
  StepRunner(Device& device, const Weights& weights, uint64_t partial_bytes)
      : device_(device), kernels_(device.kernels()), weights_(weights), partial_bytes_(partial_bytes) {}

  // What the kernels have places for, as Backend::check has it.
  static Status check(const Program& program);
  void configure(const BackendLimits& limits) { limits_ = limits; }
  // Of the layers from first_layer on, as many as the layout has. Errors: Unsupported (head_dim and type),
  // ResourceExhausted.
  Status create_kv_cache(const KvLayout& layout, uint32_t first_layer);
  size_t layer_block_bytes() const { return size_t{layout_.n_kv_heads} * page_bytes_; }
  size_t kv_plane_bytes() const { return size_t{layout_.n_layers} * layout_.n_blocks * layer_block_bytes(); }
  // On the device: activations, and what else steps compute in.
  size_t scratch_bytes() const;
  // Where the keys (or values) of a block lie; `layer` is the model's.
  uint8_t* block_at(bool is_value, uint32_t layer, BlockId id) const;

  // Takes the memory of the steps of these commands, once the weights and the cache are there. Errors:
  // ResourceExhausted.
  Status fit(const ActLayout& acts, std::span<const Command> commands);
  // Before a step: brings the facts of its rows to the device, for launches of this shape. The layout must be there
  // until the step's results are read.
  void begin(const ActLayout& acts, const StepBatch& batch, const StepShape& shape);
  // How often memory that launches name was exchanged for other.
  uint32_t n_moves() const { return n_moves_; }
  static StepShape shape_of(const StepBatch& batch);
  const BackendLimits& limits() const { return limits_; }
  // Launches what makes a step's operations, in their order, for a step of at most this shape.
  void begin_launches(const StepShape& shape);
  // Launches the first of these, and with it as many of those behind it as one launch can make: these are then passed
  // by when their turn comes.
  void run(std::span<const Command> commands);

  // Where SumPartsOp finds what all devices have, [n_parts, n_rows, n_cols].
  float* parts() const { return parts_.as<float>(); }
  // The activation's rows of this step, on the device.
  std::span<float> rows_of(ActId id) {
    const Activation2D a = act(id);
    return {a.values, size_t{a.rows == Rows::kAll ? exact_.n_rows : exact_.n_logit_rows} * a.n_cols};
  }

  // After the step. Errors of the device show at its next wait.
  std::span<const float> read(ActId id);
  std::span<const TokenId> chosen() const { return {host_chosen_, n_chosen_}; }
  // Queues the copy of the chosen tokens.
  void download_chosen();

 private:
  struct Activation2D {
    uint32_t n_cols;
    Rows rows;
    float* values;  // on the device
  };
  // What read() gives of an activation.
  struct ReadCopy {
    std::vector<float> values;
    bool is_read = false;  // in this step
  };

  Activation2D act(ActId id) const {
    const ActPlace& place = (*acts_)[id];
    return {place.n_cols, place.rows, reinterpret_cast<float*>(activations_.as<std::byte>() + place.offset)};
  }
  uint32_t max_rows(Rows rows) const { return rows == Rows::kAll ? shape_.n_rows : shape_.n_logit_rows; }
  const uint32_t* n_rows_at(Rows rows) const {
    return rows == Rows::kAll ? input_.view().n_rows : input_.view().n_logit_rows;
  }
  KvView cache_of(uint32_t layer) const;
  Status reserve_input();
  Status reserve(const LinearOp& op) { return reserve_for(op.weight); }
  Status reserve(const GatedLinearOp& op);
  Status reserve(const AttentionOp& op);
  Status reserve(const ExpertsOp& op);
  Status reserve(const ChooseOp& op);
  Status reserve(const SumPartsOp& op);
  template <class Op>
  Status reserve(const Op&) {
    return {};
  }
  uint64_t n_row_cuts(uint32_t window) const;
  // Of the longest context.
  uint32_t n_positions() const { return std::max(1u, limits_.max_context); }
  Status reserve_partials();
  bool has_plain_cache() const;
  // For the rows that a matrix multiplies.
  Status reserve_for(WeightId id);

  void run(const EmbedOp& op);
  void run(const NormOp& op);
  bool wants_quantized(ActId in) const;
  bool are_alike(WeightId a, WeightId b) const;
  void add_parts(const LinearOp& op, LinearArgs& args);
  void run(const LinearOp& op);
  bool is_paired(const GatedLinearOp& op) const;
  void run_paired(const GatedLinearOp& op);
  void run(const GatedLinearOp& op);
  void run(const RopeStoreOp& op);
  void attend_decode_rows(AttentionArgs args);
  void attend_prompt_rows(AttentionArgs args);
  void run(const AttentionOp& op);
  void run(const RouteOp& op);
  void run(const ExpertsOp& op);
  void run(const SelectRowsOp& op);
  void run(const ChooseOp& op);
  void run(const ClearOp& op);
  void run(const SumPartsOp& op);
  // The rows of `in` as int8, where the matrix wants them so.
  QuantRows quantized(const Matrix& weight, ActId in, Rows rows);
  // The prompt's rows of `in` as sums of two values of the matrix's type, 16 bits each.
  SplitRows split(const Matrix& weight, ActId in);
  // What is known of an activation's quantized or split rows is so no longer.
  void wrote(ActId id) {
    if (id == quantized_of_) quantized_of_ = kNoAct;
    if (id == split_of_) split_of_ = kNoAct;
  }
  uint32_t n_prompt_rows() const { return shape_.n_rows - shape_.n_decode_rows; }
  // Rows that a matrix multiplies one by one, and the most that these can be.
  struct Dots {
    RowRange rows;
    uint32_t max_rows;
  };
  Dots dots_of(const Matrix& weight, Rows rows) const;
  void multiply(const LinearArgs& args, ActId in, Rows rows, ActId out);
  void multiply_tiles(LinearArgs& args, ActId in);
  void multiply_experts(const ExpertsOp& op, WeightId weight, Store store);
  void prepare_hidden(const ExpertsOp& op, const Matrix& down);
  void add_downs(const ExpertsOp& op);
  // What multiplies a prompt's rows.
  auto tile_kernel(const Matrix& weight) const {
    return layout_of(weight.type) == Layout::kGroups ? kernels_.linear_many : kernels_.linear_split;
  }
  PairGroups pair_groups() const {
    return {pairs_.as<uint32_t>(), pair_starts_.as<uint32_t>(), tile_experts_.as<uint32_t>()};
  }

  Device& device_;
  const KernelTable& kernels_;
  const Weights& weights_;
  BackendLimits limits_;
  const ActLayout* acts_ = nullptr;  // of the program that ran last
  Scratch activations_;              // of all programs: one runs at a time
  std::vector<ReadCopy> copies_;     // by ActId
  KvLayout layout_;                  // of the layers that are here
  uint32_t first_layer_ = 0;
  size_t page_bytes_ = 0;
  uint8_t* planes_[2] = {};  // keys, values
  StepInput input_;
  ChoiceInput choice_input_;
  QuantScratch quants_, hidden_quants_;
  SplitScratch splits_, hidden_splits_;
  Scratch ups_, hidden_, pairs_, pair_starts_, tile_experts_, pair_results_;
  Scratch candidates_, vocab_parts_, chosen_;
  Scratch partials_, arrivals_, parts_;
  uint64_t partial_bytes_;
  uint32_t n_heads_ = 0;           // the most that attention has, of all programs
  std::vector<uint32_t> windows_;  // that attention has, in all programs: a list of cuts each
  DecodePasses passes_;
  CutLists cut_lists_;
  std::vector<uint32_t> no_arrivals_;  // zeros, for them
  TokenId* host_chosen_ = nullptr;     // pinned, [max_logit_rows]
  size_t n_chosen_ = 0;
  ActId quantized_of_ = kNoAct, split_of_ = kNoAct;
  TypeId split_type_ = TypeId::kF32;  // F32: none
  std::span<const Command> behind_;   // the command that is being run
  size_t n_launched_ = 0;             // of them
  StepShape exact_, shape_;           // of the step; of the launches that are made for it
  uint32_t n_moves_ = 0;
};

}  // namespace realizar::cuda
