// Launches of products: of rows one by one, of a prompt's rows in tiles, and of what the two read.
#include "backend/cuda/step/launcher.h"

namespace realizar::cuda {

void Launcher::quantize(ActId in, uint32_t n_cols, Rows rows) {
  kernels_.quantize({n_rows_at(rows), 1, act(in).values, n_cols, memory_.view(kQuants)}, max_rows(rows),
                    device_.stream());
}

void Launcher::split(ActId in, const Matrix& weight, Rows rows) {
  const RowRange all{step().zero, n_rows_at(rows)};
  kernels_.split({all, 1, weight.type, act(in).values, weight.n_cols, memory_.view(kSplits)}, max_rows(rows),
                 device_.stream());
}

// A prompt's rows keep a GPU busy with each matrix by itself.
void Launcher::multiply_tiles(LinearArgs& args) {
  const auto multiply = tile_kernel(args.weight);
  multiply(args, n_prompt_rows(), device_.stream());
  for (const LinearPart& part : std::span(args.more).first(args.n_more)) {
    args.weight = part.weight;
    args.out = part.out;
    args.bias = part.bias;
    multiply(args, n_prompt_rows(), device_.stream());
  }
}

// A row's arithmetic follows from its phase: decode rows and those of the logits are dots, prompt rows tiles, in the
// types that have them.
Launcher::Dots Launcher::dots_of(const Matrix& weight, Rows rows) const {
  const bool in_tiles = has_tiles(weight.type) && rows == Rows::kAll;
  return {{step().zero, in_tiles ? step().n_decode_rows : n_rows_at(rows)},
          in_tiles ? shape_.n_decode_rows : max_rows(rows)};
}

void Launcher::multiply(const LinearArgs& args, const Missing& missing, ActId in, Rows rows, ActId out) {
  if (max_rows(rows) == 0) return;
  if (missing.quantized) quantize(in, args.weight.n_cols, rows);
  if (missing.split) split(in, args.weight, rows);
  LinearArgs full = args;
  full.in = act(in).values;
  full.quants = memory_.view(kQuants);
  full.splits = memory_.view(kSplits);
  full.out = act(out).values;
  const Dots dots = dots_of(args.weight, rows);
  full.rows = dots.rows;
  if (dots.max_rows > 0) few_kernel(args.weight, dots.max_rows)(full, dots.max_rows, device_.stream());
  full.rows = prompt_rows();
  if (dots.max_rows < max_rows(rows)) multiply_tiles(full);
}

void Launcher::run(const LinearOp& op, const Launch& launch) {
  LinearArgs args{};
  args.op = op;
  args.weight = weights_.matrix(op.weight);
  args.bias = weights_.bias(op.bias, op.weight);
  args.store = op.accumulate ? Store::kAdd : Store::kSet;
  for (const LinearOp& other : launch.more) {
    args.more[args.n_more++] = {weights_.matrix(other.weight), act(other.out).values,
                                weights_.bias(other.bias, other.weight)};
  }
  multiply(args, launch.missing, op.in, op.rows, op.out);
}

void Launcher::run_paired(const GatedLinearOp& op, const Launch& launch) {
  float* ups = memory_.as<float>(Buffer::kUps);
  LinearArgs args{};
  args.weight = weights_.matrix(op.gate);
  args.more[args.n_more++] = {weights_.matrix(op.up), ups, nullptr};
  multiply(args, launch.missing, op.in, Rows::kAll, op.out);
  kernels_.quantize(
      {step().n_rows, 1, ups, args.weight.n_rows, memory_.view(kQuants), act(op.out).values, op.activation},
      shape_.n_rows, device_.stream());
}

void Launcher::run(const GatedLinearOp& op, const Launch& launch) {
  if (launch.is_paired) return run_paired(op, launch);
  LinearArgs args{};
  args.weight = weights_.matrix(op.gate);
  multiply(args, launch.missing, op.in, Rows::kAll, op.out);
  args.weight = weights_.matrix(op.up);
  args.op.activation = op.activation;
  args.store = Store::kGate;
  multiply(args, launch.second_missing, op.in, Rows::kAll, op.out);
}

}  // namespace realizar::cuda
