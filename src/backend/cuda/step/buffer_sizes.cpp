#include "backend/cuda/step/buffer_sizes.h"

#include <numeric>

#include "backend/cuda/compile/matrix_traits.h"
#include "backend/cuda/step/choice_input.h"
#include "backend/cuda/step/cut_lists.h"
#include "backend/cuda/step/step_input.h"
#include "base/check.h"

namespace realizar::cuda {
namespace {

size_t whole_groups(size_t n_cols) {
  return (n_cols + kGroupCols - 1) / kGroupCols * kGroupCols;
}

size_t n_vocab_parts(size_t n_vocab) {
  return (n_vocab + kPartTokens - 1) / kPartTokens;
}

class Sizer {
 public:
  explicit Sizer(const SizedStep& step) : s_(step) {
    const uint32_t n_blocks = (n_positions() + s_.cache.block_tokens - 1) / s_.cache.block_tokens;
    sizes_[Buffer::kActivations] = s_.acts.n_bytes;
    sizes_[Buffer::kStepInput] = StepInput::n_bytes_for(s_.limits, n_blocks, s_.cache.n_groups);
  }

  void add(const LinearOp& op) { add_product(op.weight, cols_of(op.in)); }

  void add(const GatedLinearOp& op) {
    add_product(op.gate, cols_of(op.in));
    add_product(op.up, cols_of(op.in));
    if (has(op.gate, has_groups)) {
      sizes_.grow(Buffer::kUps, size_t{s_.limits.max_rows} * rows_of(op.up, cols_of(op.out)) * sizeof(float));
    }
  }

  void add(const RouteOp& op) { n_experts_ = std::max(n_experts_, op.n_experts); }

  void add(const ExpertsOp& op) {
    add_product(op.gate, cols_of(op.in));
    add_product(op.up, cols_of(op.in));
    const size_t n_pairs = size_t{s_.limits.max_rows} * op.n_used;
    add_pairs(op.down, n_pairs, rows_of(op.gate, op.d_ff),
              s_.weights != nullptr ? s_.weights->matrix(op.gate).n_mats : n_experts_);
    if (!has(op.down, has_tiles)) return;
    sizes_.grow(Buffer::kPairResults, n_pairs * rows_of(op.down, cols_of(op.out)) * sizeof(float));
  }

  void add(const HeadLinearOp& op) {
    const uint32_t n_cols = s_.weights != nullptr ? s_.weights->matrix(op.weight).n_cols : op.in_width;
    add_pairs(op.weight, size_t{s_.limits.max_rows} * op.n_heads, n_cols, op.n_heads);
  }

  void add(const AttentionOp& op) {
    if (s_.cache.type == KvType::kF32) return;  // F32 needs none
    if (std::ranges::find(windows_, window_of(op)) == windows_.end()) windows_.push_back(window_of(op));
    heads_ = most_of(heads_, op);
  }

  void add(const ChooseOp& op) {
    const size_t n_rows = s_.limits.max_logit_rows, n_parts = n_rows * n_vocab_parts(cols_of(op.logits));
    sizes_.grow(Buffer::kCandidates, n_parts * kMaxCandidates * sizeof(uint64_t));
    sizes_.grow(Buffer::kVocabParts, n_parts * sizeof(ChoicePart));
    sizes_.grow(Buffer::kChosen, n_rows * sizeof(int32_t));
    sizes_.grow(Buffer::kChoiceInput, ChoiceInput::n_bytes_for(s_.limits.max_logit_rows));
  }

  void add(const SumPartsOp& op) {
    REQUIRE(cols_of(op.part) == cols_of(op.out));
    sizes_.grow(Buffer::kParts, size_t{op.n_parts} * s_.limits.max_rows * cols_of(op.part) * sizeof(float));
  }

  template <class Other>
  void add(const Other&) {}

