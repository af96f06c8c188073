#include "backend/cuda/step/launchers/rope_launcher.h"

namespace realizar::cuda {

void RopeLauncher::run(const RopeStoreOp& op, const Launch&) {
  RopeStoreArgs args{};
  args.op = op;
  // Without keys, the layer with the cache may be on another device.
  const bool stores = op.k != kNoAct;
  args.step = stores ? context_.memory().input().view_of(cache_.group_of(op.layer)) : context_.step();
  if (stores) args.cache = cache_.view(op.layer);
  args.cache.head_dim = op.head_dim;
  args.q = context_.values(op.q);
  args.k = context_.values(op.k);
  args.v = !stores || !cache_.has_values(op.layer) ? nullptr : context_.values(op.v);
  args.inv_freq = context_.vector(op.inv_freq);
  args.q_norm = context_.vector(op.q_norm);
  args.k_norm = context_.vector(op.k_norm);
  kernels_.rope_store(args, context_.shape().n_rows, context_.stream());
}

void RopeLauncher::run(const LatentStoreOp& op, const Launch&) {
  LatentStoreArgs args{};
  args.op = op;
  args.step = context_.memory().input().view_of(cache_.group_of(op.layer));
  args.cache = cache_.view(op.layer);
  args.query = context_.values(op.query);
  args.q = context_.values(op.q);
  args.latent = context_.values(op.latent);
  args.inv_freq = context_.vector(op.inv_freq);
  args.norm = context_.vector(op.norm);
  kernels_.latent_store(args, context_.shape().n_rows, context_.stream());
}

}  // namespace realizar::cuda
