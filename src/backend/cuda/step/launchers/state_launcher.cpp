#include "backend/cuda/step/launchers/state_launcher.h"

#include <algorithm>

namespace realizar::cuda {

Columns StateLauncher::columns(ActId id, uint32_t first_col) const {
  return {context_.act(id).values, context_.act(id).n_cols, first_col};
}

// A sequence of the step has at least one row.
uint32_t StateLauncher::max_seqs() const {
  return std::min(context_.shape().n_rows, std::max(1u, context_.memory().limits().max_seqs));
}

void StateLauncher::run(const ShortConvOp& op, const Launch&) {
  ShortConvArgs args{};
  args.op = op;
  args.step = context_.step();
  args.state = states_.view(op.layer, op.part);
  args.out = context_.values(op.out);
  args.in = context_.values(op.in);
  args.n_cols = context_.act(op.in).n_cols;
  args.weight = context_.vector(op.weight);
  args.bias = context_.vector(op.bias);
  kernels_.short_conv(args, max_seqs(), context_.shape().n_rows, context_.stream());
}

void StateLauncher::run(const StateScanOp& op, const Launch&) {
  StateScanArgs args{};
  args.op = op;
  args.step = context_.step();
  args.state = states_.view(op.layer, op.part);
  args.out = context_.values(op.out);
  args.x = columns(op.x, op.x_col);
  args.b = columns(op.b, op.b_col);
  args.c = columns(op.c, op.c_col);
  args.dt = context_.values(op.dt);
  args.gate = context_.values(op.gate);
  args.a = context_.vector(op.a);
  args.d = context_.vector(op.d);
  args.dt_bias = context_.vector(op.dt_bias);
  kernels_.state_scan(args, max_seqs(), context_.stream());
}

void StateLauncher::run(const DeltaRuleOp& op, const Launch&) {
  DeltaRuleArgs args{};
  args.op = op;
  args.step = context_.step();
  args.state = states_.view(op.layer, op.part);
  args.out = context_.values(op.out);
  args.q = columns(op.q, op.q_col);
  args.k = columns(op.k, op.k_col);
  args.v = columns(op.v, op.v_col);
  args.decay = context_.values(op.decay);
  args.beta = context_.values(op.beta);
  args.a = context_.vector(op.a);
  args.decay_bias = context_.vector(op.decay_bias);
  kernels_.delta_rule(args, max_seqs(), context_.shape().n_rows, context_.stream());
}

void StateLauncher::run(const WkvOp& op, const Launch&) {
  WkvArgs args{};
  args.op = op;
  args.step = context_.step();
  args.state = states_.view(op.layer, op.part);
  args.out = context_.values(op.out);
  args.bonus = context_.values(op.bonus);
  args.r = context_.values(op.r);
  args.decay = context_.values(op.decay);
  args.k = context_.values(op.k);
  args.v = context_.values(op.v);
  args.rate = context_.values(op.rate);
  args.removal = context_.values(op.removal);
  args.first_v = context_.values(op.first_v);
  args.v_share = context_.values(op.v_share);
  args.removal_scale = context_.vector(op.removal_scale);
  args.rate_scale = context_.vector(op.rate_scale);
  args.bonus_scale = context_.vector(op.bonus_scale);
  kernels_.wkv(args, max_seqs(), context_.shape().n_rows, context_.stream());
}

}  // namespace realizar::cuda