  // After all commands, since attention's passes depend on the most heads, and its lists on the number of windows.
  BufferSizes finish() {
    if (windows_.empty()) return sizes_;
    const DecodePasses passes = decode_passes(heads_, n_positions(), s_.partial_bytes);
    sizes_[Buffer::kPartials] = partials_bytes(heads_, s_.limits, n_positions(), s_.partial_bytes);
    if (passes.max_cuts > 1) {
      sizes_[Buffer::kArrivals] = size_t{s_.limits.max_rows} * heads_.n_heads * sizeof(uint32_t);
    }
    sizes_[Buffer::kCutLists] = windows_.size() * CutLists::n_bytes_for(max_row_cuts(passes, s_.limits.max_rows));
    return sizes_;
  }

 private:
  uint32_t n_positions() const { return std::max(1u, s_.limits.max_context); }  // in the longest context
  uint32_t cols_of(ActId act) const { return s_.acts[act].n_cols; }
  bool has(WeightId id, bool (*trait)(TypeId)) const {
    return s_.weights != nullptr ? trait(s_.weights->matrix(id).type) : std::ranges::any_of(s_.types, trait);
  }
  size_t rows_of(WeightId id, uint32_t otherwise) const {
    return s_.weights != nullptr ? s_.weights->matrix(id).n_rows : otherwise;
  }
  // Adds the input rows of a product, in the form that its matrix reads.
  void add_product(WeightId id, uint32_t n_in_cols) {
    const size_t n_cols = s_.weights != nullptr ? s_.weights->matrix(id).n_cols : n_in_cols;
    const uint32_t max_rows = std::max(s_.limits.max_rows, s_.limits.max_logit_rows);
    if (has(id, wants_split)) grow(kSplits, max_rows, n_cols);
    if (has(id, has_groups)) grow(kQuants, max_rows, n_cols);
  }
  // Adds the input rows for pairs of a row and one of n_groups, and their order.
  void add_pairs(WeightId id, size_t n_pairs, size_t n_cols, size_t n_groups) {
    sizes_.grow(Buffer::kHidden, n_pairs * n_cols * sizeof(float));
    if (has(id, has_groups)) grow(kHiddenQuants, n_pairs, n_cols);
    if (has(id, wants_split)) grow(kHiddenSplits, n_pairs, n_cols);
    sizes_.grow(Buffer::kPairs, n_pairs * sizeof(uint32_t));
    sizes_.grow(Buffer::kPairStarts, (n_groups + 1) * sizeof(uint32_t));
    sizes_.grow(Buffer::kTileExperts, (n_pairs / kTileRows + n_groups) * sizeof(uint32_t));
  }
  void grow(const QuantBuffers& to, size_t n_rows, size_t n_cols) {
    const size_t n_codes = n_rows * whole_groups(n_cols), n_groups = n_codes / kGroupCols;
    sizes_.grow(to.codes, n_codes + kMoreCodeBytes);
    sizes_.grow(to.scales, n_groups * sizeof(float));
    sizes_.grow(to.halves, n_groups * sizeof(int32_t));
  }
  void grow(const SplitBuffers& to, size_t n_rows, size_t n_cols) {
    const size_t n_bytes = n_rows * whole_groups(n_cols) * sizeof(uint16_t);
    sizes_.grow(to.high, n_bytes);
    sizes_.grow(to.low, n_bytes);
    sizes_.grow(to.scales, n_rows * sizeof(float));
  }

  const SizedStep& s_;
  BufferSizes sizes_;
  AttentionHeads heads_ = kNoHeads;
  std::vector<uint32_t> windows_;
  uint32_t n_experts_ = 0;
};

}  // namespace

size_t BufferSizes::total() const {
  return std::accumulate(n_bytes.begin(), n_bytes.end(), size_t{0});
}

BufferSizes buffer_sizes(std::span<const Command> commands, const SizedStep& step) {
  Sizer sizer(step);
  for (const Command& command : commands) {
    std::visit([&](const auto& op) { sizer.add(op); }, command);
  }
  return sizer.finish();
}

}  // namespace realizar::cuda
