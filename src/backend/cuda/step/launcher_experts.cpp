// Launches of pairs: of a row and an expert, or a row and a head; of decode rows one by one, of a prompt's rows grouped
// by expert or by head.
#include "backend/cuda/step/launcher.h"

namespace realizar::cuda {

PairGroups Launcher::pair_groups() const {
  return {memory_.as<uint32_t>(Buffer::kPairs), memory_.as<uint32_t>(Buffer::kPairStarts),
          memory_.as<uint32_t>(Buffer::kTileExperts)};
}

void Launcher::run(const RouteOp& op, const Launch&) {
  kernels_.route({op, n_rows_at(Rows::kAll), act(op.logits).values, act(op.weights).values, act(op.ids).values,
                  weights_.vector(op.bias), weights_.vector(op.scales)},
                 shape_.n_rows, device_.stream());
}

// The products of the gates or the ups: pairs of decode rows are dots, those of prompt rows tiles.
void Launcher::multiply_experts(const ExpertsOp& op, WeightId weight, WeightId bias, const Missing& missing,
                                Store store) {
  const Matrix& matrix = weights_.matrix(weight);
  if (missing.quantized) quantize(op.in, matrix.n_cols, Rows::kAll);
  const Dots dots = dots_of(matrix, Rows::kAll);
  const float* in_weights = op.weighs_input ? act(op.weights).values : nullptr;
  if (dots.max_rows > 0) {
    kernels_.experts_hidden({op, dots.rows, matrix, act(op.in).values, memory_.view(kQuants), act(op.ids).values, store,
                             hidden(), weights_.bias(bias, weight), in_weights},
                            dots.max_rows, device_.stream());
  }
  if (dots.max_rows == shape_.n_rows) return;
  if (missing.split) split(op.in, matrix, Rows::kAll);
  LinearArgs args{};
  args.weight = matrix;
  args.quants = memory_.view(kQuants);
  args.splits = memory_.view(kSplits);
  args.out = hidden();
  args.bias = weights_.bias(bias, weight);
  args.bias_stride = op.d_ff;
  args.pair_scales = in_weights;
  args.op.activation = store == Store::kGate ? op.activation : Activation::kNone;
  args.store = store;
  args.groups = pair_groups();
  args.pairs_each = op.n_used;
  tile_kernel(matrix)(args, n_prompt_rows() * op.n_used, device_.stream());
}

// The pairs' rows, n_each of a row, as the weight wants them.
void Launcher::prepare_pairs(const float* in, uint32_t n_each, const Matrix& weight) {
  if (has_groups(weight.type)) {
    kernels_.quantize({step().n_rows, n_each, in, weight.n_cols, memory_.view(kHiddenQuants)}, shape_.n_rows,
                      device_.stream());
  }
  if (wants_split(weight.type) && n_prompt_rows() > 0) {
    kernels_.split({prompt_rows(), n_each, weight.type, in, weight.n_cols, memory_.view(kHiddenSplits)},
                   n_prompt_rows(), device_.stream());
  }
}

// Where a head's part of a row is wider than its matrix reads, the parts are brought together first.
void Launcher::run(const HeadLinearOp& op, const Launch&) {
  const Matrix& weight = weights_.matrix(op.weight);
  const float* in = act(op.in).values;
  if (op.in_width != weight.n_cols) {
    kernels_.head_parts({op, step().n_rows, in, weight.n_cols, hidden()}, shape_.n_rows, device_.stream());
    in = hidden();
  }
  prepare_pairs(in, op.n_heads, weight);
  float* out = act(op.out).values;
  const QuantRows quants = memory_.view(kHiddenQuants);
  const Dots dots = dots_of(weight, Rows::kAll);
  if (dots.max_rows > 0) {
    kernels_.head_linear({op, dots.rows, weight, in, quants, out}, dots.max_rows, device_.stream());
  }
  if (dots.max_rows == shape_.n_rows) return;
  kernels_.group_heads({op, prompt_rows(), pair_groups()}, device_.stream());
  LinearArgs args{};
  args.weight = weight;
  args.quants = quants;
  args.splits = memory_.view(kHiddenSplits);
  args.out = out;
  args.out_width = op.out_width;
  args.groups = pair_groups();
  args.pairs_each = 1;
  tile_kernel(weight)(args, n_prompt_rows() * op.n_heads, device_.stream());
}

// out += the downs' products, weighed.
void Launcher::add_downs(const ExpertsOp& op) {
  const Matrix& down = weights_.matrix(op.down);
  prepare_pairs(hidden(), op.n_used, down);
  const QuantRows quants = memory_.view(kHiddenQuants);
  const Dots dots = dots_of(down, Rows::kAll);
  const float* out_weights = op.weighs_input ? nullptr : act(op.weights).values;
  if (dots.max_rows > 0) {
    kernels_.experts_down({op, dots.rows, down, hidden(), quants, out_weights, act(op.ids).values, act(op.out).values,
                           weights_.vector(op.down_bias)},
                          dots.max_rows, device_.stream());
  }
  if (dots.max_rows == shape_.n_rows) return;
  float* results = memory_.as<float>(Buffer::kPairResults);
  LinearArgs args{};
  args.weight = down;
  args.quants = quants;
  args.splits = memory_.view(kHiddenSplits);
  args.out = results;
  args.groups = pair_groups();
  args.pairs_each = 1;
  tile_kernel(down)(args, n_prompt_rows() * op.n_used, device_.stream());
  kernels_.experts_sum({op, prompt_rows(), results, out_weights, down.n_rows, act(op.out).values, act(op.ids).values,
                        weights_.vector(op.down_bias), down.n_mats},
                       n_prompt_rows(), device_.stream());
}

void Launcher::run(const ExpertsOp& op, const Launch& launch) {
  if (n_prompt_rows() > 0) {
    kernels_.group_pairs({op, prompt_rows(), act(op.ids).values, weights_.matrix(op.gate).n_mats, pair_groups()},
                         device_.stream());
  }
  multiply_experts(op, op.gate, op.gate_bias, launch.missing, Store::kSet);
  multiply_experts(op, op.up, op.up_bias, launch.second_missing, Store::kGate);
  add_downs(op);
}

}  // namespace realizar::cuda
