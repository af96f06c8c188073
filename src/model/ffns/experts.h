// Mixture of experts: a router chooses n_used of n_experts ffns for each token and weights their outputs. A shared
// expert serves every token, optionally weighted by its own router.
#pragma once

#include "model/kind.h"

namespace realizar {

// Rows of a fused gate and up matrix: all of gate, then all of up; or in pairs of one each.
enum class GateUpRows : uint8_t { kStacked, kPaired };

enum class ExpertInput : uint8_t {
  kFfnInput,     // as for a dense ffn
  kRoutedEarly,  // kFfnInput; the router reads the stream before the layer's mixer (SmallThinker)
  kLayerInput,   // the stream before the mixer, with a norm for the experts (Arctic)
  kOwnNorms      // the stream after the mixer; experts, router and their outputs have their own norms (Gemma 4)
};

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
  WeightId norm = kNoWeight, router_norm = kNoWeight;            // [d_model], of the inputs of experts and router
  WeightId post_norm = kNoWeight, shared_post_norm = kNoWeight;  // [d_model], of the outputs
  WeightId scales = kNoWeight;                                   // [n_experts]
  WeightId latent_down = kNoWeight, latent_up = kNoWeight;       // [d_latent, d_model], [d_model, d_latent]
  WeightId out_bias = kNoWeight, zeros = kNoWeight;              // [d_model], on the sum of the experts
};

struct ExpertsConfig {
  using Weights = ExpertWeights;
  static constexpr const char* kName = "experts";

  uint32_t n_experts = 0, n_used = 0;
  uint32_t d_ff = 0;        // of one expert
  bool renormalize = true;  // the weights of the chosen experts sum to 1
  float scale = 1.0f;       // on the weights
  Activation activation = Activation::kSilu;
  RouteScore score = RouteScore::kSoftmax;
  float near_share = 0;                      // SparseMixer's threshold
  uint32_t n_groups = 1, n_used_groups = 1;  // of experts
  uint32_t n_group_best = 1;                 // number of a group's best scores whose sum ranks it
  uint32_t d_shared_ff = 0;                  // 0: no shared expert
  bool has_shared_router = false;
  bool has_biases = false;
  // False: down . activation(up . x), also for the shared expert; the activation is kReluSquared or kGeluErf.
  bool has_gates = true;
  bool weighs_input = false;                       // the weights apply to the experts' inputs, not their outputs
  GateUpRows gate_up_rows = GateUpRows::kStacked;  // in the file's fused matrices
  ExpertInput input = ExpertInput::kFfnInput;
  float out_scale = 1.0f;  // on the sum of experts and shared expert
  uint32_t d_latent = 0;   // width of the projection that experts work in; 0: d_model

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

// 0 if the kind has no such dimension.
uint64_t size_of(const ExpertsConfig& config, Dim dim);
Result<ExpertWeights> bind(const ExpertsConfig& config, TensorBinder& tensors);
// Adds the operations before the layer's mixer.
void add_before_mixer(LayerBuilder& builder, const ExpertsConfig& config, const ExpertWeights& weights);
void add_to(LayerBuilder& builder, const ExpertsConfig& config, const ExpertWeights& weights);

}  // namespace realizar
