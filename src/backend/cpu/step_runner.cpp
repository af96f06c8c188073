#include "backend/cpu/step_runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace realizar {
namespace {

uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

size_t StepRunner::weight_bytes() const {
  size_t n = 0;
  for (const PanelMatrix& m : matrices_) n += m.bytes();
  return n;
}

size_t StepRunner::scratch_bytes() const {
  size_t n = rotations_.size() + parts_.size() + hidden_.size() + partial_.size() + prepared_.n_bytes() +
             prepared_hidden_.n_bytes();
  for (const Activation2D& activation : activations_) n += activation.values.size();
  for (const Member& member : members_) n += member.scratch.size() + member.attention.size();
  return n;
}

Status StepRunner::configure(const BackendLimits& limits) {
  limits_ = limits;
  steps_.reserve(limits.max_commands);
  trace_.reserve(limits.max_commands);
  op_ends_.resize(limits.max_commands);
  taken_ = std::make_unique<std::atomic<uint32_t>[]>(size_t{limits.max_commands} * kLoopsPerCommand * team_.size());
  units_.reserve(limits.max_rows + size_t{limits.max_seqs} * (limits.max_context / kSplitPositions + 1));
  const uint32_t n_slots = limits.max_rows * kMaxUsedExperts;
  identity_.resize(std::max({limits.max_rows, limits.max_logit_rows, n_slots}));
  for (uint32_t i = 0; i < identity_.size(); ++i) identity_[i] = i;
  groups_.reserve(n_slots);
  slots_.reserve(n_slots);
  slot_rows_.reserve(n_slots);
  const size_t n_rows = std::max(limits.max_rows, limits.max_logit_rows);
  const size_t n_bytes = 2 * n_rows * kPairRows * sizeof(float) + kTileBytes;
  for (Member& member : members_) {
    RZ_TRY(member.scratch, Pages::allocate(n_bytes));
  }
  return {};
}

float* StepRunner::accumulators(uint32_t member, uint32_t which) const {
  const size_t n_rows = std::max(limits_.max_rows, limits_.max_logit_rows);
  return members_[member].scratch.as<float>() + kTileBytes / sizeof(float) + which * n_rows * kPairRows;
}

std::byte* StepRunner::tile(uint32_t member) const {
  return members_[member].scratch.as<std::byte>();
}

Result<WeightId> StepRunner::add_matrix(const MatrixSource& source) {
  RZ_TRY(const PanelMatrix matrix, pack_panels(source, team_, weights_));
  const uint32_t n_rows = std::max(limits_.max_rows, limits_.max_logit_rows);
  if (!prepared_.fits(n_rows, matrix.n_cols)) RZ_CHECK_OK(prepared_.reserve(n_rows, matrix.n_cols));
  if (matrix.n_mats > 1) {
    const uint32_t n_slots = limits_.max_rows * kMaxUsedExperts;
    const uint32_t widest = std::max(matrix.n_cols, matrix.n_rows);
    if (!prepared_hidden_.fits(n_slots, widest)) {
      RZ_CHECK_OK(prepared_hidden_.reserve(n_slots, widest));
      RZ_TRY(hidden_, Pages::allocate(size_t{n_slots} * widest * sizeof(float)));
      RZ_TRY(partial_, Pages::allocate(size_t{n_slots} * widest * sizeof(float)));
    }
  }
  matrices_.push_back(matrix);
  return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
}

Result<WeightId> StepRunner::add_vector(std::span<const float> values) {
  PanelMatrix m;
  m.n_mats = m.n_rows = 1;
  m.n_cols = static_cast<uint32_t>(values.size());
  m.panel_bytes = values.size_bytes();
  RZ_TRY(m.data, weights_.allocate(values.size_bytes()));
  if (!values.empty()) std::memcpy(m.data, values.data(), values.size_bytes());
  matrices_.push_back(m);
  return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
}

Result<ActId> StepRunner::add_activation(uint32_t n_cols, Rows rows) {
  const size_t n_rows = rows == Rows::kAll ? limits_.max_rows : limits_.max_logit_rows;
  RZ_TRY(Pages values, Pages::allocate(n_rows * n_cols * sizeof(float)));
  activations_.push_back({n_cols, rows, std::move(values)});
  return ActId{static_cast<uint32_t>(activations_.size() - 1)};
}

Status StepRunner::create_cache(const KvLayout& layout) {
  RZ_TRY(rotations_, Pages::allocate(size_t{limits_.max_rows} * layout.head_dim * sizeof(float)));
  return cache_.create(layout);
}

void StepRunner::begin(const StepBatch& batch) {
  REQUIRE(batch.n_rows() <= limits_.max_rows && batch.logit_rows.size() <= limits_.max_logit_rows);
  batch_ = &batch;
  steps_.clear();
  turned_ = {};
  trace_.clear();
  unit_rows_ = 0;
  status_ = {};
  const auto is_decode = [&](uint32_t row) { return row < batch.n_decode_rows; };
  const auto n_logit_decode = std::count_if(batch.logit_rows.begin(), batch.logit_rows.end(), is_decode);
  all_rows_ = {identity_.data(), batch.n_decode_rows, batch.n_rows()};
  logit_rows_ = {identity_.data(), static_cast<uint32_t>(n_logit_decode),
                 static_cast<uint32_t>(batch.logit_rows.size())};
}

// Products of the same rows (q, k and v) prepare them once and do not wait for each other, so each must write elsewhere
// than all before it in the run.
bool StepRunner::shares_input(const LinearOp& op) const {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const auto* before = std::get_if<LinearOp>(&step->command);
    if (before == nullptr || op.in != before->in || op.rows != before->rows || op.in == before->out ||
        op.out == before->out ||
        prefill_form(kernels_, matrix(op.weight)) != prefill_form(kernels_, matrix(before->weight))) {
      return false;
    }
    if (step->prepares) return true;  // the first of the run
  }
  return false;
}

