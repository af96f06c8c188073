#include "backend/reference/reference_backend.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "backend/reference/kv_cache.h"
#include "backend/source_rows.h"
#include "base/check.h"

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
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kReluSquared:
      return x > 0 ? x * x : 0.0;
  }
  return x;
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
        if (scales != nullptr) value *= scales[c / kF8ScaleCols];
        m.values[(size_t{mat} * m.n_rows + r) * m.n_cols + c] = value;
      }
    }
  }
  return m;
}

void normalize(const float* in, float* out, uint32_t n, NormKind kind, double eps, const float* weight,
               const float* bias, bool accumulate) {
  double mean = 0, power = 0;
  if (kind == NormKind::kLayer) {
    for (uint32_t i = 0; i < n; ++i) mean += in[i];
    mean /= n;
  }
  for (uint32_t i = 0; i < n; ++i) power += (in[i] - mean) * (in[i] - mean);
  const double scale = 1 / std::sqrt(power / n + eps);
  for (uint32_t i = 0; i < n; ++i) {
    double y = (in[i] - mean) * scale;
    if (weight != nullptr) y *= weight[i];
    if (bias != nullptr) y += bias[i];
    out[i] = static_cast<float>(accumulate ? out[i] + y : y);
  }
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
            .kv_bytes = cache_.bytes(),
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

  Status create_kv_cache(const CacheLayout& layout) override { return cache_.create(layout); }
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
      const float* from = weight(op.table).row(0, static_cast<uint32_t>(to_index(batch_->tokens[r])));
      float* to = act(op.out).row(r);
      for (uint32_t i = 0; i < act(op.out).n_cols; ++i) to[i] = from[i] * op.scale;
      if (op.position_table == kNoWeight) continue;
      const float* position = weight(op.position_table).row(0, static_cast<uint32_t>(batch_->positions[r]));
      for (uint32_t i = 0; i < act(op.out).n_cols; ++i) to[i] += position[i];
    }
  }

  void run(const NormOp& op) {
    for (uint32_t r = 0; r < n_rows(op.rows); ++r) {
      normalize(act(op.in).row(r), act(op.out).row(r), act(op.in).n_cols, op.kind, op.eps, vector(op.weight),
                vector(op.bias), op.accumulate);
    }
  }

  void run(const LinearOp& op) {
    const Matrix& w = weight(op.weight);
    for (uint32_t r = 0; r < n_rows(op.rows); ++r) {
      float* out = act(op.out).row(r);
      for (uint32_t i = 0; i < w.n_rows; ++i) {
        double y = dot(w.row(0, i), act(op.in).row(r), w.n_cols);
        if (op.bias != kNoWeight) y += vector(op.bias)[i];
        y = softcapped(activated(op.activation, y) * op.scale, op.softcap);
        out[i] = static_cast<float>(op.accumulate ? out[i] + y : y);
      }
    }
  }

  void run(const GatedLinearOp& op) {
    for (uint32_t r = 0; r < batch_->n_rows(); ++r) {
      gated(0, op.gate, op.up, op.activation, act(op.in).row(r), act(op.out).row(r));
    }
  }

  void run(const RopeStoreOp& op) {
    for (const BatchSequence& seq : batch_->seqs) {
      const auto blocks = seq.block_tables.of(cache_.group_of(op.layer));
      for (uint32_t r = seq.first_row; r < seq.first_row + seq.n_rows; ++r) {
        norm_and_rotate(op, act(op.q).row(r), op.n_heads, op.q_norm, batch_->positions[r]);
        norm_and_rotate(op, act(op.k).row(r), op.n_kv_heads, op.k_norm, batch_->positions[r]);
        for (uint32_t h = 0; h < op.n_kv_heads; ++h) {
          const KvPlace place{op.layer, h, batch_->positions[r]};
          cache_.store(blocks, place, act(op.k).row(r) + h * op.head_dim, act(op.v).row(r) + h * op.head_dim);
        }
      }
    }
  }

  void run(const AttentionOp& op) {
    for (const BatchSequence& seq : batch_->seqs) {
      for (uint32_t r = seq.first_row; r < seq.first_row + seq.n_rows; ++r) {
        for (uint32_t h = 0; h < op.n_heads; ++h) attend(op, seq.block_tables.of(cache_.group_of(op.layer)), r, h);
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
        gated(expert, op.gate, op.up, op.activation, act(op.in).row(r), hidden.data());
        for (uint32_t i = 0; i < down.n_rows; ++i) {
          sum[i] += act(op.weights).row(r)[k] * dot(down.row(expert, i), hidden.data(), down.n_cols);
        }
      }
      for (uint32_t i = 0; i < down.n_rows; ++i) {
        act(op.out).row(r)[i] = static_cast<float>(act(op.out).row(r)[i] + sum[i]);
      }
    }
  }

  void run(const SelectRowsOp& op) {
    for (uint32_t i = 0; i < batch_->logit_rows.size(); ++i) {
      const float* from = act(op.in).row(batch_->logit_rows[i]);
      std::copy(from, from + act(op.in).n_cols, act(op.out).row(i));
    }
  }

  void run(const ChooseOp&) {}

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

  void gated(uint32_t mat, WeightId gate, WeightId up, Activation activation, const float* in, float* out) const {
    const Matrix &g = weight(gate), &u = weight(up);
    for (uint32_t i = 0; i < g.n_rows; ++i) {
      out[i] = static_cast<float>(activated(activation, dot(g.row(mat, i), in, g.n_cols)) *
                                  dot(u.row(mat, i), in, u.n_cols));
    }
  }

  void norm_and_rotate(const RopeStoreOp& op, float* heads, uint32_t n_heads, WeightId norm_weight, Pos pos) const {
    for (uint32_t h = 0; h < n_heads; ++h) {
      float* head = heads + size_t{h} * op.head_dim;
      if (norm_weight != kNoWeight) {
        normalize(head, head, op.head_dim, NormKind::kRms, op.norm_eps, vector(norm_weight), nullptr, false);
      }
      if (op.inv_freq != kNoWeight) rotate(head, op.n_rot, vector(op.inv_freq), pos, op.rope_scale);
    }
  }

  void attend(const AttentionOp& op, std::span<const BlockId> blocks, uint32_t r, uint32_t h) {
    const uint32_t kv_head = h / (op.n_heads / op.n_kv_heads);
    const Pos pos = batch_->positions[r];
    const Pos first = op.window > 0 ? std::max(0, pos - static_cast<Pos>(op.window) + 1) : 0;
    const float* q = act(op.q).row(r) + size_t{h} * op.head_dim;
    std::vector<double> weights;
    std::vector<float> key(op.head_dim), value(op.head_dim);
    double max = -INFINITY, sum = 0;
    for (Pos p = first; p <= pos; ++p) {
      cache_.load_key(blocks, {op.layer, kv_head, p}, key.data());
      weights.push_back(softcapped(op.scale * dot(q, key.data(), op.head_dim), op.softcap));
      max = std::max(max, weights.back());
    }
    for (double& w : weights) sum += w = std::exp(w - max);
    std::vector<double> mixed(op.head_dim);
    for (Pos p = first; p <= pos; ++p) {
      cache_.load_value(blocks, {op.layer, kv_head, p}, value.data());
      for (uint32_t i = 0; i < op.head_dim; ++i) mixed[i] += weights[static_cast<size_t>(p - first)] / sum * value[i];
    }
    float* out = act(op.out).row(r) + size_t{h} * op.head_dim;
    for (uint32_t i = 0; i < op.head_dim; ++i) out[i] = static_cast<float>(mixed[i]);
  }

  void route_row(const RouteOp& op, uint32_t r) {
    const float* logits = act(op.logits).row(r);
    const double max = *std::max_element(logits, logits + op.n_experts);
    std::vector<double> p(op.n_experts);
    double sum = 0, chosen_sum = 0;
    for (uint32_t e = 0; e < op.n_experts; ++e) sum += p[e] = std::exp(logits[e] - max);
    std::vector<uint32_t> chosen;
    for (uint32_t k = 0; k < op.n_used; ++k) {
      uint32_t best = op.n_experts;
      for (uint32_t e = 0; e < op.n_experts; ++e) {
        const bool taken = std::find(chosen.begin(), chosen.end(), e) != chosen.end();
        if (!taken && (best == op.n_experts || logits[e] > logits[best])) best = e;
      }
      chosen.push_back(best);
      chosen_sum += p[best];
    }
    const double total = op.renormalize ? chosen_sum : sum;
    for (uint32_t k = 0; k < op.n_used; ++k) {
      act(op.ids).row(r)[k] = static_cast<float>(chosen[k]);
      act(op.weights).row(r)[k] = static_cast<float>(p[chosen[k]] / total * op.scale);
    }
  }

  BackendLimits limits_;
  std::vector<Matrix> matrices_;
  std::vector<Activation2D> activations_;  // as the program that ran last has them
  std::vector<Program> programs_;
  ReferenceKvCache cache_;
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
