#include "model/ffns/experts.h"

#include <cmath>

#include "base/check.h"
#include "base/try.h"
#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {

uint64_t size_of(const ExpertsConfig& c, Dim dim) {
  switch (dim) {
    case Dim::kExperts:
      return c.n_experts;
    case Dim::kExpertFf:
      return c.d_ff;
    case Dim::kExpertGateUp:
      return uint64_t{2} * c.d_ff;
    case Dim::kExpertIn:
      return c.d_latent;
    case Dim::kSharedFf:
      return c.d_shared_ff;
    case Dim::kSharedGateUp:
      return uint64_t{2} * c.d_shared_ff;
    default:
      return 0;
  }
}

namespace {

// Gate's and up's rows of a fused matrix with d_ff rows each.
std::vector<TensorBinder::Part> gate_up_parts(GateUpRows rows, uint32_t d_ff, uint32_t shard_unit) {
  const bool is_stacked = rows == GateUpRows::kStacked;
  TensorBinder::Part gate{.n_rows = d_ff, .shard_unit = shard_unit};
  if (!is_stacked) gate.n_run = 1, gate.stride = 2;
  TensorBinder::Part up = gate;
  up.first_row = is_stacked ? d_ff : 1;
  return {gate, up};
}

// The part's elements of all experts' fused biases.
std::vector<float> part_of_each(const TensorBinder::Part& part, const std::vector<float>& fused, uint32_t n_experts) {
  const size_t n_fused = fused.size() / n_experts;
  std::vector<float> own;
  for (uint32_t expert = 0; expert < n_experts; ++expert) {
    for (uint32_t row = 0; row < part.n_rows; ++row) own.push_back(fused[expert * n_fused + part.row_at(row)]);
  }
  return own;
}

Status bind_fused_gate_up(const ExpertsConfig& c, TensorBinder& tensors, ExpertWeights& w) {
  const auto parts = gate_up_parts(c.gate_up_rows, c.d_ff, tensors.shard_unit(Role::kExpertDown, 1));
  RZ_TRY(const auto weights, tensors.split_matrix(Role::kExpertGateUp, parts));
  w.w_gate = weights[0], w.w_up = weights[1];
  RZ_TRY(const auto bias, tensors.values(Role::kExpertGateUpBias));
  if (bias.empty()) return {};
  RZ_TRY(w.b_gate, tensors.upload(part_of_each(parts[0], bias, c.n_experts)));
  RZ_TRY(w.b_up, tensors.upload(part_of_each(parts[1], bias, c.n_experts)));
  return {};
}

Status bind_gate_and_up(const ExpertsConfig& c, TensorBinder& tensors, ExpertWeights& w) {
  const uint32_t unit = tensors.shard_unit(Role::kExpertDown, 1);
  if (!c.has_gates) {
    RZ_TRY(w.w_up, tensors.matrix(Role::kExpertUp, {}, unit));
    w.w_gate = w.w_up;
    return {};
  }
  if (tensors.is_in_file(Role::kExpertGateUp) || !tensors.is_known(Role::kExpertGate)) {
    return bind_fused_gate_up(c, tensors, w);
  }
  RZ_TRY(w.w_gate, tensors.matrix(Role::kExpertGate, {}, unit));
  RZ_TRY(w.w_up, tensors.matrix(Role::kExpertUp, {}, unit));
  RZ_TRY(w.b_gate, tensors.vector(Role::kExpertGateBias));
  RZ_TRY(w.b_up, tensors.vector(Role::kExpertUpBias));
  return {};
}

Status bind_shared(const ExpertsConfig& c, TensorBinder& tensors, ExpertWeights& w) {
  const uint32_t unit = tensors.shard_unit(Role::kSharedDown, 1);
  RZ_TRY(w.shared_router, tensors.matrix(Role::kSharedRouter));
  if (!c.has_gates) {
    RZ_TRY(w.shared_up, tensors.matrix(Role::kSharedUp, {}, unit));
  } else if (tensors.is_in_file(Role::kSharedGateUp) || !tensors.is_known(Role::kSharedGate)) {
    const auto parts = gate_up_parts(c.gate_up_rows, c.d_shared_ff, unit);
    RZ_TRY(const auto weights, tensors.split_matrix(Role::kSharedGateUp, parts));
    w.shared_gate = weights[0], w.shared_up = weights[1];
  } else {
    RZ_TRY(w.shared_gate, tensors.matrix(Role::kSharedGate, {}, unit));
    RZ_TRY(w.shared_up, tensors.matrix(Role::kSharedUp, {}, unit));
  }
  RZ_TRY(w.shared_down, tensors.matrix(Role::kSharedDown, {}, unit));
  return {};
}

// The router's norm includes its scales and the factor 1 / sqrt(d_model).
Status bind_norms(TensorBinder& tensors, ExpertWeights& w) {
  RZ_TRY(w.norm, tensors.norm(Role::kExpertNorm));
  RZ_TRY(w.post_norm, tensors.norm(Role::kExpertPostNorm));
  RZ_TRY(w.shared_post_norm, tensors.norm(Role::kSharedPostNorm));
  RZ_TRY(auto router_norm, tensors.values(Role::kRouterScale));
  for (float& value : router_norm) value /= std::sqrt(static_cast<float>(router_norm.size()));
  RZ_TRY(w.router_norm, tensors.upload(router_norm));
  return {};
}

Status bind_out_bias(TensorBinder& tensors, ExpertWeights& w) {
  RZ_TRY(const auto bias, tensors.values(Role::kExpertsBias));
  RZ_TRY(w.out_bias, tensors.upload(bias));
  RZ_TRY(w.zeros, tensors.upload(std::vector<float>(bias.size())));
  return {};
}

}  // namespace

