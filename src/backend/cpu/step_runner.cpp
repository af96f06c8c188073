#include "backend/cpu/step_runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace realizar {
namespace {

constexpr uint32_t kMaxUsedExperts = 16;

uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

MapKind map_kind(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return MapKind::kNone;
    case Activation::kSilu:
      return MapKind::kSilu;
    case Activation::kGelu:
      return MapKind::kGelu;
    case Activation::kGeluErf:
      return MapKind::kGeluErf;
    case Activation::kRelu:
      return MapKind::kRelu;
    case Activation::kReluSquared:
      return MapKind::kReluSquared;
  }
  return MapKind::kNone;
}

uint32_t n_pairs(const PanelMatrix& m) {
  return (m.n_panels() + 1) / 2;
}

// One row of a packed matrix as F32.
void read_row(const KernelTable& kernels, const PanelMatrix& m, uint32_t row, std::byte* tile, float* out) {
  const uint8_t* panel = m.panel(0, row / kPanelRows);
  constexpr uint32_t kChunk = kTileBytes / (kPanelRows * sizeof(float));
  for (uint32_t c = 0; c < m.n_cols; c += kChunk) {
    const uint32_t n = std::min(kChunk, m.n_cols - c);
    kernels.unpack_f32[static_cast<int>(m.kind)](panel, c, n, tile);
    const auto* values = reinterpret_cast<const float*>(tile) + row % kPanelRows;
    for (uint32_t i = 0; i < n; ++i) out[c + i] = values[size_t{i} * kPanelRows];
  }
}

}  // namespace

size_t StepRunner::weight_bytes() const {
  size_t n = 0;
  for (const PanelMatrix& m : matrices_) n += m.pages.size();
  return n;
}

