#include "backend/cuda/cuda_backend.h"

#include <algorithm>
#include <vector>

#include "backend/cuda/step_input.h"
#include "backend/cuda/weights.h"
#include "backend/kv_types.h"
#include "base/check.h"

namespace realizar::cuda {
namespace {

constexpr uint32_t kMaxUsedExperts = 32;  // a lane each

bool is_16_bit(Form form) {
  return form == Form::kF16 || form == Form::kBF16;
}

// Block forms alone.
bool has_groups(const Matrix& m) {
  return m.form > Form::kBF16;
}

// Device memory that grows to the largest that was asked for, before or in the first step.
class Scratch {
 public:
  Status reserve(Device& device, size_t n_bytes) {
    if (n_bytes <= n_bytes_) return {};
    RZ_TRY(memory_, device.allocate(n_bytes));
    n_bytes_ = n_bytes;
    return {};
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
  size_t n_bytes_ = 0;
};

// Rows of some width as int8.
struct QuantScratch {
  Scratch codes, scales, halves;

  Status reserve(Device& device, size_t n_rows, size_t n_cols) {
    RZ_CHECK_OK(codes.reserve(device, n_rows * n_cols + kMoreCodeBytes));
    RZ_CHECK_OK(scales.reserve(device, n_rows * n_cols / kGroupCols * sizeof(float)));
    return halves.reserve(device, n_rows * n_cols / kGroupCols * sizeof(int32_t));
  }
  QuantRows view() const { return {codes.as<uint32_t>(), scales.as<float>(), halves.as<int32_t>()}; }
};

// Rows of some width as sums of two 16-bit values.
struct SplitScratch {
  Scratch high, low, scales;

  Status reserve(Device& device, size_t n_rows, size_t n_cols) {
    const size_t row_bytes = (n_cols + kGroupCols - 1) / kGroupCols * kGroupCols * sizeof(uint16_t);
    RZ_CHECK_OK(high.reserve(device, n_rows * row_bytes));
    RZ_CHECK_OK(low.reserve(device, n_rows * row_bytes));
    return scales.reserve(device, n_rows * sizeof(float));
  }
  SplitRows view() const { return {high.as<uint32_t>(), low.as<uint32_t>(), scales.as<float>()}; }
};

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(std::unique_ptr<Device> device)
      : device_(std::move(device)), kernels_(device_->kernels()), weights_(*device_) {}

  std::string_view name() const override { return "cuda"; }
  std::string description() const override { return "cuda (" + device_->description() + ")"; }
  std::string_view arithmetic() const override { return "cuda"; }

  Status configure(const BackendLimits& limits) override {
    limits_ = limits;
    return {};
  }
  Result<WeightId> load_matrix(const MatrixSource& source) override {
    RZ_TRY(const WeightId id, weights_.add_matrix(source));
    // A matrix's columns are the width of rows that it may multiply.
    if (is_16_bit(weights_.matrix(id).form)) RZ_CHECK_OK(splits_.reserve(*device_, limits_.max_rows, source.n_cols));
    if (traits(source.type).block_elems == 1) return id;
    RZ_CHECK_OK(quants_.reserve(*device_, std::max(limits_.max_rows, limits_.max_logit_rows), source.n_cols));
    return id;
  }
  Result<WeightId> load_vector(std::span<const float> values) override { return weights_.add_vector(values); }
  Result<ActId> create_activation(uint32_t n_cols, Rows rows) override;
  Status create_kv_cache(const KvLayout& layout) override;
  size_t weight_bytes() const override { return weights_.bytes(); }
  size_t kv_bytes() const override { return 2 * kv_plane_bytes(); }

  void begin(const StepBatch& batch) override;
  void embed(const EmbedOp& op) override;
  void norm(const NormOp& op) override;
  void linear(const LinearOp& op) override;
  void gated_linear(const GatedLinearOp& op) override;
  void rope_store(const RopeStoreOp& op) override;
  void attention(const AttentionOp& op) override;
  void route(const RouteOp& op) override;
  void experts(const ExpertsOp& op) override;
  void select_rows(const SelectRowsOp& op) override;
  void submit() override {}
  Status wait() override {
    Status device_status = device_->wait();
    return status_.ok() ? std::move(device_status) : std::exchange(status_, {});
  }

  size_t block_bytes() const override { return size_t{2} * layout_.n_layers * layer_block_bytes(); }
  void read_block(BlockId id, std::span<std::byte> bytes) const override;
  void write_block(BlockId id, std::span<const std::byte> bytes) override;

