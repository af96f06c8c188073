// Launches of mixtures of experts: pairs of a row and an expert, of decode rows one by one, of a prompt's rows grouped
// by expert.
#include "backend/cuda/step/launcher.h"

namespace realizar::cuda {

PairGroups Launcher::pair_groups() const {
  return {memory_.as<uint32_t>(Buffer::kPairs), memory_.as<uint32_t>(Buffer::kPairStarts),
          memory_.as<uint32_t>(Buffer::kTileExperts)};
}

void Launcher::run(const RouteOp& op, const Launch&) {
  kernels_.route({n_rows_at(Rows::kAll), act(op.logits).values, act(op.weights).values, act(op.ids).values,
                  op.n_experts, op.n_used, op.renormalize, op.scale},
                 shape_.n_rows, device_.stream());
}

// The products of the gates or the ups: pairs of decode rows are dots, those of prompt rows tiles.
void Launcher::multiply_experts(const ExpertsOp& op, WeightId weight, const Missing& missing, Store store) {
  const Matrix& matrix = weights_.matrix(weight);
  if (missing.quantized) quantize(op.in, matrix.n_cols, Rows::kAll);
  const Dots dots = dots_of(matrix, Rows::kAll);
  if (dots.max_rows > 0) {
    kernels_.experts_hidden({dots.rows, matrix, act(op.in).values, memory_.view(kQuants), act(op.ids).values, op.n_used,
                             op.activation, store, hidden()},
                            dots.max_rows, device_.stream());
  }
  if (dots.max_rows == shape_.n_rows) return;
  if (missing.split) split(op.in, matrix);
  LinearArgs args{};
  args.weight = matrix;
  args.quants = memory_.view(kQuants);
  args.splits = memory_.view(kSplits);
  args.out = hidden();
  args.activation = store == Store::kGate ? op.activation : Activation::kNone;
  args.scale = 1;
  args.store = store;
  args.groups = pair_groups();
  args.pairs_each = op.n_used;
  tile_kernel(matrix)(args, n_prompt_rows() * op.n_used, device_.stream());
}

// The hidden rows as the downs want them.
void Launcher::prepare_hidden(const ExpertsOp& op, const Matrix& down) {
  if (has_groups(down.type)) {
    kernels_.quantize({step().n_rows, op.n_used, hidden(), down.n_cols, memory_.view(kHiddenQuants)}, shape_.n_rows,
                      device_.stream());
  }
  if (wants_split(down.type) && n_prompt_rows() > 0) {
    kernels_.split({prompt_rows(), op.n_used, down.type, hidden(), down.n_cols, memory_.view(kHiddenSplits)},
                   n_prompt_rows(), device_.stream());
  }
}

// out += the downs' products, weighed.
void Launcher::add_downs(const ExpertsOp& op) {
  const Matrix& down = weights_.matrix(op.down);
  prepare_hidden(op, down);
  const QuantRows quants = memory_.view(kHiddenQuants);
  const Dots dots = dots_of(down, Rows::kAll);
  if (dots.max_rows > 0) {
    kernels_.experts_down(
        {dots.rows, down, hidden(), quants, act(op.weights).values, act(op.ids).values, op.n_used, act(op.out).values},
        dots.max_rows, device_.stream());
  }
  if (dots.max_rows == shape_.n_rows) return;
  float* results = memory_.as<float>(Buffer::kPairResults);
  LinearArgs args{};
  args.weight = down;
  args.quants = quants;
  args.splits = memory_.view(kHiddenSplits);
  args.out = results;
  args.scale = 1;
  args.groups = pair_groups();
  args.pairs_each = 1;
  tile_kernel(down)(args, n_prompt_rows() * op.n_used, device_.stream());
  kernels_.experts_sum({prompt_rows(), results, act(op.weights).values, op.n_used, down.n_rows, act(op.out).values},
                       n_prompt_rows(), device_.stream());
}

void Launcher::run(const ExpertsOp& op, const Launch& launch) {
  if (n_prompt_rows() > 0) {
    kernels_.group_pairs({prompt_rows(), act(op.ids).values, op.n_used, weights_.matrix(op.gate).n_mats, pair_groups()},
                         device_.stream());
  }
  multiply_experts(op, op.gate, launch.missing, Store::kSet);
  multiply_experts(op, op.up, launch.second_missing, Store::kGate);
  add_downs(op);
}

}  // namespace realizar::cuda
