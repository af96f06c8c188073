// A router chooses n_used of n_experts gated ffns for each token; their outputs are added by its weights. A shared
// expert beside them serves every token, whole or as much as its own router says.
#pragma once

#include "model/kind.h"

namespace realizar {

// How the rows of a fused matrix of gate and up lie: all of gate's, then all of up's; or in pairs of one each.
enum class GateUpRows : uint8_t { kStacked, kPaired };

// What experts read: what a dense ffn reads; the same, but the router reads the stream before the layer's mixer
// (SmallThinker); the stream before the mixer, by a norm of their own (Arctic); or the stream after it, by a norm of
// their own and the router by another one, and what they give and the shared expert gives is normalized before it is
// added (Gemma 4).
enum class ExpertInput : uint8_t { kFfnInput, kRoutedEarly, kLayerInput, kOwnNorms };

struct ExpertWeights {
  WeightId router = kNoWeight;                                   // [n_experts, d_model]
  WeightId w_gate = kNoWeight, w_up = kNoWeight;                 // [n_experts, d_ff, d_model or d_latent]
  WeightId w_down = kNoWeight;                                   // [n_experts, d_model or d_latent, d_ff]
  WeightId router_bias = kNoWeight;                              // [n_experts]
  WeightId choice_bias = kNoWeight;                              // [n_experts]
  WeightId b_gate = kNoWeight, b_up = kNoWeight;                 // [n_experts, d_ff]
  WeightId b_down = kNoWeight;                                   // [n_experts, d_model]
  WeightId shared_router = kNoWeight;                            // [1, d_model]
  WeightId shared_gate = kNoWeight, shared_up = kNoWeight;       // [d_shared_ff, d_model]
  WeightId shared_down = kNoWeight;                              // [d_model, d_shared_ff]
  WeightId norm = kNoWeight, router_norm = kNoWeight;            // [d_model], of what experts and their router read
  WeightId post_norm = kNoWeight, shared_post_norm = kNoWeight;  // [d_model], of what they give
  WeightId scales = kNoWeight;                                   // [n_experts]
  WeightId latent_down = kNoWeight, latent_up = kNoWeight;       // [d_latent, d_model], [d_model, d_latent]
  WeightId out_bias = kNoWeight, zeros = kNoWeight;              // [d_model], of what experts give together
};

struct ExpertsConfig {
  using Weights = ExpertWeights;
  static constexpr const char* kName = "experts";

  uint32_t n_experts = 0, n_used = 0;
  uint32_t d_ff = 0;        // of one expert
  bool renormalize = true;  // the weights of the chosen sum to 1
  float scale = 1.0f;       // on the weights
  Activation activation = Activation::kSilu;
  RouteScore score = RouteScore::kSoftmax;
  float near_share = 0;                      // of SparseMixer's
  uint32_t n_groups = 1, n_used_groups = 1;  // of experts
  uint32_t n_group_best = 1;                 // of a group's scores, which it is chosen by
  uint32_t d_shared_ff = 0;                  // 0: no expert is shared
  bool has_shared_router = false;
  bool has_biases = false;
  // Without: down . activation(up . x), of the shared expert too; the activation is kReluSquared or kGeluErf.
  bool has_gates = true;
  bool weighs_input = false;                       // by the weights, instead of what experts give
  GateUpRows gate_up_rows = GateUpRows::kStacked;  // of the file's fused matrices
  ExpertInput input = ExpertInput::kFfnInput;
  float out_scale = 1.0f;  // on what they and the shared expert give together
  uint32_t d_latent = 0;   // what they read and give is made of a row and made a row again; 0: they read rows

  template <class Visitor>
  constexpr void visit(Visitor&& v) const {
    v("n_experts", n_experts), v("n_used", n_used), v("d_ff", d_ff), v("renormalize", renormalize), v("scale", scale);
    v("activation", activation), v("score", score), v("near_share", near_share), v("n_groups", n_groups);
    v("n_used_groups", n_used_groups), v("n_group_best", n_group_best), v("d_shared_ff", d_shared_ff);
    v("has_shared_router", has_shared_router), v("has_biases", has_biases), v("has_gates", has_gates);
    v("weighs_input", weighs_input), v("gate_up_rows", gate_up_rows), v("input", input), v("out_scale", out_scale);
    v("d_latent", d_latent);
  }
  bool operator==(const ExpertsConfig&) const = default;
};

// 0 where the dimension is not of this kind.
uint64_t size_of(const ExpertsConfig& config, Dim dim);
Result<ExpertWeights> bind(const ExpertsConfig& config, TensorBinder& tensors);
// What comes before the layer's mixer.
void add_before_mixer(LayerBuilder& builder, const ExpertsConfig& config, const ExpertWeights& weights);
void add_to(LayerBuilder& builder, const ExpertsConfig& config, const ExpertWeights& weights);

}  // namespace realizar
