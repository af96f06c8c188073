#include "backend/cuda/step/launchers/expert_launcher.h"

#include "backend/cuda/step/launchers/product_launcher.h"

namespace realizar::cuda {

PairGroups ExpertLauncher::pair_groups() const {
  return {context_.memory().as<uint32_t>(Buffer::kPairs), context_.memory().as<uint32_t>(Buffer::kPairStarts),
          context_.memory().as<uint32_t>(Buffer::kTileExperts)};
}

void ExpertLauncher::run(const RouteOp& op, const Launch&) {
  kernels_.route({op, context_.n_rows_at(Rows::kAll), context_.values(op.logits), context_.values(op.weights),
                  context_.values(op.ids), context_.vector(op.bias), context_.vector(op.scales)},
                 context_.shape().n_rows, context_.stream());
}

// Products with the gates or the ups: dots for pairs of decode rows, tiles for those of prompt rows.
void ExpertLauncher::multiply_experts(const ExpertsOp& op, WeightId weight, WeightId bias, const Missing& missing,
                                      Store store) {
  const Matrix& matrix = context_.matrix(weight);
  if (missing.quantized) quantize(context_, op.in, matrix.n_cols, Rows::kAll);
  const Dots dots = dots_of(context_, matrix, Rows::kAll);
  const float* in_weights = op.weighs_input ? context_.values(op.weights) : nullptr;
  if (dots.max_rows > 0) {
    kernels_.experts_hidden(
        {op, dots.rows, matrix, context_.values(op.in), context_.memory().view(kQuants), context_.values(op.ids), store,
         context_.hidden(), context_.bias(bias, weight), in_weights},
        dots.max_rows, context_.stream());
  }
  if (dots.max_rows == context_.shape().n_rows) return;
  if (missing.split) split(context_, op.in, matrix, Rows::kAll);
  LinearArgs args{};
  args.weight = matrix;
  args.quants = context_.memory().view(kQuants);
  args.splits = context_.memory().view(kSplits);
  args.out = context_.hidden();
  args.bias = context_.bias(bias, weight);
  args.bias_stride = op.d_ff;
  args.pair_scales = in_weights;
  args.op.epilogue.activation = store == Store::kGate ? op.activation : Activation::kNone;
  args.store = store;
  args.groups = pair_groups();
  args.pairs_each = op.n_used;
  tile_kernel(kernels_, matrix)(args, context_.n_prompt_rows() * op.n_used, context_.stream());
}

// Prepares the pairs' rows, n_each per row, in the form that the weight reads.
void ExpertLauncher::prepare_pairs(const float* in, uint32_t n_each, const Matrix& weight) {
  if (has_groups(weight.type)) {
    kernels_.quantize({context_.step().n_rows, n_each, in, weight.n_cols, context_.memory().view(kHiddenQuants)},
                      context_.shape().n_rows, context_.stream());
  }
  if (wants_split(weight.type) && context_.n_prompt_rows() > 0) {
    kernels_.split(
        {context_.prompt_rows(), n_each, weight.type, in, weight.n_cols, context_.memory().view(kHiddenSplits)},
        context_.n_prompt_rows(), context_.stream());
  }
}

// Heads that are wider than the matrix's input are gathered first.
void ExpertLauncher::run(const HeadLinearOp& op, const Launch&) {
  const Matrix& weight = context_.matrix(op.weight);
  const float* in = context_.values(op.in);
  if (op.in_width != weight.n_cols) {
    kernels_.head_parts({op, context_.step().n_rows, in, weight.n_cols, context_.hidden()}, context_.shape().n_rows,
                        context_.stream());
    in = context_.hidden();
  }
  prepare_pairs(in, op.n_heads, weight);
  float* out = context_.values(op.out);
  const QuantRows quants = context_.memory().view(kHiddenQuants);
  const Dots dots = dots_of(context_, weight, Rows::kAll);
  if (dots.max_rows > 0) {
    kernels_.head_linear({op, dots.rows, weight, in, quants, out}, dots.max_rows, context_.stream());
  }
  if (dots.max_rows == context_.shape().n_rows) return;
  kernels_.group_heads({op, context_.prompt_rows(), pair_groups()}, context_.stream());
  LinearArgs args{};
  args.weight = weight;
  args.quants = quants;
  args.splits = context_.memory().view(kHiddenSplits);
  args.out = out;
  args.out_width = op.out_width;
  args.groups = pair_groups();
  args.pairs_each = 1;
  tile_kernel(kernels_, weight)(args, context_.n_prompt_rows() * op.n_heads, context_.stream());
}

// out += the weighted down products.
void ExpertLauncher::add_downs(const ExpertsOp& op) {
  const Matrix& down = context_.matrix(op.down);
  prepare_pairs(context_.hidden(), op.n_used, down);
  const QuantRows quants = context_.memory().view(kHiddenQuants);
  const Dots dots = dots_of(context_, down, Rows::kAll);
  const float* out_weights = op.weighs_input ? nullptr : context_.values(op.weights);
  if (dots.max_rows > 0) {
    kernels_.experts_down({op, dots.rows, down, context_.hidden(), quants, out_weights, context_.values(op.ids),
                           context_.values(op.out), context_.vector(op.down_bias)},
                          dots.max_rows, context_.stream());
  }
  if (dots.max_rows == context_.shape().n_rows) return;
  float* results = context_.memory().as<float>(Buffer::kPairResults);
  LinearArgs args{};
  args.weight = down;
  args.quants = quants;
  args.splits = context_.memory().view(kHiddenSplits);
  args.out = results;
  args.groups = pair_groups();
  args.pairs_each = 1;
  tile_kernel(kernels_, down)(args, context_.n_prompt_rows() * op.n_used, context_.stream());
  kernels_.experts_sum({op, context_.prompt_rows(), results, out_weights, down.n_rows, context_.values(op.out),
                        context_.values(op.ids), context_.vector(op.down_bias), down.n_mats},
                       context_.n_prompt_rows(), context_.stream());
}

void ExpertLauncher::run(const ExpertsOp& op, const Launch& launch) {
  if (context_.n_prompt_rows() > 0) {
    kernels_.group_pairs(
        {op, context_.prompt_rows(), context_.values(op.ids), context_.matrix(op.gate).n_mats, pair_groups()},
        context_.stream());
  }
  multiply_experts(op, op.gate, op.gate_bias, launch.missing, Store::kSet);
  multiply_experts(op, op.up, op.up_bias, launch.second_missing, Store::kGate);
  add_downs(op);
}

}  // namespace realizar::cuda
