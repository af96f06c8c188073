// Launches of recurrent layers' operations: they take whole sequences, decode rows and a prompt's alike.
#include <algorithm>

#include "backend/cuda/step/launcher.h"

namespace realizar::cuda {

// A sequence of the step has one row at least.
uint32_t Launcher::max_seqs() const {
  return std::min(shape_.n_rows, std::max(1u, memory_.limits().max_seqs));
}

void Launcher::run(const ShortConvOp& op, const Launch&) {
  ShortConvArgs args{};
  args.op = op;
  args.step = step();
  args.state = states_.view(op.layer, op.part);
  args.out = act(op.out).values;
  args.in = act(op.in).values;
  args.n_cols = act(op.in).n_cols;
  args.weight = weights_.vector(op.weight);
  args.bias = weights_.vector(op.bias);
  kernels_.short_conv(args, max_seqs(), shape_.n_rows, device_.stream());
}

void Launcher::run(const StateScanOp& op, const Launch&) {
  StateScanArgs args{};
  args.op = op;
  args.step = step();
  args.state = states_.view(op.layer, op.part);
  args.out = act(op.out).values;
  args.x = columns(op.x, op.x_col);
  args.b = columns(op.b, op.b_col);
  args.c = columns(op.c, op.c_col);
  args.dt = act(op.dt).values;
  args.gate = op.gate == kNoAct ? nullptr : act(op.gate).values;
  args.a = weights_.vector(op.a);
  args.d = weights_.vector(op.d);
  args.dt_bias = weights_.vector(op.dt_bias);
  kernels_.state_scan(args, max_seqs(), device_.stream());
}

void Launcher::run(const DeltaRuleOp& op, const Launch&) {
  DeltaRuleArgs args{};
  args.op = op;
  args.step = step();
  args.state = states_.view(op.layer, op.part);
  args.out = act(op.out).values;
  args.q = columns(op.q, op.q_col);
  args.k = columns(op.k, op.k_col);
  args.v = columns(op.v, op.v_col);
  args.decay = act(op.decay).values;
  args.beta = act(op.beta).values;
  args.a = weights_.vector(op.a);
  args.decay_bias = weights_.vector(op.decay_bias);
  kernels_.delta_rule(args, max_seqs(), shape_.n_rows, device_.stream());
}

void Launcher::run(const WkvOp& op, const Launch&) {
  const auto values = [&](ActId id) { return id == kNoAct ? nullptr : act(id).values; };
  WkvArgs args{};
  args.op = op;
  args.step = step();
  args.state = states_.view(op.layer, op.part);
  args.out = values(op.out);
  args.bonus = values(op.bonus);
  args.r = values(op.r);
  args.decay = values(op.decay);
  args.k = values(op.k);
  args.v = values(op.v);
  args.rate = values(op.rate);
  args.removal = values(op.removal);
  args.first_v = values(op.first_v);
  args.v_share = values(op.v_share);
  args.removal_scale = weights_.vector(op.removal_scale);
  args.rate_scale = weights_.vector(op.rate_scale);
  args.bonus_scale = weights_.vector(op.bonus_scale);
  kernels_.wkv(args, max_seqs(), shape_.n_rows, device_.stream());
}

}  // namespace realizar::cuda
