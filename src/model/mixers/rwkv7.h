// RWKV-7's time mix (Peng et al. 2025, "RWKV-7 Goose", section 4): each row reads a mix of itself and the row before
// it, another for each of what it makes of them; decays, shares and gates are made through low ranks; and every layer
// but the first takes some of the first one's values for its own.
#pragma once

#include "model/kind.h"

namespace realizar {

// What is made of a row and the one before it, in the order in which GGUF keeps their shares of the latter.
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
  LowRankWeights decay, rate, v_share, gate;                // v_share: none in the first layer
  WeightId removal_scale = kNoWeight;                       // [d_model]
  WeightId rate_scale = kNoWeight;                          // [d_model]
  WeightId bonus_scale = kNoWeight;                         // [d_model]
  WeightId norm = kNoWeight, norm_bias = kNoWeight;         // [d_model]
  WeightId wo = kNoWeight;                                  // [d_model, d_model]
};

struct Rwkv7Config {
  using Weights = Rwkv7Weights;
  static constexpr const char* kName = "RWKV-7";

  uint32_t n_heads = 0, head_dim = 0;  // d_model together
  uint32_t decay_rank = 0, rate_rank = 0, v_rank = 0, gate_rank = 0;
  float norm_eps = 0;     // of the heads' norm
  bool is_first = false;  // its values are those that later layers take some of

  uint32_t d_model() const { return n_heads * head_dim; }
  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("n_heads", n_heads), v("head_dim", head_dim), v("decay_rank", decay_rank), v("rate_rank", rate_rank);
    v("v_rank", v_rank), v("gate_rank", gate_rank), v("norm_eps", norm_eps), v("is_first", is_first);
  }
  bool operator==(const Rwkv7Config&) const = default;
};

// The parts of a layer's state. The last one is that of the layer's ffn, which looks back too.
enum Rwkv7Part : uint32_t { kTimeShift, kWkvState, kChannelShift };

StateLayout state_layout(const Rwkv7Config& config, uint32_t n_ctx);
// 0 where the dimension is not of this kind.
uint64_t size_of(const Rwkv7Config& config, Dim dim);
Result<Rwkv7Weights> bind(const Rwkv7Config& config, TensorBinder& tensors);
void add_to(LayerBuilder& builder, const Rwkv7Config& config, const Rwkv7Weights& weights);

// The taps that mix a row with the one before it, [d_model, 2], by the latter's shares.
Result<WeightId> upload_shift(TensorBinder& tensors, const float* shares, size_t d_model);

}  // namespace realizar
