#include "backend/reference/reference_backend.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "backend/program.h"
#include "backend/reference/arithmetic.h"
#include "backend/reference/kv_cache.h"
#include "backend/reference/routing.h"
#include "backend/reference/scans.h"
#include "backend/reference/tensors.h"
#include "backend/row_exchange.h"
#include "backend/source_rows.h"
#include "backend/state_store.h"
#include "base/check.h"
#include "base/try.h"

namespace realizar {
namespace {

using namespace reference;

class ReferenceBackend final : public Backend {
 public:
  explicit ReferenceBackend(Exchange* exchange) : exchange_(exchange) {}

  BackendInfo info() const override {
    const auto bytes_of = [](const auto& all) {
      size_t bytes = 0;
      for (const auto& one : all) bytes += one.values.size() * sizeof(float);
      return bytes;
    };
    return {.name = "reference",
            .description = "reference (scalar, double sums, 1 thread)",
            .arithmetic = "reference",
            .phases_agree = true,
            .weight_bytes = bytes_of(tensors_.matrices),
            .kv_bytes = cache_.bytes() + states_.bytes(),
            .scratch_bytes = bytes_of(tensors_.activations)};
  }

  Status configure(const BackendLimits& limits) override {
    limits_ = limits;
    return {};
  }

  Result<WeightId> load_matrix(const MatrixSource& source) override {
    RZ_CHECK_OK(SourceRows(source).check());
    tensors_.matrices.push_back(decoded(source));
    const std::vector<float>& values = tensors_.matrices.back().values;
    if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); })) return not_finite(source);
    return WeightId{static_cast<uint32_t>(tensors_.matrices.size() - 1)};
  }

  Result<WeightId> load_vector(std::span<const float> values, int32_t) override {
    tensors_.matrices.push_back({1, 1, static_cast<uint32_t>(values.size()), {values.begin(), values.end()}});
    return WeightId{static_cast<uint32_t>(tensors_.matrices.size() - 1)};
  }

  Status write_weights(WeightId id, size_t first_row, std::span<const float> values) override {
    Matrix& m = tensors_.matrices[static_cast<uint32_t>(id)];
    REQUIRE(first_row * m.n_cols + values.size() <= m.values.size());
    if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) {
      return format_error("a weight is not a finite number");
    }
    std::ranges::copy(values, m.values.begin() + static_cast<std::ptrdiff_t>(first_row * m.n_cols));
    return {};
  }

  Status create_kv_cache(const CacheLayout& layout) override {
    RZ_CHECK_OK(cache_.create(layout));
    return states_.create(layout);
  }
  size_t state_bytes() const override { return states_.slot_bytes(); }
  void read_state(StateId slot, std::span<std::byte> bytes) const override { states_.read(slot, bytes); }
  void write_state(StateId slot, std::span<const std::byte> bytes) override { states_.write(slot, bytes); }
  void zero_state(StateId slot) override { states_.zero(slot); }
  size_t block_bytes() const override { return cache_.block_bytes(); }
  void read_block(BlockId id, std::span<std::byte> bytes) const override { cache_.read_block(id, bytes); }
  void write_block(BlockId id, std::span<const std::byte> bytes) override { cache_.write_block(id, bytes); }
  void copy_block(BlockId from, BlockId to) override { cache_.copy_block(from, to); }
  void zero_block(BlockId id) override { cache_.zero_block(id); }
  void read_kv(uint32_t layer, BlockId id, std::span<float> keys, std::span<float> values) const override {
    cache_.read_kv(layer, id, keys, values);
  }

  // Programs share activations by their number, each as large as any of them needs it.
  Result<ProgramId> compile(const Program& program) override {
    tensors_.activations.resize(std::max(tensors_.activations.size(), program.activations.size()));
    for (size_t i = 0; i < program.activations.size(); ++i) {
      const ActShape& shape = program.activations[i];
      const size_t n_rows = shape.rows == Rows::kAll ? limits_.max_rows : limits_.max_logit_rows;
      std::vector<float>& values = tensors_.activations[i].values;
      values.resize(std::max(values.size(), n_rows * shape.n_cols));
    }
    programs_.push_back(program);
    return ProgramId{static_cast<uint32_t>(programs_.size() - 1)};
  }

  // Everything is done when it returns.
  void run(ProgramId id, const StepBatch& batch) override {
    REQUIRE(batch.n_rows() <= limits_.max_rows && batch.logit_rows.size() <= limits_.max_logit_rows);
    batch_ = &batch;
    n_rows_ = batch.n_rows();
    n_logit_rows_ = static_cast<uint32_t>(batch.logit_rows.size());
    timings_.clear();
    const Program& program = programs_[static_cast<uint32_t>(id)];
    for (size_t i = 0; i < program.activations.size(); ++i) {
      tensors_.activations[i].n_cols = program.activations[i].n_cols;
      tensors_.activations[i].rows = program.activations[i].rows;
    }
    for (const Op& op : program.ops) {
      timed(op, [&] { std::visit([this](const auto& one) { run(one); }, op); });
    }
  }
  Status wait() override { return exchange_.take_status(); }
  bool is_lost() const override { return exchange_.is_lost(); }

  std::span<const float> read(ActId id) const override {
    const Activation2D& a = tensors_.act(id);
    return {a.values.data(), size_t{n_rows(a.rows)} * a.n_cols};
  }

  void set_trace(bool on) override { trace_ = on; }
  std::span<const OpTiming> last_trace() const override { return timings_; }

 private:
  void run(const EmbedOp& op) {
    for (uint32_t r = 0; r < batch_->n_rows(); ++r) {
      const auto id = static_cast<uint32_t>(to_index(batch_->tokens[r]));
      const uint32_t n_ids = weight(op.table).n_rows;
      const float* from = weight(op.table).row(0, id % n_ids);
      float* to = act(op.out).row(r);
      for (uint32_t i = 0; i < act(op.out).n_cols; ++i) to[i] = from[i] * op.scale;
      if (op.type_table != kNoWeight) {
        const float* type = weight(op.type_table).row(0, id / n_ids);
        for (uint32_t i = 0; i < act(op.out).n_cols; ++i) to[i] += type[i];
      }
      if (op.position_table == kNoWeight) continue;
      const float* position = weight(op.position_table).row(0, static_cast<uint32_t>(batch_->positions[r]));
      for (uint32_t i = 0; i < act(op.out).n_cols; ++i) to[i] += position[i];
    }
  }

  void run(const NormOp& op) {
    const uint32_t n = act(op.in).n_cols / op.n_groups;
    const auto from = [](const float* values, uint32_t at) { return values == nullptr ? nullptr : values + at; };
    for (uint32_t r = 0; r < n_rows(op.rows); ++r) {
      const double magnitude = op.like == kNoAct ? 1 : rms(act(op.like).row(r), act(op.like).n_cols);
      for (uint32_t at = 0; at < n * op.n_groups; at += n) {
        normalize(act(op.in).row(r) + at, act(op.out).row(r) + at, n, op.kind, op.eps, from(vector(op.weight), at),
                  from(vector(op.bias), at), op.accumulate, op.scale, magnitude);
      }
    }
  }

  void run(const LinearOp& op) {
    const Matrix& w = weight(op.weight);
    for (uint32_t r = 0; r < n_rows(op.rows); ++r) {
      float* out = act(op.out).row(r);
      for (uint32_t i = 0; i < w.n_rows; ++i) {
        double y = dot(w.row(0, i), act(op.in).row(r), w.n_cols);
        if (op.bias != kNoWeight) y += vector(op.bias)[i];
        if (is_finished_later(op)) y = static_cast<float>(y);
        y = softcapped(activated(op.activation, op.xielu, y) * op.scale, op.softcap);
        out[i] = static_cast<float>(op.accumulate ? out[i] + y : y);
      }
    }
  }

  // As an AdapterUpOp does with what the product has left: rounded in between, so that a row without an adapter has the
  // same bits either way.
  static bool is_finished_later(const LinearOp& op) { return op.activation != Activation::kNone || op.softcap > 0; }

  // The adapter's place of each row, and the factor on what it adds.
  std::vector<BatchAdapter> adapters_of(Rows rows) const {
    std::vector<BatchAdapter> all(n_rows_), chosen;
    for (const BatchSequence& seq : batch_->seqs) std::fill_n(all.begin() + seq.first_row, seq.n_rows, seq.adapter);
    if (rows == Rows::kAll) return all;
    for (const uint32_t row : batch_->logit_rows) chosen.push_back(all[row]);
    return chosen;
  }
  uint32_t rank_of(WeightId ranks, const BatchAdapter& adapter) const {
    return adapter.slot == BatchAdapter::kNone ? 0 : static_cast<uint32_t>(vector(ranks)[adapter.slot]);
  }

  void run(const AdapterDownOp& op) {
    const Matrix& down = weight(op.down);
    const std::vector<BatchAdapter> adapters = adapters_of(op.rows);
    for (uint32_t r = 0; r < adapters.size(); ++r) {
      for (uint32_t i = 0; i < rank_of(op.ranks, adapters[r]); ++i) {
        for (uint32_t p = 0; p < n_adapter_pieces(down.n_cols); ++p) {
          const uint32_t first = p * kAdapterPiece, n = std::min(kAdapterPiece, down.n_cols - first);
          const double y = dot(down.row(adapters[r].slot, i) + first, act(op.in).row(r) + first, n);
          act(op.low).row(r)[p * down.n_rows + i] = static_cast<float>(y * op.factor * adapters[r].factor);
        }
      }
    }
  }

  void run(const AdapterUpOp& op) {
    const Matrix& up = weight(op.up);
    const std::vector<BatchAdapter> adapters = adapters_of(op.rows);
    for (uint32_t r = 0; r < adapters.size(); ++r) {
      const uint32_t rank = rank_of(op.ranks, adapters[r]);
      if (rank == 0 && !op.changes_all()) continue;
      for (uint32_t i = 0; i < up.n_rows; ++i) {
        float& out = act(op.out).row(r)[i];
        double y = out;
        for (uint32_t k = 0; k < rank; ++k) {
          double low = 0;
          for (uint32_t p = 0; p < op.n_pieces; ++p) low += act(op.low).row(r)[p * up.n_cols + k];
          y += up.row(adapters[r].slot, i)[k] * low;
        }
        out = static_cast<float>(softcapped(activated(op.activation, op.xielu, y) * op.scale, op.softcap));
      }
    }
  }

  void run(const GatedLinearOp& op) {
    for (uint32_t r = 0; r < batch_->n_rows(); ++r) {
      const Matrix &gate = weight(op.gate), &up = weight(op.up);
      const float* in = act(op.in).row(r);
      for (uint32_t i = 0; i < gate.n_rows; ++i) {
        // Rounded as if the two were products by themselves: see is_finished_later.
        const auto g = static_cast<float>(dot(gate.row(0, i), in, gate.n_cols));
        const auto u = static_cast<float>(dot(up.row(0, i), in, up.n_cols));
        act(op.out).row(r)[i] = static_cast<float>(activated(op.activation, g)) * u;
      }
    }
  }

  void run(const RopeStoreOp& op) {
    for (const BatchSequence& seq : batch_->seqs) {
      const auto blocks = seq.block_tables.of(cache_.group_of(op.layer));
      for (uint32_t r = seq.first_row; r < seq.first_row + seq.n_rows; ++r) {
        norm_and_rotate(op, act(op.q).row(r), op.n_heads, op.q_norm, batch_->positions[r]);
        const double temperature = op.temperature.is_on() ? temperature_at(op.temperature, batch_->positions[r]) : 1;
        for (uint32_t i = 0; i < op.n_heads * op.head_dim; ++i) {
          act(op.q).row(r)[i] = static_cast<float>(act(op.q).row(r)[i] * temperature);
        }
        if (op.k == kNoAct) continue;
        norm_and_rotate(op, act(op.k).row(r), op.n_kv_heads, op.k_norm, batch_->positions[r]);
        clip(act(op.v).row(r), op.n_kv_heads * op.head_dim, op.clip);
        for (uint32_t h = 0; h < op.n_kv_heads; ++h) {
          const KvPlace place{op.layer, h, batch_->positions[r]};
          cache_.store(blocks, place, act(op.k).row(r) + h * op.head_dim, act(op.v).row(r) + h * op.head_dim);
        }
      }
    }
  }

  void run(const HeadLinearOp& op) {
    const Matrix& w = weight(op.weight);
    for (uint32_t r = 0; r < batch_->n_rows(); ++r) {
      for (uint32_t h = 0; h < op.n_heads; ++h) {
        const float* in = act(op.in).row(r) + size_t{h} * op.in_width;
        float* out = act(op.out).row(r) + size_t{h} * op.out_width;
        for (uint32_t i = 0; i < w.n_rows; ++i) out[i] = static_cast<float>(dot(w.row(h, i), in, w.n_cols));
      }
    }
  }

  void run(const LatentStoreOp& op) {
    const auto turn = [&](float* rotated, uint32_t row) {
      if (op.inv_freq == kNoWeight) return;
      rotate(rotated, op.n_rot, vector(op.inv_freq), batch_->positions[row], op.rope_scale);
    };
    for (const BatchSequence& seq : batch_->seqs) {
      const auto blocks = seq.block_tables.of(cache_.group_of(op.layer));
      for (uint32_t r = seq.first_row; r < seq.first_row + seq.n_rows; ++r) {
        for (uint32_t h = 0; h < op.n_heads; ++h) {
          const float* from = act(op.q).row(r) + size_t{h + 1} * op.query_dim - op.n_rot;
          float* rotated = act(op.query).row(r) + size_t{h} * (op.latent_dim + op.n_rot) + op.latent_dim;
          std::copy_n(from, op.n_rot, rotated);
          turn(rotated, r);
        }
        const double temperature = op.temperature.is_on() ? temperature_at(op.temperature, batch_->positions[r]) : 1;
        for (uint32_t i = 0; i < op.n_heads * (op.latent_dim + op.n_rot); ++i) {
          act(op.query).row(r)[i] = static_cast<float>(act(op.query).row(r)[i] * temperature);
        }
        float* key = act(op.latent).row(r);
        normalize(key, key, op.latent_dim, NormKind::kRms, op.norm_eps, vector(op.norm), nullptr, false);
        turn(key + op.latent_dim, r);
        cache_.store(blocks, {op.layer, 0, batch_->positions[r]}, key, nullptr);
      }
    }
  }

  void run(const AttentionOp& op) {
    for (const BatchSequence& seq : batch_->seqs) {
      for (uint32_t r = seq.first_row; r < seq.first_row + seq.n_rows; ++r) {
        for (uint32_t h = 0; h < op.n_heads; ++h) attend(op, seq, r, h);
      }
    }
  }

  void run(const RouteOp& op) {
    for (uint32_t r = 0; r < batch_->n_rows(); ++r) route_row(tensors_, op, r);
  }

  void run(const ExpertsOp& op) {
    std::vector<float> hidden(weight(op.gate).n_rows);
    for (uint32_t r = 0; r < batch_->n_rows(); ++r) {
      const Matrix& down = weight(op.down);
      std::vector<double> sum(down.n_rows);
      for (uint32_t k = 0; k < op.n_used; ++k) {
        const uint32_t expert = static_cast<uint32_t>(act(op.ids).row(r)[k]) - op.first_expert;
        if (expert >= down.n_mats) continue;
        const float weight = act(op.weights).row(r)[k];
        expert_hidden(op, expert, op.weighs_input ? weight : 1.0f, act(op.in).row(r), hidden.data());
        for (uint32_t i = 0; i < down.n_rows; ++i) {
          const double y = dot(down.row(expert, i), hidden.data(), down.n_cols);
          sum[i] += (op.weighs_input ? 1.0f : weight) * (y + bias_of(op.down_bias, expert, down.n_rows, i));
        }
      }
      for (uint32_t i = 0; i < down.n_rows; ++i) {
        act(op.out).row(r)[i] = static_cast<float>(act(op.out).row(r)[i] + sum[i]);
      }
    }
  }

  void run(const GateOp& op) {
    const uint32_t n_cols = act(op.out).n_cols;
    for (uint32_t r = 0; r < batch_->n_rows(); ++r) {
      for (uint32_t i = 0; i < n_cols; ++i) {
        const double gate = act(op.gate).row(r)[act(op.gate).n_cols == 1 ? 0 : op.gate_col + i];
        const double y = act(op.in).row(r)[i] * (op.is_factor ? gate : sigmoid(gate));
        float& out = act(op.out).row(r)[i];
        out = static_cast<float>(op.accumulate ? out + y : y);
      }
    }
  }

  void run(const CutOp& op) {
    const uint32_t n = act(op.in).n_cols;
    for (uint32_t r = 0; r < batch_->n_rows(); ++r) {
      const float* in = act(op.in).row(r);
      double mean = 0, power = 0;
      for (uint32_t i = 0; i < n; ++i) mean += double{in[i]} / n;
      for (uint32_t i = 0; i < n; ++i) power += (in[i] - mean) * (in[i] - mean);
      const double least = mean + op.n_stds * std::sqrt(power / n);
      for (uint32_t i = 0; i < n; ++i) {
        act(op.out).row(r)[i] = static_cast<float>(activated(op.activation, std::max(0.0, in[i] - least)));
      }
    }
  }

  void run(const AltUpOp& op) {
    for (uint32_t r = 0; r < batch_->n_rows(); ++r) op.corrects ? correct(op, r) : predict(op, r);
  }

  void predict(const AltUpOp& op, uint32_t row) {
    const uint32_t n = op.n_streams;
    for (uint32_t c = 0; c < act(op.x).n_cols; ++c) {
      std::vector<double> before;
      for (uint32_t i = 0; i < n; ++i) before.push_back(act(op.streams[i]).row(row)[c]);
      for (uint32_t i = 0; i < n; ++i) {
        double sum = before[i];
        for (uint32_t j = 0; j < n; ++j) {
          sum += dot(vector(op.coefs) + size_t{i * n + j} * n, act(op.router).row(row), n) * before[j];
        }
        act(op.streams[i]).row(row)[c] = static_cast<float>(sum);
      }
      act(op.x).row(row)[c] = act(op.streams[0]).row(row)[c];
    }
  }

  void correct(const AltUpOp& op, uint32_t row) {
    const uint32_t n = op.n_streams;
    for (uint32_t c = 0; c < act(op.x).n_cols; ++c) {
      const double unpredicted = double{act(op.x).row(row)[c]} - act(op.streams[0]).row(row)[c];
      for (uint32_t i = 0; i < n; ++i) {
        const double share = 1 + dot(vector(op.coefs) + size_t{i} * n, act(op.router).row(row), n);
        float& state = act(op.streams[i]).row(row)[c];
        state = static_cast<float>(state + share * unpredicted);
      }
      const double scale = op.scale == kNoWeight ? 1 : vector(op.scale)[c];
      act(op.x).row(row)[c] = static_cast<float>(act(op.streams[0]).row(row)[c] * scale);
    }
  }

  void run(const SelectRowsOp& op) {
    for (uint32_t i = 0; i < batch_->logit_rows.size(); ++i) {
      const float* from = act(op.in).row(batch_->logit_rows[i]);
      std::copy(from, from + act(op.in).n_cols, act(op.out).row(i));
    }
  }

  void run(const ChooseOp&) {}

  void run(const JoinOp& op) {
    const size_t n = size_t{n_rows_} * act(op.part).n_cols;
    std::vector<float> parts(exchange_.join_floats(n));
    const Sharing::Range range = exchange_.begin_join({act(op.part).values.data(), n}, parts);
    for (uint32_t i = 0; i < range.n; ++i) {
      double sum = 0;
      for (uint32_t r = 0; r < exchange_.n_ranks(); ++r) sum += parts[size_t{r} * range.n + i];
      float& out = act(op.out).values[range.first + i];
      out = static_cast<float>(op.accumulate ? out + sum : sum);
    }
    exchange_.end_join({act(op.out).values.data(), n});
  }

  void run(const CollectOp& op) {
    exchange_.collect(op, n_rows(op.rows), act(op.part).values.data(), act(op.out).values.data());
  }

  void run(const SendOp& op) {
    exchange_.send(op.to, {act(op.act).values.data(), size_t{n_rows(op.rows)} * act(op.act).n_cols});
  }

  void run(const ReceiveOp& op) {
    exchange_.receive(op.from, {act(op.act).values.data(), size_t{n_rows(op.rows)} * act(op.act).n_cols});
  }

  void run(const ShortConvOp& op) {
    for (const BatchSequence& seq : batch_->seqs) convolve(op, seq);
  }

  void run(const StateScanOp& op) {
    for (const BatchSequence& seq : batch_->seqs) scan(op, seq, size_t{op.head_dim} * op.d_state);
  }

  void run(const DeltaRuleOp& op) {
    for (const BatchSequence& seq : batch_->seqs) scan(op, seq, size_t{op.key_dim} * op.value_dim);
  }

  void run(const WkvOp& op) {
    for (const BatchSequence& seq : batch_->seqs) scan(op, seq, size_t{op.head_dim} * op.head_dim);
  }

  const Matrix& weight(WeightId id) const { return tensors_.weight(id); }
  const float* vector(WeightId id) const { return tensors_.vector(id); }
  Activation2D& act(ActId id) { return tensors_.act(id); }
  uint32_t n_rows(Rows rows) const { return rows == Rows::kAll ? n_rows_ : n_logit_rows_; }

  template <class Body>
  void timed(const Op& op, const Body& body) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    body();
    if (!trace_ || std::holds_alternative<ChooseOp>(op)) return;
    const auto ns = [](auto duration) {
      return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
    };
    timings_.push_back({kind_of(op), place_of(op), batch_->n_decode_rows == batch_->n_rows(),
                        ns(start.time_since_epoch()), ns(Clock::now() - start), 0, 0});
  }

  // Element i of expert e's vector in a stack of them; 0 where there is none.
  float bias_of(WeightId stack, uint32_t expert, uint32_t n, uint32_t i) const {
    return stack == kNoWeight ? 0.0f : vector(stack)[size_t{expert} * n + i];
  }

  void expert_hidden(const ExpertsOp& op, uint32_t e, double in_scale, const float* in, float* out) const {
    const Matrix &gate = weight(op.gate), &up = weight(op.up);
    for (uint32_t i = 0; i < gate.n_rows; ++i) {
      const double g = in_scale * dot(gate.row(e, i), in, gate.n_cols) + bias_of(op.gate_bias, e, gate.n_rows, i);
      const double u = in_scale * dot(up.row(e, i), in, up.n_cols) + bias_of(op.up_bias, e, up.n_rows, i);
      out[i] = static_cast<float>(gated_pair(op.activation, g, u));
    }
  }

  void norm_and_rotate(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm_weight, Pos pos) const {
    const auto turn = [&](float* head) {
      if (op.inv_freq != kNoWeight) rotate(head, op.n_rot, vector(op.inv_freq), pos, op.rope_scale);
    };
    clip(heads, n_heads * op.head_dim, op.clip);
    for (uint32_t h = 0; h < n_heads; ++h) {
      float* head = heads + size_t{h} * op.head_dim;
      if (op.norms_last) turn(head);
      if (norm_weight != kNoWeight) {
        normalize(head, head, op.head_dim, NormKind::kRms, op.norm_eps, vector(norm_weight), nullptr, false);
      }
      if (!op.norms_last) turn(head);
    }
  }

  void attend(const AttentionOp& op, const BatchSequence& seq, uint32_t r, uint32_t h) {
    const std::span<const BlockId> blocks = seq.block_tables.of(cache_.group_of(op.layer));
    const uint32_t kv_head = h / (op.n_heads / op.n_kv_heads);
    const Pos pos = batch_->positions[r];
    const auto first = static_cast<Pos>(op.first_seen(static_cast<uint32_t>(pos)));
    const uint32_t n_positions = static_cast<uint32_t>(seq.first_pos) + seq.n_rows;
    const auto end = static_cast<Pos>(op.end_seen(static_cast<uint32_t>(pos), n_positions));
    const float* q = act(op.q).row(r) + size_t{h} * op.head_dim;
    std::vector<double> weights;
    std::vector<float> key(op.head_dim), value(op.value_dim());
    double max = -INFINITY, sum = 0;
    const double slope = op.slopes == kNoWeight ? 0 : vector(op.slopes)[h];
    for (Pos p = first; p < end; ++p) {
      cache_.load_key(blocks, {op.layer, kv_head, p}, key.data());
      const double bias = -slope * std::abs(p - pos);
      weights.push_back(softcapped(op.scale * dot(q, key.data(), op.head_dim) + bias, op.softcap));
      max = std::max(max, weights.back());
    }
    const float* sink = op.sinks == kNoWeight ? nullptr : vector(op.sinks) + h;
    if (sink != nullptr) max = std::max<double>(max, *sink);
    for (double& w : weights) sum += w = std::exp(w - max);
    if (sink != nullptr) sum += std::exp(*sink - max);
    std::vector<double> mixed(value.size());
    for (Pos p = first; p < end; ++p) {
      if (op.latent_dim > 0) {
        cache_.load_key(blocks, {op.layer, kv_head, p}, key.data());
        std::copy_n(key.begin(), value.size(), value.begin());
      } else {
        cache_.load_value(blocks, {op.layer, kv_head, p}, value.data());
      }
      for (size_t i = 0; i < value.size(); ++i) mixed[i] += weights[static_cast<size_t>(p - first)] / sum * value[i];
    }
    float* out = act(op.out).row(r) + size_t{h} * value.size();
    for (size_t i = 0; i < value.size(); ++i) out[i] = static_cast<float>(mixed[i]);
  }

  // All rows that the sequence's own look back on, then its own.
  void convolve(const ShortConvOp& op, const BatchSequence& seq) {
    const uint32_t n_cols = act(op.in).n_cols, n_before = op.n_taps - 1;
    std::vector<float> rows(size_t{n_before + seq.n_rows} * n_cols);
    if (seq.first_pos > 0)
      std::copy_n(states_.part<float>(seq.state_from, op.layer, op.part), n_before * n_cols, rows.begin());
    std::copy_n(act(op.in).row(seq.first_row), size_t{seq.n_rows} * n_cols, rows.begin() + n_before * n_cols);
    for (uint32_t r = 0; r < seq.n_rows; ++r) {
      for (uint32_t col = 0; col < n_cols; ++col) {
        double y = op.bias == kNoWeight ? 0 : vector(op.bias)[col];
        for (uint32_t i = 0; i < op.n_taps; ++i) {
          y += double{vector(op.weight)[size_t{col} * op.n_taps + i]} * rows[size_t{r + i} * n_cols + col];
        }
        act(op.out).row(seq.first_row + r)[col] = static_cast<float>(activated(op.activation, y));
      }
    }
    if (!op.keeps_rows) return;
    std::copy_n(rows.end() - n_before * n_cols, n_before * n_cols,
                states_.part<float>(seq.state_to, op.layer, op.part));
  }

  // head_size: numbers of a head's state.
  template <class Scan>
  void scan(const Scan& op, const BatchSequence& seq, size_t head_size) {
    const size_t n = op.n_heads * head_size;
    std::vector<float> state(n);
    if (seq.first_pos > 0) std::copy_n(states_.part<float>(seq.state_from, op.layer, op.part), n, state.begin());
    for (uint32_t r = seq.first_row; r < seq.first_row + seq.n_rows; ++r) {
      for (uint32_t h = 0; h < op.n_heads; ++h) scan_row(tensors_, op, r, h, &state[h * head_size]);
    }
    std::ranges::copy(state, states_.part<float>(seq.state_to, op.layer, op.part));
  }

  BackendLimits limits_;
  Tensors tensors_;  // activations as the program that ran last has them
  std::vector<Program> programs_;
  ReferenceKvCache cache_;
  StateStore states_;
  RowExchange exchange_;
  const StepBatch* batch_ = nullptr;        // until wait
  uint32_t n_rows_ = 0, n_logit_rows_ = 0;  // of the last step, for read()
  bool trace_ = false;
  std::vector<OpTiming> timings_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(Exchange* exchange) {
  return std::make_unique<ReferenceBackend>(exchange);
}

}  // namespace realizar