Status StepRunner::configure(const BackendLimits& limits) {
  limits_ = limits;
  commands_.reserve(limits.max_commands);
  trace_.reserve(limits.max_commands);
  counters_ = std::make_unique<Counter[]>(size_t{limits.max_commands} * kLoopsPerCommand);
  const uint32_t n_slots = limits.max_rows * kMaxUsedExperts;
  identity_.resize(std::max({limits.max_rows, limits.max_logit_rows, n_slots}));
  for (uint32_t i = 0; i < identity_.size(); ++i) identity_[i] = i;
  groups_.reserve(n_slots);
  slots_.reserve(n_slots);
  slot_rows_.reserve(n_slots);
  // Attention's needs are bounded by kQueryRows queries of every head.
  const size_t n_rows = std::max(limits.max_rows, limits.max_logit_rows);
  const size_t n_bytes = 2 * n_rows * kPairRows * sizeof(float) + kTileBytes + (size_t{8} << 20);
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

Result<WeightId> StepRunner::add_matrix(PanelMatrix matrix) {
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
  matrices_.push_back(std::move(matrix));
  return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
}

Result<WeightId> StepRunner::add_vector(std::span<const float> values) {
  PanelMatrix m;
  m.n_mats = m.n_rows = 1;
  m.n_cols = static_cast<uint32_t>(values.size());
  RZ_TRY(m.pages, Pages::allocate(values.size_bytes()));
  if (!values.empty()) std::memcpy(m.pages.as<float>(), values.data(), values.size_bytes());
  matrices_.push_back(std::move(m));
  return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
}

Result<ActId> StepRunner::add_activation(uint32_t n_cols, Rows rows) {
  const size_t n_rows = rows == Rows::kAll ? limits_.max_rows : limits_.max_logit_rows;
  RZ_TRY(Pages values, Pages::allocate(n_rows * n_cols * sizeof(float)));
  activations_.push_back({n_cols, rows, std::move(values)});
  return ActId{static_cast<uint32_t>(activations_.size() - 1)};
}

void StepRunner::begin(const StepBatch& batch) {
  REQUIRE(batch.n_rows() <= limits_.max_rows && batch.logit_rows.size() <= limits_.max_logit_rows);
  batch_ = &batch;
  commands_.clear();
  trace_.clear();
  too_many_ = false;
  const auto is_decode = [&](uint32_t row) { return row < batch.n_decode_rows; };
  const auto n_logit_decode = std::count_if(batch.logit_rows.begin(), batch.logit_rows.end(), is_decode);
  all_rows_ = {identity_.data(), batch.n_decode_rows, batch.n_rows()};
  logit_rows_ = {identity_.data(), static_cast<uint32_t>(n_logit_decode),
                 static_cast<uint32_t>(batch.logit_rows.size())};
}

void StepRunner::add(const Command& command) {
  if (commands_.size() < limits_.max_commands) {
    commands_.push_back(command);
  } else {
    too_many_ = true;
  }
}

void StepRunner::submit() {
  if (too_many_) return;
  for (size_t i = 0; i < commands_.size() * kLoopsPerCommand; ++i) {
    counters_[i].value.store(0, std::memory_order_relaxed);
  }
  auto body = [this](uint32_t member) { walk(member); };
  team_.run(body);
}

Status StepRunner::status() const {
  if (!too_many_) return {};
  return Error{ErrorCode::kInternal, "a step has more than " + std::to_string(limits_.max_commands) + " operations",
               ""};
}

std::span<const float> StepRunner::read(ActId id) const {
  const Rows rows = activations_[static_cast<uint32_t>(id)].rows;
  return {act(id), size_t{row_list(rows).n_rows} * n_cols(id)};
}

RowList StepRunner::row_list(Rows rows) const {
  return rows == Rows::kAll ? all_rows_ : logit_rows_;
}

void StepRunner::walk(uint32_t member) {
  for (uint32_t i = 0; i < commands_.size(); ++i) {
    members_[member].phase = i * kLoopsPerCommand;
    const uint64_t start = trace_on_ && member == 0 ? now_ns() : 0;
    std::visit([&](const auto& op) { run(op, member); }, commands_[i]);
    team_.barrier();
    if (trace_on_ && member == 0) record(commands_[i], start, now_ns());
  }
}

void StepRunner::record(const Command& command, uint64_t start_ns, uint64_t end_ns) {
  uint64_t bytes = 0, flops = 0;
  const auto count = [&](WeightId id, uint64_t n_rows, uint64_t n_mats_read) {
    const PanelMatrix& m = matrix(id);
    bytes += n_mats_read * m.n_panels() * m.panel_bytes;
    flops += 2 * n_rows * m.n_rows * m.n_cols;
  };
  const uint64_t n_rows = batch_->n_rows();
  if (const auto* linear = std::get_if<LinearOp>(&command)) count(linear->weight, row_list(linear->rows).n_rows, 1);
  if (const auto* gated = std::get_if<GatedLinearOp>(&command)) {
    count(gated->gate, n_rows, 1);
    count(gated->up, n_rows, 1);
  }
  if (const auto* experts = std::get_if<ExpertsOp>(&command)) {
    for (const WeightId id : {experts->gate, experts->up, experts->down}) {
      count(id, n_rows * experts->n_used, groups_.size());
    }
  }
  if (const auto* attention = std::get_if<AttentionOp>(&command)) {
    const KvLayout& kv = cache_.layout();
    const uint64_t vector_bytes = row_bytes(kv_traits(kv.type), kv.head_dim);
    for (const BatchSequence& seq : batch_->seqs) {
      const uint64_t n_pos = static_cast<uint64_t>(seq.first_pos) + seq.n_rows;
      const uint64_t seen = attention->window > 0 ? std::min<uint64_t>(n_pos, attention->window + seq.n_rows) : n_pos;
      bytes += 2 * seen * kv.n_kv_heads * vector_bytes;
      flops += 4 * seq.n_rows * seen * attention->n_heads * attention->head_dim;
    }
  }
  trace_.push_back({static_cast<OpKind>(command.index()), batch_->n_decode_rows == batch_->n_rows(), start_ns,
                    end_ns - start_ns, bytes, flops});
}

void StepRunner::run(const EmbedOp& op, uint32_t member) {
  share(batch_->n_rows(), member, [&](uint32_t r) {
    float* out = act(op.out, r);
    const uint32_t n = n_cols(op.out);
    read_row(kernels_, matrix(op.table), static_cast<uint32_t>(to_index(batch_->tokens[r])), tile(member), out);
    if (op.scale != 1.0f) kernels_.scale(op.scale, out, n);
    if (op.position_table == kNoWeight) return;
    auto* position = reinterpret_cast<float*>(tile(member) + kTileBytes);
    read_row(kernels_, matrix(op.position_table), static_cast<uint32_t>(batch_->positions[r]), tile(member), position);
    kernels_.axpy(1.0f, position, out, n);
  });
}

void StepRunner::normalize(const NormOp& op, const float* in, float* out, uint32_t n) const {
  const float mean = op.kind == NormKind::kLayer ? kernels_.sum(in, n) / static_cast<float>(n) : 0.0f;
  const float* weight = vector(op.weight);
  const float* bias = vector(op.bias);
  float power;
  if (op.kind == NormKind::kRms) {
    power = kernels_.dot_f32(in, in, n);
  } else {
    double sum = 0;
    for (uint32_t i = 0; i < n; ++i) sum += (double{in[i]} - mean) * (double{in[i]} - mean);
    power = static_cast<float>(sum);
  }
  const float scale = 1.0f / std::sqrt(power / static_cast<float>(n) + op.eps);
  for (uint32_t i = 0; i < n; ++i) {
    float y = (in[i] - mean) * scale;
    if (weight != nullptr) y *= weight[i];
    if (bias != nullptr) y += bias[i];
    out[i] = op.accumulate ? out[i] + y : y;
  }
}

void StepRunner::run(const NormOp& op, uint32_t member) {
  share(row_list(op.rows).n_rows, member,
        [&](uint32_t r) { normalize(op, act(op.in, r), act(op.out, r), n_cols(op.in)); });
}

void StepRunner::prepare_rows(PreparedRows& to, const float* source, const PanelMatrix& m, const RowList& list,
                              uint32_t member) {
  if (member == 0) to.begin(source, m.n_cols);
  team_.barrier();
  const bool bf16 = kernels_.bf16 && !m.is_plain();
  share(list.n_rows, member, [&](uint32_t r) {
    if (r >= list.n_decode) {
      to.prepare_prefill(kernels_, bf16, r);
    } else if (!m.is_plain()) {
      to.prepare_decode(kernels_, r);
    }
  });
  team_.barrier();
}

void StepRunner::prepare(ActId id, const PanelMatrix& m, const RowList& list, uint32_t member) {
  prepare_rows(prepared_, act(id), m, list, member);
}

void StepRunner::finish_linear(const LinearOp& op, const RowList& list, uint32_t pair, float* acc) {
  const uint32_t first = pair * kPairRows, n = std::min(kPairRows, matrix(op.weight).n_rows - first);
  for (uint32_t r = 0; r < list.n_rows; ++r) {
    float* y = acc + size_t{r} * kPairRows;
    if (op.bias != kNoWeight) kernels_.axpy(1.0f, vector(op.bias) + first, y, n);
    kernels_.map(map_kind(op.activation), y, n);
    if (op.scale != 1.0f) kernels_.scale(op.scale, y, n);
    if (op.softcap > 0) {
      kernels_.scale(1.0f / op.softcap, y, n);
      kernels_.map(MapKind::kTanh, y, n);
      kernels_.scale(op.softcap, y, n);
    }
    float* out = act(op.out, r) + first;
    if (op.accumulate) {
      kernels_.axpy(1.0f, y, out, n);
    } else {
      std::copy_n(y, n, out);
    }
  }
}

void StepRunner::run(const LinearOp& op, uint32_t member) {
  const PanelMatrix& m = matrix(op.weight);
  const RowList list = row_list(op.rows);
  prepare(op.in, m, list, member);
  float* acc = accumulators(member, 0);
  share(n_pairs(m), member, [&](uint32_t pair) {
    multiply_pair(kernels_, m, 0, pair, prepared_, list, acc, tile(member));
    finish_linear(op, list, pair, acc);
  });
}

void StepRunner::run(const GatedLinearOp& op, uint32_t member) {
  const PanelMatrix &gate = matrix(op.gate), &up = matrix(op.up);
  const RowList list = row_list(Rows::kAll);
  float *g = accumulators(member, 0), *u = accumulators(member, 1);
  if (gate.is_plain() != up.is_plain()) {  // mixed forms: the rows are prepared once for each
    prepare(op.in, gate, list, member);
    share(n_pairs(gate), member, [&](uint32_t pair) {
      multiply_pair(kernels_, gate, 0, pair, prepared_, list, g, tile(member));
      const uint32_t first = pair * kPairRows, n = std::min(kPairRows, gate.n_rows - first);
      for (uint32_t r = 0; r < list.n_rows; ++r) {
        kernels_.map(map_kind(op.activation), g + size_t{r} * kPairRows, n);
        std::copy_n(g + size_t{r} * kPairRows, n, act(op.out, r) + first);
      }
    });
    team_.barrier();
  }
  prepare(op.in, up, list, member);
  share(n_pairs(up), member, [&](uint32_t pair) {
    const bool mixed = gate.is_plain() != up.is_plain();
    const uint32_t first = pair * kPairRows, n = std::min(kPairRows, up.n_rows - first);
    if (!mixed) multiply_pair(kernels_, gate, 0, pair, prepared_, list, g, tile(member));
    multiply_pair(kernels_, up, 0, pair, prepared_, list, u, tile(member));
    for (uint32_t r = 0; r < list.n_rows; ++r) {
      const size_t at = size_t{r} * kPairRows;
      float* out = act(op.out, r) + first;
      if (!mixed) kernels_.map(map_kind(op.activation), g + at, n);
      for (uint32_t i = 0; i < n; ++i) out[i] = (mixed ? out[i] : g[at + i]) * u[at + i];
    }
  });
}

void StepRunner::turn_heads(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm, uint32_t row) const {
  NormOp head_norm{};
  head_norm.weight = norm;
  head_norm.eps = op.norm_eps;
  const uint32_t half = op.n_rot / 2;
  for (uint32_t h = 0; norm != kNoWeight && h < n_heads; ++h) {
    normalize(head_norm, heads + size_t{h} * op.head_dim, heads + size_t{h} * op.head_dim, op.head_dim);
  }
  if (op.inv_freq == kNoWeight) return;
  for (uint32_t i = 0; i < half; ++i) {
    const double angle = double{vector(op.inv_freq)[i]} * batch_->positions[row];
    const auto c = static_cast<float>(std::cos(angle) * op.rope_scale);
    const auto s = static_cast<float>(std::sin(angle) * op.rope_scale);
    for (uint32_t h = 0; h < n_heads; ++h) {
      float* head = heads + size_t{h} * op.head_dim;
      const float a = head[i], b = head[i + half];
      head[i] = a * c - b * s;
      head[i + half] = a * s + b * c;
    }
  }
}

void StepRunner::run(const RopeStoreOp& op, uint32_t member) {
  const TypeTraits& type = kv_traits(cache_.layout().type);
  share(batch_->n_rows(), member, [&](uint32_t r) {
    const auto after = std::upper_bound(batch_->seqs.begin(), batch_->seqs.end(), r,
                                        [](uint32_t row, const BatchSequence& seq) { return row < seq.first_row; });
    const BatchSequence& seq = *std::prev(after);
    turn_heads(op, act(op.q, r), op.n_heads, op.q_norm, r);
    turn_heads(op, act(op.k, r), op.n_kv_heads, op.k_norm, r);
    const auto pos = static_cast<uint32_t>(batch_->positions[r]);
    for (uint32_t h = 0; h < op.n_kv_heads; ++h) {
      type.encode(act(op.k, r) + size_t{h} * op.head_dim, cache_.key(seq.block_table, op.layer, h, pos), op.head_dim);
      type.encode(act(op.v, r) + size_t{h} * op.head_dim, cache_.value(seq.block_table, op.layer, h, pos), op.head_dim);
    }
  });
}

void StepRunner::run(const AttentionOp& op, uint32_t member) {
  uint32_t n_tasks = 0;
  for (const BatchSequence& seq : batch_->seqs) n_tasks += (seq.n_rows + kQueryRows - 1) / kQueryRows;
  REQUIRE(attention_scratch(op.n_heads, op.n_kv_heads, op.head_dim) * sizeof(float) <= (size_t{8} << 20));
  share(n_tasks * op.n_kv_heads, member, [&](uint32_t item) {
    uint32_t block = item / op.n_kv_heads;
    auto seq = batch_->seqs.begin();
    while (block >= (seq->n_rows + kQueryRows - 1) / kQueryRows) {
      block -= (seq->n_rows + kQueryRows - 1) / kQueryRows;
      ++seq;
    }
    const uint32_t first = block * kQueryRows, row = seq->first_row + first;
    const AttentionTask task{&op,
                             seq->block_table,
                             act(op.q, row),
                             act(op.out, row),
                             std::min(kQueryRows, seq->n_rows - first),
                             static_cast<uint32_t>(seq->first_pos) + first,
                             item % op.n_kv_heads};
    attend(task, kernels_, cache_, reinterpret_cast<float*>(tile(member) + kTileBytes));
  });
}

void StepRunner::run(const SelectRowsOp& op, uint32_t member) {
  share(static_cast<uint32_t>(batch_->logit_rows.size()), member,
        [&](uint32_t i) { std::copy_n(act(op.in, batch_->logit_rows[i]), n_cols(op.in), act(op.out, i)); });
}

}  // namespace realizar
