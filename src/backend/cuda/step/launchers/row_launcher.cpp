#include "backend/cuda/step/launchers/row_launcher.h"

namespace realizar::cuda {

void RowLauncher::run(const EmbedOp& op, const Launch&) {
  float* out = context_.values(op.out);
  const uint32_t n_ids = context_.matrix(op.table).n_rows;
  kernels_.embed(
      {context_.step().n_rows, context_.step().tokens, context_.matrix(op.table), op.scale, false, out, n_ids},
      context_.shape().n_rows, context_.stream());
  if (op.type_table != kNoWeight) {
    kernels_.embed(
        {context_.step().n_rows, context_.step().tokens, context_.matrix(op.type_table), 1, true, out, n_ids, true},
        context_.shape().n_rows, context_.stream());
  }
  if (op.position_table == kNoWeight) return;
  kernels_.embed({context_.step().n_rows, context_.step().positions, context_.matrix(op.position_table), 1, true, out},
                 context_.shape().n_rows, context_.stream());
}

void RowLauncher::run(const NormOp& op, const Launch& launch) {
  if (context_.max_rows(op.rows) == 0) return;
  NormArgs args{};
  args.op = op;
  args.n_rows = context_.n_rows_at(op.rows);
  args.out = context_.values(op.out);
  args.in = context_.values(op.in);
  args.weight = context_.vector(op.weight);
  args.bias = context_.vector(op.bias);
  args.n_cols = context_.act(op.in).n_cols / op.n_groups;
  if (launch.quantizes_out) args.quants = context_.memory().view(kQuants);
  if (op.like != kNoAct) {
    args.like = context_.values(op.like);
    args.n_like_cols = context_.act(op.like).n_cols;
  }
  kernels_.norm(args, context_.max_rows(op.rows), context_.stream());
}

void RowLauncher::run(const GateOp& op, const Launch&) {
  kernels_.gate({op, context_.n_rows_at(Rows::kAll), context_.values(op.out), context_.values(op.in),
                 context_.values(op.gate), context_.act(op.out).n_cols, context_.act(op.gate).n_cols},
                context_.shape().n_rows, context_.stream());
}

void RowLauncher::run(const CutOp& op, const Launch&) {
  kernels_.cut(
      {op, context_.n_rows_at(Rows::kAll), context_.values(op.out), context_.values(op.in), context_.act(op.in).n_cols},
      context_.shape().n_rows, context_.stream());
}

void RowLauncher::run(const AltUpOp& op, const Launch&) {
  AltUpArgs args{};
  args.op = op;
  args.n_rows = context_.n_rows_at(Rows::kAll);
  args.x = context_.values(op.x);
  for (uint32_t i = 0; i < op.n_streams; ++i) args.streams[i] = context_.values(op.streams[i]);
  args.n_cols = context_.act(op.x).n_cols;
  args.router = context_.values(op.router);
  args.coefs = context_.vector(op.coefs);
  args.scale = context_.vector(op.scale);
  kernels_.altup(args, context_.shape().n_rows, context_.stream());
}

void RowLauncher::run(const SelectRowsOp& op, const Launch&) {
  if (context_.shape().n_logit_rows == 0) return;
  kernels_.select_rows({context_.step(), context_.values(op.in), context_.values(op.out), context_.act(op.in).n_cols},
                       context_.shape().n_logit_rows, context_.stream());
}

void RowLauncher::run(const ChooseOp& op, const Launch&) {
  const ChoiceInput& choices = context_.memory().choice_input();
  kernels_.choose(
      {context_.step().n_logit_rows, context_.values(op.logits), context_.act(op.logits).n_cols, choices.rows(),
       choices.seen(), context_.memory().as<uint64_t>(Buffer::kCandidates),
       context_.memory().as<ChoicePart>(Buffer::kVocabParts), context_.memory().as<int32_t>(Buffer::kChosen)},
      context_.shape().n_logit_rows, context_.stream());
}

void RowLauncher::run(const ClearOp& op, const Launch&) {
  context_.device().clear(context_.values(op.out),
                          size_t{context_.shape().n_rows} * context_.act(op.out).n_cols * sizeof(float));
}

void RowLauncher::run(const SumPartsOp& op, const Launch&) {
  kernels_.sum_parts({op, context_.n_rows_at(Rows::kAll), context_.memory().as<float>(Buffer::kParts),
                      context_.act(op.out).n_cols, context_.vector(op.bias), context_.values(op.out)},
                     context_.shape().n_rows, context_.stream());
}

}  // namespace realizar::cuda
