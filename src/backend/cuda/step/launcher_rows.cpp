// Launches of operations that take each row by itself, and of those in which devices share an operation.
#include "backend/cuda/step/launcher.h"

namespace realizar::cuda {

void Launcher::launch(const Launch& launch, const StepShape& shape) {
  shape_ = shape;
  std::visit([&](const auto& op) { run(op, launch); }, launch.command);
}

void Launcher::run(const EmbedOp& op, const Launch&) {
  float* out = act(op.out).values;
  const uint32_t n_ids = weights_.matrix(op.table).n_rows;
  kernels_.embed({step().n_rows, step().tokens, weights_.matrix(op.table), op.scale, false, out, n_ids}, shape_.n_rows,
                 device_.stream());
  if (op.type_table != kNoWeight) {
    kernels_.embed({step().n_rows, step().tokens, weights_.matrix(op.type_table), 1, true, out, n_ids, true},
                   shape_.n_rows, device_.stream());
  }
  if (op.position_table == kNoWeight) return;
  kernels_.embed({step().n_rows, step().positions, weights_.matrix(op.position_table), 1, true, out}, shape_.n_rows,
                 device_.stream());
}

void Launcher::run(const NormOp& op, const Launch& launch) {
  if (max_rows(op.rows) == 0) return;
  NormArgs args{};
  args.op = op;
  args.n_rows = n_rows_at(op.rows);
  args.out = act(op.out).values;
  args.in = act(op.in).values;
  args.weight = weights_.vector(op.weight);
  args.bias = weights_.vector(op.bias);
  args.n_cols = act(op.in).n_cols / op.n_groups;
  if (launch.quantizes_out) args.quants = memory_.view(kQuants);
  if (op.like != kNoAct) {
    args.like = act(op.like).values;
    args.n_like_cols = act(op.like).n_cols;
  }
  kernels_.norm(args, max_rows(op.rows), device_.stream());
}

void Launcher::run(const RopeStoreOp& op, const Launch&) {
  RopeStoreArgs args{};
  args.op = op;
  // The keys that queries alone are for may lie on another device.
  const bool stores = op.k != kNoAct;
  args.step = stores ? memory_.input().view_of(cache_.group_of(op.layer)) : step();
  if (stores) args.cache = cache_.view(op.layer);
  args.cache.head_dim = op.head_dim;
  args.q = act(op.q).values;
  args.k = op.k == kNoAct ? nullptr : act(op.k).values;
  args.v = !stores || !cache_.has_values(op.layer) ? nullptr : act(op.v).values;
  args.inv_freq = weights_.vector(op.inv_freq);
  args.q_norm = weights_.vector(op.q_norm);
  args.k_norm = weights_.vector(op.k_norm);
  kernels_.rope_store(args, shape_.n_rows, device_.stream());
}

void Launcher::run(const LatentStoreOp& op, const Launch&) {
  LatentStoreArgs args{};
  args.op = op;
  args.step = memory_.input().view_of(cache_.group_of(op.layer));
  args.cache = cache_.view(op.layer);
  args.query = act(op.query).values;
  args.q = act(op.q).values;
  args.latent = act(op.latent).values;
  args.inv_freq = weights_.vector(op.inv_freq);
  args.norm = weights_.vector(op.norm);
  kernels_.latent_store(args, shape_.n_rows, device_.stream());
}

void Launcher::run(const GateOp& op, const Launch&) {
  kernels_.gate({op, n_rows_at(Rows::kAll), act(op.out).values, act(op.in).values, act(op.gate).values,
                 act(op.out).n_cols, act(op.gate).n_cols},
                shape_.n_rows, device_.stream());
}

void Launcher::run(const CutOp& op, const Launch&) {
  kernels_.cut({op, n_rows_at(Rows::kAll), act(op.out).values, act(op.in).values, act(op.in).n_cols}, shape_.n_rows,
               device_.stream());
}

void Launcher::run(const AltUpOp& op, const Launch&) {
  AltUpArgs args{};
  args.op = op;
  args.n_rows = n_rows_at(Rows::kAll);
  args.x = act(op.x).values;
  for (uint32_t i = 0; i < op.n_streams; ++i) args.streams[i] = act(op.streams[i]).values;
  args.n_cols = act(op.x).n_cols;
  args.router = act(op.router).values;
  args.coefs = weights_.vector(op.coefs);
  args.scale = weights_.vector(op.scale);
  kernels_.altup(args, shape_.n_rows, device_.stream());
}

void Launcher::run(const SelectRowsOp& op, const Launch&) {
  if (shape_.n_logit_rows == 0) return;
  kernels_.select_rows({step(), act(op.in).values, act(op.out).values, act(op.in).n_cols}, shape_.n_logit_rows,
                       device_.stream());
}

void Launcher::run(const ChooseOp& op, const Launch&) {
  const ChoiceInput& choices = memory_.choice_input();
  kernels_.choose({step().n_logit_rows, act(op.logits).values, act(op.logits).n_cols, choices.rows(), choices.seen(),
                   memory_.as<uint64_t>(Buffer::kCandidates), memory_.as<ChoicePart>(Buffer::kVocabParts),
                   memory_.as<int32_t>(Buffer::kChosen)},
                  shape_.n_logit_rows, device_.stream());
}

void Launcher::run(const ClearOp& op, const Launch&) {
  device_.clear(act(op.out).values, size_t{shape_.n_rows} * act(op.out).n_cols * sizeof(float));
}

void Launcher::run(const SumPartsOp& op, const Launch&) {
  kernels_.sum_parts({n_rows_at(Rows::kAll), memory_.as<float>(Buffer::kParts), op.n_parts, act(op.out).n_cols,
                      weights_.vector(op.bias), op.scale, op.accumulate, act(op.out).values},
                     shape_.n_rows, device_.stream());
}

}  // namespace realizar::cuda