Result<ExpertWeights> bind(const ExpertsConfig& c, TensorBinder& tensors) {
  ExpertWeights w;
  RZ_TRY(w.router, tensors.matrix(Role::kRouter));
  RZ_TRY(w.router_bias, tensors.vector(Role::kRouterBias));
  RZ_TRY(w.choice_bias, tensors.vector(Role::kChoiceBias));
  RZ_CHECK_OK(bind_gate_and_up(c, tensors, w));
  RZ_TRY(w.w_down, tensors.matrix(Role::kExpertDown, {}, tensors.shard_unit(Role::kExpertDown, 1)));
  RZ_TRY(w.b_down, tensors.vector(Role::kExpertDownBias));
  // With row factors, GGUF's tensor of this name holds these instead.
  if (!tensors.has_row_factors(Role::kExpertDown)) {
    RZ_TRY(w.scales, tensors.vector(Role::kExpertScale));
  }
  RZ_CHECK_OK(bind_norms(tensors, w));
  if (c.d_latent > 0) {
    RZ_TRY(w.latent_down, tensors.matrix(Role::kExpertLatentDown));
    RZ_TRY(w.latent_up, tensors.matrix(Role::kExpertLatentUp));
  }
  RZ_CHECK_OK(bind_out_bias(tensors, w));
  if (c.d_shared_ff > 0) RZ_CHECK_OK(bind_shared(c, tensors, w));
  return w;
}

