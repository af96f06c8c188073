// Launches of what adapters add to products.
#include "backend/cuda/step/launcher.h"

namespace realizar::cuda {

void Launcher::run(const AdapterDownOp& op, const Launch&) {
  if (max_rows(op.rows) == 0) return;
  AdapterDownArgs args{};
  args.op = op;
  args.step = step();
  args.down = weights_.matrix(op.down);
  args.ranks = weights_.vector(op.ranks);
  args.in = act(op.in).values;
  args.low = act(op.low).values;
  args.n_low_cols = act(op.low).n_cols;
  kernels_.adapter_down(args, max_rows(op.rows), device_.stream());
}

void Launcher::run(const AdapterUpOp& op, const Launch&) {
  if (max_rows(op.rows) == 0) return;
  AdapterUpArgs args{};
  args.op = op;
  args.step = step();
  args.up = weights_.matrix(op.up);
  args.ranks = weights_.vector(op.ranks);
  args.low = act(op.low).values;
  args.n_low_cols = act(op.low).n_cols;
  args.out = act(op.out).values;
  kernels_.adapter_up(args, max_rows(op.rows), device_.stream());
}

}  // namespace realizar::cuda
