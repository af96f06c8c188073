#include "model/ffns/experts.h"

#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {

uint64_t size_of(const ExpertsConfig& c, Dim dim) {
  switch (dim) {
    case Dim::kExperts:
      return c.n_experts;
    case Dim::kExpertFf:
      return c.d_ff;
    default:
      return 0;
  }
}

Result<ExpertWeights> bind(const ExpertsConfig&, TensorBinder& tensors) {
  ExpertWeights w;
  RZ_TRY(w.router, tensors.matrix(Role::kRouter));
  RZ_TRY(w.w_gate, tensors.matrix(Role::kExpertGate));
  RZ_TRY(w.w_up, tensors.matrix(Role::kExpertUp));
  RZ_TRY(w.w_down, tensors.matrix(Role::kExpertDown));
  return w;
}

void add_to(LayerBuilder& b, const ExpertsConfig& c, const ExpertWeights& w) {
  const ActId logits = b.scratch("router_logits", c.n_experts);
  const ActId weights = b.scratch("expert_weights", c.n_used), ids = b.scratch("expert_ids", c.n_used);
  b.add(LinearOp{.out = logits, .in = b.in(), .weight = w.router, .place = b.place(OpRole::kRouter)});
  b.add(RouteOp{.logits = logits,
                .weights = weights,
                .ids = ids,
                .n_experts = c.n_experts,
                .n_used = c.n_used,
                .renormalize = c.renormalize,
                .scale = c.scale,
                .place = b.place()});
  b.add_to_stream(ExpertsOp{.out = b.out(),
                            .in = b.in(),
                            .weights = weights,
                            .ids = ids,
                            .gate = w.w_gate,
                            .up = w.w_up,
                            .down = w.w_down,
                            .n_used = c.n_used,
                            .d_ff = c.d_ff,
                            .activation = c.activation,
                            .place = b.place()});
}

}  // namespace realizar
