#include "backend/cuda/step/launchers/adapter_launcher.h"

namespace realizar::cuda {

void AdapterLauncher::run(const AdapterDownOp& op, const Launch&) {
  if (context_.max_rows(op.rows) == 0) return;
  AdapterDownArgs args{};
  args.op = op;
  args.step = context_.step();
  args.down = context_.matrix(op.down);
  args.ranks = context_.vector(op.ranks);
  args.in = context_.values(op.in);
  args.low = context_.values(op.low);
  args.n_low_cols = context_.act(op.low).n_cols;
  kernels_.adapter_down(args, context_.max_rows(op.rows), context_.stream());
}

void AdapterLauncher::run(const AdapterUpOp& op, const Launch&) {
  if (context_.max_rows(op.rows) == 0) return;
  AdapterUpArgs args{};
  args.op = op;
  args.step = context_.step();
  args.up = context_.matrix(op.up);
  args.ranks = context_.vector(op.ranks);
  args.low = context_.values(op.low);
  args.n_low_cols = context_.act(op.low).n_cols;
  args.out = context_.values(op.out);
  kernels_.adapter_up(args, context_.max_rows(op.rows), context_.stream());
}

}  // namespace realizar::cuda