  std::span<const float> read(ActId id) const override;
  void set_trace(bool) override {}
  std::span<const OpTiming> last_trace() const override { return {}; }

 private:
  struct Activation2D {
    uint32_t n_cols;
    Rows rows;
    float* values;                    // on the device
    mutable std::vector<float> copy;  // what read() gives
  };

  const Activation2D& act(ActId id) const { return activations_[static_cast<uint32_t>(id)]; }
  uint32_t n_rows(Rows rows) const { return rows == Rows::kAll ? n_rows_ : n_logit_rows_; }
  const uint32_t* n_rows_at(Rows rows) const {
    return rows == Rows::kAll ? input_.view().n_rows : input_.view().n_logit_rows;
  }
  KvView cache_of(uint32_t layer) const;
  size_t layer_block_bytes() const { return size_t{layout_.n_kv_heads} * layout_.block_tokens * vector_bytes_; }
  size_t kv_plane_bytes() const { return size_t{layout_.n_layers} * layout_.n_blocks * layer_block_bytes(); }
  // The rows of `in` as int8, where the matrix wants them so.
  QuantRows quantized(const Matrix& weight, ActId in, Rows rows);
  // The prompt's rows of `in` as sums of two values of the matrix's form, 16 bits each.
  SplitRows split(const Matrix& weight, ActId in);
  // What is known of an activation's quantized or split rows is so no longer.
  void wrote(ActId id) {
    if (id == quantized_of_) quantized_of_ = kNoAct;
    if (id == split_of_) split_of_ = kNoAct;
  }
  void multiply(const LinearArgs& args, ActId in, Rows rows, ActId out);
  void multiply_experts(const ExpertsOp& op, WeightId weight, Store store);
  void add_downs(const ExpertsOp& op);
  Status reserve_experts(const ExpertsOp& op);
  PairGroups pair_groups() const {
    return {pairs_.as<uint32_t>(), pair_starts_.as<uint32_t>(), tile_experts_.as<uint32_t>()};
  }
  Status reserve_input(const StepBatch& batch);

