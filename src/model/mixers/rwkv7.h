// RWKV-7's time mix (Peng et al. 2025, "RWKV-7 Goose", section 4): every projection reads its own mix of a row and the
// previous one; decays, shares and gates are low-rank projections; and all layers after the first blend the first
// layer's values into theirs.
#pragma once

#include "model/kind.h"

namespace realizar {

// Projections of mixed rows, in the order of GGUF's tensor of mix shares.
enum class Rwkv7Mix : uint8_t { kR, kDecay, kK, kV, kRate, kGate };
inline constexpr uint32_t kRwkv7Mixes = 6;

// y = w . activation(low . x) + bias
struct LowRankWeights {
  WeightId low = kNoWeight;   // [rank, d_model]
  WeightId w = kNoWeight;     // [d_model, rank]
  WeightId bias = kNoWeight;  // [d_model]
};

struct Rwkv7Weights {
  WeightId shifts[kRwkv7Mixes] = {kNoWeight, kNoWeight, kNoWeight, kNoWeight, kNoWeight, kNoWeight};  // [d_model, 2]
  WeightId wr = kNoWeight, wk = kNoWeight, wv = kNoWeight;  // [d_model, d_model]
  LowRankWeights decay, rate, v_share, gate;                // v_share: not in the first layer
  WeightId removal_scale = kNoWeight;                       // [d_model]
  WeightId rate_scale = kNoWeight;                          // [d_model]
  WeightId bonus_scale = kNoWeight;                         // [d_model]
  WeightId norm = kNoWeight, norm_bias = kNoWeight;         // [d_model]
  WeightId wo = kNoWeight;                                  // [d_model, d_model]
};

struct Rwkv7Config {
  using Weights = Rwkv7Weights;
  static constexpr const char* kName = "RWKV-7";

  uint32_t n_heads = 0, head_dim = 0;  // n_heads * head_dim = d_model
  uint32_t decay_rank = 0, rate_rank = 0, v_rank = 0, gate_rank = 0;
  float norm_eps = 0;     // of the heads' norm
  bool is_first = false;  // later layers use its values

  uint32_t d_model() const { return n_heads * head_dim; }
  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("n_heads", n_heads), v("head_dim", head_dim), v("decay_rank", decay_rank), v("rate_rank", rate_rank);
    v("v_rank", v_rank), v("gate_rank", gate_rank), v("norm_eps", norm_eps), v("is_first", is_first);
  }
  bool operator==(const Rwkv7Config&) const = default;
};

// Parts of a layer's state. The last one belongs to the layer's channel mix.
enum Rwkv7Part : uint32_t { kTimeShift, kWkvState, kChannelShift };

StateLayout state_layout(const Rwkv7Config& config, uint32_t n_ctx);
// 0 if the kind has no such dimension.
uint64_t size_of(const Rwkv7Config& config, Dim dim);
Result<Rwkv7Weights> bind(const Rwkv7Config& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const Rwkv7Config& config, const Rwkv7Weights& weights);

// Taps that mix a row with the previous one, [d_model, 2]. `shares`: those of the previous row.
Result<WeightId> upload_shift(TensorBinder& tensors, const float* shares, size_t d_model);

}  // namespace realizar
