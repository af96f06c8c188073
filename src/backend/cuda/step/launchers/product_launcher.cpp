#include "backend/cuda/step/launchers/product_launcher.h"

namespace realizar::cuda {

void quantize(LaunchContext& context, ActId in, uint32_t n_cols, Rows rows) {
  context.kernels().quantize({context.n_rows_at(rows), 1, context.values(in), n_cols, context.memory().view(kQuants)},
                             context.max_rows(rows), context.stream());
}

void split(LaunchContext& context, ActId in, const Matrix& weight, Rows rows) {
  const RowRange all{context.step().zero, context.n_rows_at(rows)};
  context.kernels().split({all, 1, weight.type, context.values(in), weight.n_cols, context.memory().view(kSplits)},
                          context.max_rows(rows), context.stream());
}

// With prompt rows each matrix keeps a GPU busy by itself.
void ProductLauncher::multiply_tiles(LinearArgs& args) {
  const auto multiply = tile_kernel(kernels_, args.weight);
  multiply(args, context_.n_prompt_rows(), context_.stream());
  for (const LinearPart& part : std::span(args.more).first(args.n_more)) {
    args.weight = part.weight;
    args.out = part.out;
    args.bias = part.bias;
    multiply(args, context_.n_prompt_rows(), context_.stream());
  }
}

Dots dots_of(const LaunchContext& context, const Matrix& weight, Rows rows) {
  const bool in_tiles = has_tiles(weight.type) && rows == Rows::kAll;
  return {{context.step().zero, in_tiles ? context.step().n_decode_rows : context.n_rows_at(rows)},
          in_tiles ? context.shape().n_decode_rows : context.max_rows(rows)};
}

void ProductLauncher::multiply(const LinearArgs& args, const Missing& missing, ActId in, Rows rows, ActId out) {
  if (context_.max_rows(rows) == 0) return;
  if (missing.quantized) quantize(context_, in, args.weight.n_cols, rows);
  if (missing.split) split(context_, in, args.weight, rows);
  LinearArgs full = args;
  full.in = context_.values(in);
  full.quants = context_.memory().view(kQuants);
  full.splits = context_.memory().view(kSplits);
  full.out = context_.values(out);
  const Dots dots = dots_of(context_, args.weight, rows);
  full.rows = dots.rows;
  if (dots.max_rows > 0) few_kernel(args.weight, dots.max_rows)(full, dots.max_rows, context_.stream());
  full.rows = context_.prompt_rows();
  if (dots.max_rows < context_.max_rows(rows)) multiply_tiles(full);
}

void ProductLauncher::run(const LinearOp& op, const Launch& launch) {
  LinearArgs args{};
  args.op = op;
  args.weight = context_.matrix(op.weight);
  args.bias = context_.bias(op.bias, op.weight);
  args.store = op.accumulate ? Store::kAdd : Store::kSet;
  for (const LinearOp& other : launch.more) {
    args.more[args.n_more++] = {context_.matrix(other.weight), context_.values(other.out),
                                context_.bias(other.bias, other.weight)};
  }
  multiply(args, launch.missing, op.in, op.rows, op.out);
}

void ProductLauncher::run_paired(const GatedLinearOp& op, const Launch& launch) {
  float* ups = context_.memory().as<float>(Buffer::kUps);
  LinearArgs args{};
  args.weight = context_.matrix(op.gate);
  args.more[args.n_more++] = {context_.matrix(op.up), ups, nullptr};
  multiply(args, launch.missing, op.in, Rows::kAll, op.out);
  kernels_.quantize({context_.step().n_rows, 1, ups, args.weight.n_rows, context_.memory().view(kQuants),
                     context_.values(op.out), op.activation},
                    context_.shape().n_rows, context_.stream());
}

void ProductLauncher::run(const GatedLinearOp& op, const Launch& launch) {
  if (launch.is_paired) return run_paired(op, launch);
  LinearArgs args{};
  args.weight = context_.matrix(op.gate);
  multiply(args, launch.missing, op.in, Rows::kAll, op.out);
  args.weight = context_.matrix(op.up);
  args.op.epilogue.activation = op.activation;
  args.store = Store::kGate;
  multiply(args, launch.second_missing, op.in, Rows::kAll, op.out);
}

}  // namespace realizar::cuda