namespace {

// An expert without a gate is one with gate = up: relu(u)^2 = relu(u) * u, and gelu(u) = normal_cdf(u) * u.
Activation as_gate(Activation activation) {
  REQUIRE(activation == Activation::kReluSquared || activation == Activation::kGeluErf);
  return activation == Activation::kGeluErf ? Activation::kNormalCdf : Activation::kRelu;
}

// Sets rows that several operations add to to 0. `like`: any activation of the same width.
void clear(LayerBuilder& b, ActId act, ActId like) {
  b.add(NormOp{.out = act, .in = like, .eps = b.norm_eps(), .scale = 0, .place = b.place()});
}

void add_norm(LayerBuilder& b, ActId out, ActId in, WeightId weight, bool accumulate = false) {
  b.add(NormOp{.out = out,
               .in = in,
               .weight = weight,
               .kind = b.norm_kind(),
               .eps = b.norm_eps(),
               .accumulate = accumulate,
               .place = b.place(OpRole::kFfn)});
}

ActId shared_hidden(LayerBuilder& b, const ExpertsConfig& c, const ExpertWeights& w) {
  const ActId ff = b.scratch("shared_ff", c.d_shared_ff);
  const OpPlace place = b.place(OpRole::kShared);
  if (c.has_gates) {
    b.add(GatedLinearOp{
        .out = ff, .in = b.in(), .gate = w.shared_gate, .up = w.shared_up, .activation = c.activation, .place = place});
  } else {
    b.add(LinearOp{
        .out = ff, .in = b.in(), .weight = w.shared_up, .epilogue = {.activation = c.activation}, .place = place});
  }
  return ff;
}

// stream += (sigmoid(shared_router . x) *) the shared expert's output
void add_shared(LayerBuilder& b, const ExpertsConfig& c, const ExpertWeights& w) {
  const ActId ff = shared_hidden(b, c, w);
  const OpPlace place = b.place(OpRole::kShared);
  if (!c.has_shared_router) {
    return b.add_to_stream(LinearOp{
        .out = b.out(), .in = ff, .weight = w.shared_down, .epilogue = {.scale = c.out_scale}, .place = place});
  }
  const ActId gate = b.scratch("shared_router", 1), output = b.scratch("shared", b.d_model());
  b.add(LinearOp{.out = gate, .in = b.in(), .weight = w.shared_router, .place = place});
  b.add(LinearOp{
      .out = output, .in = ff, .weight = w.shared_down, .epilogue = {.scale = b.residual_scale()}, .place = place});
  b.add_to_stream(GateOp{.out = b.out(), .in = output, .gate = gate, .accumulate = true, .place = place});
}

// Initializes a branch with a post norm: to the shared expert's output, or 0.
void begin_branch(LayerBuilder& b, const ExpertsConfig& c, const ExpertWeights& w) {
  if (c.d_shared_ff == 0) return clear(b, b.out(), b.stream());
  b.add(LinearOp{.out = b.out(),
                 .in = shared_hidden(b, c, w),
                 .weight = w.shared_down,
                 .epilogue = {.scale = c.out_scale},
                 .place = b.place(OpRole::kShared)});
  if (w.shared_post_norm != kNoWeight) add_norm(b, b.out(), b.out(), w.shared_post_norm);
}

void add_router(LayerBuilder& b, const ExpertsConfig& c, const ExpertWeights& w, ActId in) {
  b.add(LinearOp{.out = b.scratch("router_logits", c.n_experts),
                 .in = in,
                 .weight = w.router,
                 .bias = w.router_bias,
                 .place = b.place(OpRole::kRouter)});
}

void add_route(LayerBuilder& b, const ExpertsConfig& c, const ExpertWeights& w) {
  const float residual_scale = b.has_post_norm() || c.d_latent > 0 ? 1.0f : b.residual_scale();
  b.add(RouteOp{.logits = b.scratch("router_logits", c.n_experts),
                .weights = b.scratch("expert_weights", c.n_used),
                .ids = b.scratch("expert_ids", c.n_used),
                .n_experts = c.n_experts,
                .n_used = c.n_used,
                .renormalize = c.renormalize,
                .scale = c.scale * c.out_scale * residual_scale,
                .score = c.score,
                .bias = w.choice_bias,
                .n_groups = c.n_groups,
                .n_used_groups = c.n_used_groups,
                .n_group_best = c.n_group_best,
                .scales = w.scales,
                .near_share = c.near_share,
                .place = b.place()});
}

void add_experts(LayerBuilder& b, const ExpertsConfig& c, const ExpertWeights& w, ActId out, ActId in) {
  b.add(ExpertsOp{.out = out,
                  .in = in,
                  .weights = b.scratch("expert_weights", c.n_used),
                  .ids = b.scratch("expert_ids", c.n_used),
                  .gate = w.w_gate,
                  .up = w.w_up,
                  .down = w.w_down,
                  .gate_bias = w.b_gate,
                  .up_bias = w.b_up,
                  .down_bias = w.b_down,
                  .n_used = c.n_used,
                  .d_ff = c.d_ff,
                  .activation = c.has_gates ? c.activation : as_gate(c.activation),
                  .weighs_input = c.weighs_input,
                  .place = b.place()});
}

// A norm with zero weights gives its bias.
void add_out_bias(LayerBuilder& b, const ExpertWeights& w) {
  b.add(NormOp{.out = b.out(),
               .in = b.in(),
               .weight = w.zeros,
               .bias = w.out_bias,
               .eps = 1.0f,
               .accumulate = true,
               .place = b.place()});
}

// Gemma 4: a dense ffn and experts, each with a norm before and after it.
void add_with_own_norms(LayerBuilder& b, const ExpertsConfig& c, const ExpertWeights& w) {
  const ActId in = b.scratch("expert_in", b.d_model()), sum = b.scratch("experts", b.d_model());
  begin_branch(b, c, w);
  add_norm(b, in, b.stream(), w.router_norm);
  add_router(b, c, w, in);
  add_route(b, c, w);
  add_norm(b, in, b.stream(), w.norm);
  clear(b, sum, b.stream());
  add_experts(b, c, w, sum, in);
  add_norm(b, b.out(), sum, w.post_norm, true);
}

// stream += latent_up . experts(latent_down . x)
void add_in_latent(LayerBuilder& b, const ExpertsConfig& c, const ExpertWeights& w) {
  REQUIRE(!b.has_post_norm());
  const ActId latent = b.scratch("expert_latent", c.d_latent), sum = b.scratch("experts", c.d_latent);
  b.add(LinearOp{.out = latent, .in = b.in(), .weight = w.latent_down, .place = b.place(OpRole::kDown)});
  clear(b, sum, latent);
  add_experts(b, c, w, sum, latent);
  b.add_to_stream(LinearOp{.out = b.out(), .in = sum, .weight = w.latent_up, .place = b.place(OpRole::kUp)});
}

}  // namespace

void add_before_mixer(LayerBuilder& b, const ExpertsConfig& c, const ExpertWeights& w) {
  if (c.input == ExpertInput::kRoutedEarly) add_router(b, c, w, b.stream());
  if (c.input != ExpertInput::kLayerInput) return;
  add_norm(b, b.scratch("expert_in", b.d_model()), b.stream(), w.norm);
}

void add_to(LayerBuilder& b, const ExpertsConfig& c, const ExpertWeights& w) {
  if (c.input == ExpertInput::kOwnNorms) return add_with_own_norms(b, c, w);
  const ActId in = c.input == ExpertInput::kLayerInput ? b.scratch("expert_in", b.d_model()) : b.in();
  if (c.input != ExpertInput::kRoutedEarly) add_router(b, c, w, in);
  add_route(b, c, w);
  if (b.has_post_norm()) begin_branch(b, c, w);
  if (c.d_latent > 0) {
    add_in_latent(b, c, w);
  } else {
    add_experts(b, c, w, b.out(), in);
  }
  if (w.out_bias != kNoWeight) add_out_bias(b, w);
  if (c.d_shared_ff > 0 && !b.has_post_norm()) add_shared(b, c, w);
}

}  // namespace realizar