void StepRunner::add(const Command& command) {
  if (!status_.ok()) return;
  if (steps_.size() == limits_.max_commands) {
    status_ = Error{ErrorCode::kInternal, "a step has more than " + std::to_string(steps_.size()) + " operations", ""};
    return;
  }
  if (const auto* experts = std::get_if<ExpertsOp>(&command)) REQUIRE(experts->n_used <= kMaxUsedExperts);
  Step step{command};
  const auto* linear = std::get_if<LinearOp>(&command);
  if (linear != nullptr && shares_input(*linear)) {
    step.prepares = false;
    steps_.back().barrier = trace_on_;
  }
  if (const auto* rope = std::get_if<RopeStoreOp>(&command); rope != nullptr && rope->inv_freq != kNoWeight) {
    const Rotation rotation{rope->inv_freq, rope->rope_scale, rope->n_rot, rope->head_dim};
    step.turns = rotation != turned_;
    turned_ = rotation;
  }
  if (const auto* attention = std::get_if<AttentionOp>(&command)) {
    plan_attention(*attention);
    status_ = reserve_attention(*attention);
  }
  steps_.push_back(step);
}

void StepRunner::submit() {
  if (!status_.ok()) return;
  for (size_t i = 0; i < steps_.size() * kLoopsPerCommand * team_.size(); ++i) {
    taken_[i].store(0, std::memory_order_relaxed);
  }
  auto body = [this](uint32_t member) { walk(member); };
  team_.run(body);
  if (trace_on_) record_trace();
}

std::span<const float> StepRunner::read(ActId id) const {
  const Rows rows = activations_[static_cast<uint32_t>(id)].rows;
  return {act(id), size_t{row_list(rows).n_rows} * n_cols(id)};
}

RowList StepRunner::row_list(Rows rows) const {
  return rows == Rows::kAll ? all_rows_ : logit_rows_;
}

// A traced operation lasts from the barrier before it to the one after it: what the team waits for is its own time, and
// the first one does not pay for the team's waking up.
void StepRunner::walk(uint32_t member) {
  if (trace_on_) team_.barrier();
  if (trace_on_ && member == 0) trace_start_ns_ = now_ns();
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    members_[member].phase = i * kLoopsPerCommand;
    std::visit([&](const auto& op) { run(op, member); }, steps_[i].command);
    if (steps_[i].barrier) team_.barrier();
    if (trace_on_ && member == 0) op_ends_[i] = {now_ns(), groups_.size()};
  }
}

void StepRunner::record_trace() {
  const bool is_decode = batch_->n_decode_rows == batch_->n_rows();
  uint64_t start_ns = trace_start_ns_;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Command& command = steps_[i].command;
    const OpPlace place = std::visit([](const auto& op) { return place_of(op); }, command);
    const OpWork work = work_of(command, op_ends_[i].n_expert_groups);
    trace_.push_back({static_cast<OpKind>(command.index()), place, is_decode, start_ns, op_ends_[i].ns - start_ns,
                      work.bytes, work.flops});
    start_ns = op_ends_[i].ns;
  }
}

OpWork StepRunner::work_of(const Command& command, size_t n_expert_groups) const {
  OpWork work;
  const auto count = [&](WeightId id, uint64_t n_rows, uint64_t n_mats_read) {
    const PanelMatrix& m = matrix(id);
    work.bytes += n_mats_read * m.n_panels() * m.panel_bytes;
    work.flops += 2 * n_rows * m.n_rows * m.n_cols;
  };
  const uint64_t n_rows = batch_->n_rows();
  if (const auto* linear = std::get_if<LinearOp>(&command)) count(linear->weight, row_list(linear->rows).n_rows, 1);
  if (const auto* gated = std::get_if<GatedLinearOp>(&command)) {
    count(gated->gate, n_rows, 1);
    count(gated->up, n_rows, 1);
  }
  if (const auto* experts = std::get_if<ExpertsOp>(&command)) {
    for (const WeightId id : {experts->gate, experts->up, experts->down}) {
      count(id, n_rows * experts->n_used, n_expert_groups);
    }
  }
  if (const auto* attention = std::get_if<AttentionOp>(&command)) {
    return attention_work(*attention, *batch_, cache_.layout());
  }
  return work;
}

}  // namespace realizar
