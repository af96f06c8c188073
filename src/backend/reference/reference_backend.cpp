#include "backend/reference/reference_backend.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "backend/reference/kv_cache.h"
#include "backend/source_rows.h"
#include "backend/state_store.h"
#include "base/check.h"
#include "base/try.h"

namespace realizar {
namespace {

struct Matrix {
  uint32_t n_mats = 0, n_rows = 0, n_cols = 0;
  std::vector<float> values;  // [n_mats, n_rows, n_cols]

  const float* row(uint32_t mat, uint32_t r) const { return values.data() + (size_t{mat} * n_rows + r) * n_cols; }
};

struct Activation2D {
  uint32_t n_cols = 0;
  Rows rows = Rows::kAll;
  std::vector<float> values;  // [max rows, n_cols]

  float* row(uint32_t r) { return values.data() + size_t{r} * n_cols; }
  const float* row(uint32_t r) const { return values.data() + size_t{r} * n_cols; }
};

double dot(const float* a, const float* b, uint32_t n) {
  double sum = 0;
  for (uint32_t i = 0; i < n; ++i) sum += double{a[i]} * b[i];
  return sum;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kGelu:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kGeluErf:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kNormalCdf:
      return 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kReluSquared:
      return x > 0 ? x * x : 0.0;
    case Activation::kXielu:  // in LinearOp, by its numbers
      return x;
    case Activation::kClampedSwiglu: {
      const double gate = std::min(x, double{kSwigluLimit});
      return gate / (1 + std::exp(-double{kSwigluAlpha} * gate));
    }
    case Activation::kSigmoid:
      return sigmoid(x);
  }
  return x;
}

double activated(const LinearOp& op, double x) {
  if (op.activation != Activation::kXielu) return activated(op.activation, x);
  const Xielu& c = op.xielu;
  return x > 0 ? c.alpha_p * x * x + c.beta * x : c.alpha_n * (std::expm1(std::min(x, double{c.eps})) - x) + c.beta * x;
}

double gated_pair(Activation activation, double gate, double up) {
  if (activation == Activation::kClampedSwiglu) {
    up = std::clamp(up, -double{kSwigluLimit}, double{kSwigluLimit}) + 1;
  }
  return activated(activation, gate) * up;
}

double softplus(double x) {
  return std::log1p(std::exp(-std::fabs(x))) + std::max(0.0, x);
}

double softcapped(double x, double cap) {
  return cap > 0 ? cap * std::tanh(x / cap) : x;
}

// Decodes every row, in the order asked for.
Matrix decoded(const MatrixSource& source) {
  Matrix m{source.n_mats, source.n_rows, source.n_cols, {}};
  m.values.resize(size_t{m.n_mats} * m.n_rows * m.n_cols);
  const TypeTraits& type = traits(source.type);
  const SourceRows rows(source);
  std::vector<float> stored;
  for (const auto piece : source.pieces) {
    const size_t n = piece.size() / type.block_bytes * type.block_elems;
    stored.resize(stored.size() + n);
    type.decode(piece.data(), stored.data() + stored.size() - n, n);
  }
  REQUIRE(stored.size() == m.values.size());
  for (uint32_t mat = 0; mat < m.n_mats; ++mat) {
    for (uint32_t r = 0; r < m.n_rows; ++r) {
      const uint32_t from = source.row_order.empty() ? r : source.row_order[r];
      const float* scales = rows.scales(mat, r);
      for (uint32_t c = 0; c < m.n_cols; ++c) {
        const size_t at = source.transposed ? size_t{c} * m.n_rows + from : size_t{from} * m.n_cols + c;
        float value = stored[size_t{mat} * m.n_rows * m.n_cols + at];
        if (scales != nullptr) value *= scales[source.type == TypeId::kF8_E4M3 ? c / kF8ScaleCols : 0];
        m.values[(size_t{mat} * m.n_rows + r) * m.n_cols + c] = value;
      }
    }
  }
  return m;
}

double rms(const float* x, uint32_t n) {
  return std::sqrt(dot(x, x, n) / n);
}

// `magnitude`: what the normalized row is multiplied by.
void normalize(const float* in, float* out, uint32_t n, NormKind kind, double eps, const float* weight,
               const float* bias, bool accumulate, double out_scale = 1, double magnitude = 1) {
  double mean = 0, power = 0;
  if (kind == NormKind::kLayer) {
    for (uint32_t i = 0; i < n; ++i) mean += in[i];
    mean /= n;
  }
  for (uint32_t i = 0; i < n; ++i) power += (in[i] - mean) * (in[i] - mean);
  const double scale = magnitude / std::sqrt(power / n + eps);
  for (uint32_t i = 0; i < n; ++i) {
    double y = (in[i] - mean) * scale;
    if (weight != nullptr) y *= weight[i];
    if (bias != nullptr) y += bias[i];
    out[i] = static_cast<float>((accumulate ? out[i] + y : y) * out_scale);
  }
}

// Into [-limit, limit]; 0: as they are.
void clip(float* values, uint32_t n, float limit) {
  for (uint32_t i = 0; limit > 0 && i < n; ++i) values[i] = std::clamp(values[i], -limit, limit);
}

// Of RopeStoreOp or LatentStoreOp.
template <class StoreOp>
double temperature_at(const StoreOp& op, Pos pos) {
  const uint32_t n_steps = (static_cast<uint32_t>(pos) + op.temperature_offset) / op.temperature_step;
  return 1 + op.temperature * std::log(1.0 + n_steps);
}

void rotate(float* head, uint32_t n_rot, const float* inv_freq, Pos pos, double scale) {
  const uint32_t half = n_rot / 2;
  for (uint32_t i = 0; i < half; ++i) {
    const double angle = double{inv_freq[i]} * pos;
    const double c = std::cos(angle) * scale, s = std::sin(angle) * scale;
    const double a = head[i], b = head[i + half];
    head[i] = static_cast<float>(a * c - b * s);
    head[i + half] = static_cast<float>(a * s + b * c);
  }
}

class ReferenceBackend final : public Backend {
 public:
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
            .weight_bytes = bytes_of(matrices_),
            .kv_bytes = cache_.bytes() + states_.bytes(),
            .scratch_bytes = bytes_of(activations_)};
  }

  Status configure(const BackendLimits& limits) override {
    limits_ = limits;
    return {};
  }

  Result<WeightId> load_matrix(const MatrixSource& source) override {
    RZ_CHECK_OK(SourceRows(source).check());
    matrices_.push_back(decoded(source));
    const std::vector<float>& values = matrices_.back().values;
    if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); })) return not_finite(source);
    return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
  }

  Result<WeightId> load_vector(std::span<const float> values, int32_t) override {
    matrices_.push_back({1, 1, static_cast<uint32_t>(values.size()), {values.begin(), values.end()}});
    return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
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
    activations_.resize(std::max(activations_.size(), program.activations.size()));
    for (size_t i = 0; i < program.activations.size(); ++i) {
      const ActShape& shape = program.activations[i];
      const size_t n_rows = shape.rows == Rows::kAll ? limits_.max_rows : limits_.max_logit_rows;
      std::vector<float>& values = activations_[i].values;
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
      activations_[i].n_cols = program.activations[i].n_cols;
      activations_[i].rows = program.activations[i].rows;
    }
    for (const Op& op : program.ops) {
      timed(op, [&] { std::visit([this](const auto& one) { run(one); }, op); });
    }
  }
  Status wait() override { return {}; }

  std::span<const float> read(ActId id) const override {
    const Activation2D& a = activations_[static_cast<uint32_t>(id)];
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
        y = softcapped(activated(op, y) * op.scale, op.softcap);
        out[i] = static_cast<float>(op.accumulate ? out[i] + y : y);
      }
    }
  }

  void run(const GatedLinearOp& op) {
    for (uint32_t r = 0; r < batch_->n_rows(); ++r) {
      const Matrix &gate = weight(op.gate), &up = weight(op.up);
      const float* in = act(op.in).row(r);
      for (uint32_t i = 0; i < gate.n_rows; ++i) {
        act(op.out).row(r)[i] = static_cast<float>(
            gated_pair(op.activation, dot(gate.row(0, i), in, gate.n_cols), dot(up.row(0, i), in, up.n_cols)));
      }
    }
  }

  void run(const RopeStoreOp& op) {
    for (const BatchSequence& seq : batch_->seqs) {
      const auto blocks = seq.block_tables.of(cache_.group_of(op.layer));
      for (uint32_t r = seq.first_row; r < seq.first_row + seq.n_rows; ++r) {
        norm_and_rotate(op, act(op.q).row(r), op.n_heads, op.q_norm, batch_->positions[r]);
        const double temperature = op.temperature > 0 ? temperature_at(op, batch_->positions[r]) : 1;
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
        const double temperature = op.temperature > 0 ? temperature_at(op, batch_->positions[r]) : 1;
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
    for (uint32_t r = 0; r < batch_->n_rows(); ++r) route_row(op, r);
  }

  void run(const ExpertsOp& op) {
    std::vector<float> hidden(weight(op.gate).n_rows);
    for (uint32_t r = 0; r < batch_->n_rows(); ++r) {
      const Matrix& down = weight(op.down);
      std::vector<double> sum(down.n_rows);
      for (uint32_t k = 0; k < op.n_used; ++k) {
        const auto expert = static_cast<uint32_t>(act(op.ids).row(r)[k]);
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

  const Matrix& weight(WeightId id) const { return matrices_[static_cast<uint32_t>(id)]; }
  const float* vector(WeightId id) const { return id == kNoWeight ? nullptr : weight(id).values.data(); }
  Activation2D& act(ActId id) { return activations_[static_cast<uint32_t>(id)]; }
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

  std::vector<double> scores_of(const RouteOp& op, const float* logits) const {
    std::vector<double> scores(logits, logits + op.n_experts);
    if (op.score == RouteScore::kSigmoid) {
      for (double& score : scores) score = sigmoid(score);
      return scores;
    }
    const double max = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - max);
    for (double& score : scores) score /= sum;
    return scores;
  }

  // The places of the n largest, ties to the first.
  static std::vector<uint32_t> largest(std::span<const double> values, uint32_t n) {
    std::vector<uint32_t> places(values.size());
    std::iota(places.begin(), places.end(), 0);
    std::ranges::stable_sort(places, [&](uint32_t a, uint32_t b) { return values[a] > values[b]; });
    places.resize(n);
    return places;
  }

  // What experts are chosen by: -infinity for those of groups that are not chosen.
  std::vector<double> choice_keys(const RouteOp& op, const float* logits, const std::vector<double>& scores) const {
    if (op.chooses_by_logits()) return {logits, logits + op.n_experts};
    std::vector<double> keys = scores;
    for (uint32_t e = 0; op.bias != kNoWeight && e < op.n_experts; ++e) keys[e] += vector(op.bias)[e];
    const uint32_t group_size = op.n_experts / op.n_groups;
    std::vector<double> group_keys;
    for (uint32_t g = 0; g < op.n_groups; ++g) {
      const auto members = std::span(keys).subspan(size_t{g} * group_size, group_size);
      double key = 0;
      for (const uint32_t best : largest(members, std::min(op.n_group_best, group_size))) key += members[best];
      group_keys.push_back(key);
    }
    const auto used = largest(group_keys, op.n_used_groups);
    for (uint32_t e = 0; e < op.n_experts; ++e) {
      if (std::ranges::find(used, e / group_size) == used.end()) keys[e] = -INFINITY;
    }
    return keys;
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
      for (uint32_t h = 0; h < op.n_heads; ++h) scan_row(op, r, h, &state[h * head_size]);
    }
    std::ranges::copy(state, states_.part<float>(seq.state_to, op.layer, op.part));
  }

  void scan_row(const StateScanOp& op, uint32_t r, uint32_t h, float* state) {
    const uint32_t group = h / (op.n_heads / op.n_groups);
    const float* x = act(op.x).row(r) + op.x_col + size_t{h} * op.head_dim;
    const float* b = act(op.b).row(r) + op.b_col + size_t{group} * op.d_state;
    const float* c = act(op.c).row(r) + op.c_col + size_t{group} * op.d_state;
    const double t = softplus(double{act(op.dt).row(r)[h]} + vector(op.dt_bias)[h]);
    for (uint32_t i = 0; i < op.head_dim; ++i) {
      double y = double{vector(op.d)[h]} * x[i];
      for (uint32_t k = 0; k < op.d_state; ++k) {
        const double a = vector(op.a)[size_t{h} * op.a_cols + (op.a_cols == 1 ? 0 : k)];
        float& s = state[size_t{i} * op.d_state + k];
        const double next = s * std::exp(t * a) + t * x[i] * b[k];
        s = static_cast<float>(next);
        y += next * c[k];
      }
      const size_t at = size_t{h} * op.head_dim + i;
      if (op.gate != kNoAct) y *= activated(Activation::kSilu, act(op.gate).row(r)[at]);
      act(op.out).row(r)[at] = static_cast<float>(y);
    }
  }

  // state: [key_dim, value_dim]
  void scan_row(const DeltaRuleOp& op, uint32_t r, uint32_t h, float* state) {
    const uint32_t key_head = op.key_heads_in_turn ? h % op.n_key_heads : h / (op.n_heads / op.n_key_heads);
    const float* q = act(op.q).row(r) + op.q_col + size_t{key_head} * op.key_dim;
    const float* k = act(op.k).row(r) + op.k_col + size_t{key_head} * op.key_dim;
    const float* v = act(op.v).row(r) + op.v_col + size_t{h} * op.value_dim;
    float* decays = act(op.decay).row(r) + size_t{h} * op.decay_cols;
    for (uint32_t j = 0; j < op.decay_cols; ++j) {
      const double bias = vector(op.decay_bias)[size_t{h} * op.decay_cols + j];
      decays[j] = static_cast<float>(std::exp(vector(op.a)[h] * softplus(decays[j] + bias)));
    }
    float& share = act(op.beta).row(r)[h];
    share = static_cast<float>(sigmoid(share));
    for (uint32_t i = 0; i < op.value_dim; ++i) {
      const auto kept = [&](uint32_t j) {
        return double{decays[op.decay_cols == 1 ? 0 : j]} * state[size_t{j} * op.value_dim + i];
      };
      double learnt = 0, y = 0;
      for (uint32_t j = 0; j < op.key_dim; ++j) learnt += kept(j) * k[j];
      const double change = share * (v[i] - learnt);
      for (uint32_t j = 0; j < op.key_dim; ++j) {
        const double next = kept(j) + k[j] * change;
        state[size_t{j} * op.value_dim + i] = static_cast<float>(next);
        y += next * q[j];
      }
      act(op.out).row(r)[size_t{h} * op.value_dim + i] = static_cast<float>(y);
    }
  }

  // Each choice's softmax among the logits near its own that were not chosen before it; 0 for the other experts.
  static std::vector<double> sparse_mixer_scores(const RouteOp& op, std::span<const float> logits) {
    const std::vector<uint32_t> order = largest(std::vector<double>(logits.begin(), logits.end()), op.n_experts);
    std::vector<double> scores(op.n_experts);
    for (uint32_t k = 0; k < op.n_used; ++k) {
      const double max = logits[order[k]];
      double sum = 0;
      for (const uint32_t e : std::span(order).subspan(k)) {
        const double x = logits[e];
        if (max - x <= op.near_share * std::max(std::fabs(x), max)) sum += std::exp(x - max);
      }
      scores[order[k]] = 1 / sum;
    }
    return scores;
  }

  // state: [head_dim of a key, head_dim of a value]
  void scan_row(const WkvOp& op, uint32_t r, uint32_t h, float* state) {
    const uint32_t n = op.head_dim;
    const size_t at = size_t{h} * n;
    const auto head = [&](ActId id) { return act(id).row(r) + at; };
    float *decay = head(op.decay), *k = head(op.k), *v = head(op.v), *rate = head(op.rate), *removal = head(op.removal);
    const float *receptance = head(op.r), *rate_scale = vector(op.rate_scale) + at;
    double power = 0, bonus = 0;
    for (uint32_t j = 0; j < n; ++j) {
      removal[j] = k[j] * vector(op.removal_scale)[at + j];
      power += double{removal[j]} * removal[j];
    }
    const double length = std::max<double>(std::sqrt(power), kWkvLeastLength);
    for (uint32_t j = 0; j < n; ++j) {
      decay[j] = static_cast<float>(std::exp(-double{kWkvDecay} * sigmoid(decay[j])));
      const double share = sigmoid(rate[j]);
      removal[j] = static_cast<float>(removal[j] / length);
      rate[j] = static_cast<float>(share * removal[j]);
      k[j] = static_cast<float>(k[j] * (1 + (share - 1) * rate_scale[j]));
      bonus += double{receptance[j]} * k[j] * vector(op.bonus_scale)[at + j];
    }
    for (uint32_t i = 0; i < n; ++i) {
      if (op.first_v != kNoAct) {
        float& share = head(op.v_share)[i];
        share = static_cast<float>(sigmoid(share));
        v[i] = static_cast<float>(v[i] + (double{head(op.first_v)[i]} - v[i]) * share);
      }
      double removed = 0, y = 0;
      for (uint32_t j = 0; j < n; ++j) removed += double{state[size_t{j} * n + i]} * removal[j];
      for (uint32_t j = 0; j < n; ++j) {
        float& s = state[size_t{j} * n + i];
        const double next = double{s} * decay[j] - removed * rate[j] + double{k[j]} * v[i];
        s = static_cast<float>(next);
        y += next * receptance[j];
      }
      head(op.out)[i] = static_cast<float>(y);
      head(op.bonus)[i] = static_cast<float>(bonus * v[i]);
    }
  }

  void route_row(const RouteOp& op, uint32_t r) {
    const float* logits = act(op.logits).row(r);
    const std::vector<double> scores =
        op.score == RouteScore::kSparseMixer ? sparse_mixer_scores(op, {logits, op.n_experts}) : scores_of(op, logits);
    const auto chosen = largest(choice_keys(op, logits, scores), op.n_used);
    double sum = 0;
    for (const uint32_t e : chosen) sum += scores[e];
    const double total = op.renormalize ? std::max<double>(sum, kLeastScoreSum) : 1;
    for (uint32_t k = 0; k < op.n_used; ++k) {
      act(op.ids).row(r)[k] = static_cast<float>(chosen[k]);
      const double own_scale = op.scales == kNoWeight ? 1 : vector(op.scales)[chosen[k]];
      act(op.weights).row(r)[k] = static_cast<float>(scores[chosen[k]] / total * op.scale * own_scale);
    }
  }

  BackendLimits limits_;
  std::vector<Matrix> matrices_;
  std::vector<Activation2D> activations_;  // as the program that ran last has them
  std::vector<Program> programs_;
  ReferenceKvCache cache_;
  StateStore states_;
  const StepBatch* batch_ = nullptr;        // until wait
  uint32_t n_rows_ = 0, n_logit_rows_ = 0;  // of the last step, for read()
  bool trace_ = false;
  std::vector<OpTiming> timings_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() {
  return std::make_unique<ReferenceBackend>();
}

}  // namespace realizar