  std::unique_ptr<Device> device_;
  const KernelTable& kernels_;
  BackendLimits limits_;
  Weights weights_;
  std::vector<Activation2D> activations_;
  KvLayout layout_;
  size_t vector_bytes_ = 0;
  uint8_t *keys_ = nullptr, *values_ = nullptr;
  StepInput input_;
  QuantScratch quants_, hidden_quants_;
  SplitScratch splits_;
  Scratch hidden_, pairs_, pair_starts_, tile_experts_, pair_results_;
  ActId quantized_of_ = kNoAct, split_of_ = kNoAct;
  Form split_form_ = Form::kCount;
  uint32_t n_rows_ = 0, n_decode_rows_ = 0, n_logit_rows_ = 0;
  Status status_;  // of the step
};

Result<ActId> CudaBackend::create_activation(uint32_t n_cols, Rows rows) {
  const uint32_t n_rows = rows == Rows::kAll ? limits_.max_rows : limits_.max_logit_rows;
  RZ_TRY(void* memory, device_->allocate(size_t{n_rows} * n_cols * sizeof(float)));
  activations_.push_back({n_cols, rows, static_cast<float*>(memory), {}});
  return ActId{static_cast<uint32_t>(activations_.size() - 1)};
}

Status CudaBackend::create_kv_cache(const KvLayout& layout) {
  RZ_TRY(vector_bytes_, kv_vector_bytes(layout));
  if (layout.head_dim > kMaxHeadDim) {
    return unsupported("heads of " + std::to_string(layout.head_dim) +
                           " dimensions cannot be used on this device, at most " + std::to_string(kMaxHeadDim),
                       "head_dim");
  }
  RZ_CHECK_OK(kv_cache_bytes(layout));
  layout_ = layout;
  for (uint8_t** plane : {&keys_, &values_}) {
    RZ_TRY(void* memory, device_->allocate(kv_plane_bytes()));
    *plane = static_cast<uint8_t*>(memory);
  }
  return {};
}

// Where the limits name the context, the first step's reserve lasts.
Status CudaBackend::reserve_input(const StepBatch& batch) {
  size_t n_blocks = std::max(1u, (limits_.max_context + layout_.block_tokens - 1) / layout_.block_tokens);
  for (const BatchSequence& seq : batch.seqs) n_blocks = std::max(n_blocks, seq.block_table.size());
  if (n_blocks <= input_.max_blocks()) return {};
  return input_.create(*device_, limits_, static_cast<uint32_t>(n_blocks));
}

void CudaBackend::begin(const StepBatch& batch) {
  REQUIRE(batch.n_rows() <= limits_.max_rows && batch.logit_rows.size() <= limits_.max_logit_rows);
  n_rows_ = batch.n_rows();
  n_decode_rows_ = batch.n_decode_rows;
  n_logit_rows_ = static_cast<uint32_t>(batch.logit_rows.size());
  quantized_of_ = split_of_ = kNoAct;
  status_ = reserve_input(batch);
  if (!status_.ok()) return;
  input_.upload(*device_, batch);
}

void CudaBackend::embed(const EmbedOp& op) {
  if (!status_.ok()) return;
  const StepView& step = input_.view();
  float* out = act(op.out).values;
  kernels_.embed({step.n_rows, step.tokens, weights_.matrix(op.table), op.scale, false, out}, n_rows_,
                 device_->stream());
  if (op.position_table != kNoWeight) {
    kernels_.embed({step.n_rows, step.positions, weights_.matrix(op.position_table), 1, true, out}, n_rows_,
                   device_->stream());
  }
  wrote(op.out);
}

void CudaBackend::norm(const NormOp& op) {
  if (!status_.ok() || n_rows(op.rows) == 0) return;
  kernels_.norm({n_rows_at(op.rows), act(op.out).values, act(op.in).values, weights_.vector(op.weight),
                 weights_.vector(op.bias), act(op.in).n_cols, op.kind, op.eps, op.accumulate},
                n_rows(op.rows), device_->stream());
  wrote(op.out);
}

QuantRows CudaBackend::quantized(const Matrix& weight, ActId in, Rows rows) {
  if (weight.form <= Form::kBF16 || quantized_of_ == in) return quants_.view();
  kernels_.quantize({n_rows_at(rows), 1, act(in).values, weight.n_cols, quants_.view()}, n_rows(rows),
                    device_->stream());
  quantized_of_ = in;
  return quants_.view();
}

SplitRows CudaBackend::split(const Matrix& weight, ActId in) {
  if (split_of_ == in && split_form_ == weight.form) return splits_.view();
  const StepView& step = input_.view();
  kernels_.split({{step.n_decode_rows, step.n_rows}, weight.form, act(in).values, weight.n_cols, splits_.view()},
                 n_rows_ - n_decode_rows_, device_->stream());
  split_of_ = in;
  split_form_ = weight.form;
  return splits_.view();
}

// A row's arithmetic follows from its phase: decode rows and those of the logits are dots, prompt rows tiles, in the
// forms that have them.
void CudaBackend::multiply(const LinearArgs& args, ActId in, Rows rows, ActId out) {
  if (!status_.ok() || n_rows(rows) == 0) return;
  LinearArgs full = args;
  full.in = act(in).values;
  full.quants = quantized(args.weight, in, rows);
  full.out = act(out).values;
  const StepView& step = input_.view();
  const bool has_tiles = args.weight.form != Form::kF32 && rows == Rows::kAll;
  const uint32_t n_dots = has_tiles ? n_decode_rows_ : n_rows(rows);
  full.rows = {step.zero, has_tiles ? step.n_decode_rows : n_rows_at(rows)};
  const bool is_one = n_dots == 1 || args.weight.form <= Form::kBF16;
  if (n_dots > 0) (is_one ? kernels_.linear : kernels_.linear_few)(full, n_dots, device_->stream());
  full.rows = {step.n_decode_rows, step.n_rows};
  if (n_dots < n_rows(rows)) {
    const bool is_split = is_16_bit(args.weight.form);
    if (is_split) full.splits = split(args.weight, in);
    (is_split ? kernels_.linear_split : kernels_.linear_many)(full, n_rows_ - n_dots, device_->stream());
  }
  wrote(out);
}

void CudaBackend::linear(const LinearOp& op) {
  LinearArgs args{};
  args.weight = weights_.matrix(op.weight);
  args.bias = weights_.vector(op.bias);
  args.activation = op.activation;
  args.scale = op.scale;
  args.softcap = op.softcap;
  args.store = op.accumulate ? Store::kAdd : Store::kSet;
  multiply(args, op.in, op.rows, op.out);
}

void CudaBackend::gated_linear(const GatedLinearOp& op) {
  LinearArgs args{};
  args.scale = 1;
  args.weight = weights_.matrix(op.gate);
  multiply(args, op.in, Rows::kAll, op.out);
  args.weight = weights_.matrix(op.up);
  args.activation = op.activation;
  args.store = Store::kGate;
  multiply(args, op.in, Rows::kAll, op.out);
}

KvView CudaBackend::cache_of(uint32_t layer) const {
  const size_t at = size_t{layer} * layout_.n_blocks * layer_block_bytes();
  return {keys_ + at,       values_ + at,         layout_.n_kv_heads,
          layout_.head_dim, layout_.block_tokens, static_cast<uint32_t>(vector_bytes_),
          layout_.type};
}

void CudaBackend::rope_store(const RopeStoreOp& op) {
  if (!status_.ok()) return;
  RopeStoreArgs args{};
  args.step = input_.view();
  args.cache = cache_of(op.layer);
  args.q = act(op.q).values;
  args.k = act(op.k).values;
  args.v = act(op.v).values;
  args.n_heads = op.n_heads;
  args.inv_freq = weights_.vector(op.inv_freq);
  args.n_rot = op.n_rot;
  args.rope_scale = op.rope_scale;
  args.q_norm = weights_.vector(op.q_norm);
  args.k_norm = weights_.vector(op.k_norm);
  args.norm_eps = op.norm_eps;
  kernels_.rope_store(args, n_rows_, device_->stream());
  wrote(op.q);
  wrote(op.k);
}

void CudaBackend::attention(const AttentionOp& op) {
  if (!status_.ok()) return;
  kernels_.attention({input_.view(), cache_of(op.layer), act(op.out).values, act(op.q).values, op.n_heads, op.scale,
                      op.softcap, op.window},
                     n_rows_, device_->stream());
  wrote(op.out);
}

void CudaBackend::route(const RouteOp& op) {
  if (!status_.ok()) return;
  if (op.n_experts > kMaxExperts || op.n_used > kMaxUsedExperts) {
    status_ = unsupported("expected at most " + std::to_string(kMaxExperts) + " experts, " +
                              std::to_string(kMaxUsedExperts) + " a token, on this device",
                          "n_experts");
    return;
  }
  kernels_.route({n_rows_at(Rows::kAll), act(op.logits).values, act(op.weights).values, act(op.ids).values,
                  op.n_experts, op.n_used, op.renormalize, op.scale},
                 n_rows_, device_->stream());
}

Status CudaBackend::reserve_experts(const ExpertsOp& op) {
  const size_t n_pairs = size_t{limits_.max_rows} * op.n_used;
  const Matrix &gate = weights_.matrix(op.gate), &down = weights_.matrix(op.down);
  const uint32_t d_ff = gate.n_rows, n_experts = gate.n_mats;
  RZ_CHECK_OK(hidden_.reserve(*device_, n_pairs * d_ff * sizeof(float)));
  RZ_CHECK_OK(hidden_quants_.reserve(*device_, n_pairs, (d_ff + kGroupCols - 1) / kGroupCols * kGroupCols));
  RZ_CHECK_OK(pairs_.reserve(*device_, n_pairs * sizeof(uint32_t)));
  RZ_CHECK_OK(pair_starts_.reserve(*device_, (n_experts + 1) * sizeof(uint32_t)));
  RZ_CHECK_OK(tile_experts_.reserve(*device_, (n_pairs / kTileRows + n_experts) * sizeof(uint32_t)));
  if (!has_groups(down)) return {};
  return pair_results_.reserve(*device_, n_pairs * down.n_rows * sizeof(float));
}

// The products of the gates or the ups: pairs of decode rows are dots; those of prompt rows tiles, in block forms.
void CudaBackend::multiply_experts(const ExpertsOp& op, WeightId weight, Store store) {
  const Matrix& matrix = weights_.matrix(weight);
  const QuantRows quants = quantized(matrix, op.in, Rows::kAll);
  const StepView& step = input_.view();
  const uint32_t n_dots = has_groups(matrix) ? n_decode_rows_ : n_rows_;
  const RowRange dots{step.zero, has_groups(matrix) ? step.n_decode_rows : step.n_rows};
  if (n_dots > 0) {
    kernels_.experts_hidden({dots, matrix, act(op.in).values, quants, act(op.ids).values, op.n_used, op.activation,
                             store, hidden_.as<float>()},
                            n_dots, device_->stream());
  }
  if (n_dots == n_rows_) return;
  LinearArgs args{};
  args.weight = matrix;
  args.quants = quants;
  args.out = hidden_.as<float>();
  args.activation = store == Store::kGate ? op.activation : Activation::kNone;
  args.scale = 1;
  args.store = store;
  args.groups = pair_groups();
  args.pairs_each = op.n_used;
  kernels_.linear_many(args, (n_rows_ - n_dots) * op.n_used, device_->stream());
}

// out += the downs' products, weighed.
void CudaBackend::add_downs(const ExpertsOp& op) {
  const Matrix& down = weights_.matrix(op.down);
  const StepView& step = input_.view();
  if (down.form > Form::kBF16) {
    kernels_.quantize({step.n_rows, op.n_used, hidden_.as<float>(), down.n_cols, hidden_quants_.view()}, n_rows_,
                      device_->stream());
  }
  const uint32_t n_dots = has_groups(down) ? n_decode_rows_ : n_rows_;
  const RowRange dots{step.zero, has_groups(down) ? step.n_decode_rows : step.n_rows};
  if (n_dots > 0) {
    kernels_.experts_down({dots, down, hidden_.as<float>(), hidden_quants_.view(), act(op.weights).values,
                           act(op.ids).values, op.n_used, act(op.out).values},
                          n_dots, device_->stream());
  }
  if (n_dots == n_rows_) return;
  LinearArgs args{};
  args.weight = down;
  args.quants = hidden_quants_.view();
  args.out = pair_results_.as<float>();
  args.scale = 1;
  args.groups = pair_groups();
  args.pairs_each = 1;
  kernels_.linear_many(args, (n_rows_ - n_dots) * op.n_used, device_->stream());
  kernels_.experts_sum({{step.n_decode_rows, step.n_rows},
                        pair_results_.as<float>(),
                        act(op.weights).values,
                        op.n_used,
                        down.n_rows,
                        act(op.out).values},
                       n_rows_ - n_dots, device_->stream());
}

void CudaBackend::experts(const ExpertsOp& op) {
  if (!status_.ok()) return;
  status_ = reserve_experts(op);
  if (!status_.ok()) return;
  if (n_decode_rows_ < n_rows_) {
    const StepView& step = input_.view();
    kernels_.group_pairs({{step.n_decode_rows, step.n_rows},
                          act(op.ids).values,
                          op.n_used,
                          weights_.matrix(op.gate).n_mats,
                          pair_groups()},
                         device_->stream());
  }
  multiply_experts(op, op.gate, Store::kSet);
  multiply_experts(op, op.up, Store::kGate);
  add_downs(op);
  wrote(op.out);
}

void CudaBackend::select_rows(const SelectRowsOp& op) {
  if (!status_.ok() || n_logit_rows_ == 0) return;
  kernels_.select_rows({input_.view(), act(op.in).values, act(op.out).values, act(op.in).n_cols}, n_logit_rows_,
                       device_->stream());
  wrote(op.out);
}

std::span<const float> CudaBackend::read(ActId id) const {
  const Activation2D& a = act(id);
  const size_t n = size_t{n_rows(a.rows)} * a.n_cols;
  if (a.copy.size() < n) a.copy.resize(n);
  device_->download(a.copy.data(), a.values, n * sizeof(float));
  // A failure shows at the next wait: it is not this call's to report.
  static_cast<void>(device_->wait());
  return {a.copy.data(), n};
}

void CudaBackend::read_block(BlockId id, std::span<std::byte> bytes) const {
  std::byte* to = bytes.data();
  for (uint32_t layer = 0; layer < layout_.n_layers; ++layer) {
    const size_t at = (size_t{layer} * layout_.n_blocks + to_index(id)) * layer_block_bytes();
    device_->download(to, keys_ + at, layer_block_bytes());
    device_->download(to + layer_block_bytes(), values_ + at, layer_block_bytes());
    to += 2 * layer_block_bytes();
  }
  static_cast<void>(device_->wait());
}

void CudaBackend::write_block(BlockId id, std::span<const std::byte> bytes) {
  const std::byte* from = bytes.data();
  for (uint32_t layer = 0; layer < layout_.n_layers; ++layer) {
    const size_t at = (size_t{layer} * layout_.n_blocks + to_index(id)) * layer_block_bytes();
    device_->upload(keys_ + at, from, layer_block_bytes());
    device_->upload(values_ + at, from + layer_block_bytes(), layer_block_bytes());
    from += 2 * layer_block_bytes();
  }
  static_cast<void>(device_->wait());
}

}  // namespace

std::unique_ptr<Backend> make_backend(std::unique_ptr<Device> device) {
  return std::make_unique<CudaBackend>(std::move(device));
}

}  // namespace realizar::cuda
