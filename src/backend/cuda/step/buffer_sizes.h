// Sizes of the buffers that a program's steps use on a device, apart from the cache: a function of its commands, the
// limits, and, once they are loaded, the weights.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "backend/act_layout.h"
#include "backend/cuda/compile/command.h"
#include "backend/cuda/kernels/attention_shape.h"
#include "backend/cuda/weights/weights.h"

namespace realizar::cuda {

enum class Buffer : uint8_t {
  kActivations,
  kQuantCodes,  // input rows of a product as int8
  kQuantScales,
  kQuantHalves,
  kSplitHigh,  // input rows of a product as sums of two
  kSplitLow,
  kSplitScales,
  kUps,     // [max_rows, d_ff]; their gates are the product's output
  kHidden,  // [max_rows * n_used, d_ff] of experts, or a part per head; then as int8 and as sums of two
  kHiddenCodes,
  kHiddenScales,
  kHiddenHalves,
  kHiddenHigh,
  kHiddenLow,
  kHiddenSplitScales,
  kPairs,  // rows paired with their experts or heads, grouped by these
  kPairStarts,
  kTileExperts,
  kPairResults,
  kCandidates,  // candidate tokens, by parts of the vocabulary
  kVocabParts,
  kChosen,
  kPartials,  // results of attention's cuts
  kArrivals,
  kParts,     // all devices' parts of sums
  kCutLists,  // managed by separate classes, like all below
  kStepInput,
  kChoiceInput,
  kCount
};
inline constexpr size_t kBuffers = static_cast<size_t>(Buffer::kCount);

// Buffers that together hold rows as int8, or as sums of two values.
struct QuantBuffers {
  Buffer codes, scales, halves;
};
struct SplitBuffers {
  Buffer high, low, scales;
};
inline constexpr QuantBuffers kQuants{Buffer::kQuantCodes, Buffer::kQuantScales, Buffer::kQuantHalves};
inline constexpr QuantBuffers kHiddenQuants{Buffer::kHiddenCodes, Buffer::kHiddenScales, Buffer::kHiddenHalves};
inline constexpr SplitBuffers kSplits{Buffer::kSplitHigh, Buffer::kSplitLow, Buffer::kSplitScales};
inline constexpr SplitBuffers kHiddenSplits{Buffer::kHiddenHigh, Buffer::kHiddenLow, Buffer::kHiddenSplitScales};

struct BufferSizes {
  std::array<size_t, kBuffers> n_bytes{};

  size_t& operator[](Buffer buffer) { return n_bytes[static_cast<size_t>(buffer)]; }
  size_t operator[](Buffer buffer) const { return n_bytes[static_cast<size_t>(buffer)]; }
  void grow(Buffer buffer, size_t n) { (*this)[buffer] = std::max((*this)[buffer], n); }
  size_t total() const;
};

struct SizedStep {
  const ActLayout& acts;
  const BackendLimits& limits;
  const KvLayout& cache;                   // its block_tokens, type and groups
  uint64_t partial_bytes = kPartialBytes;  // for attention's partial results
  const Weights* weights = nullptr;        // null: not loaded yet, and each matrix may have any of `types`
  std::span<const TypeId> types = {};
};
BufferSizes buffer_sizes(std::span<const Command> commands, const SizedStep& step);

}  // namespace realizar::cuda
