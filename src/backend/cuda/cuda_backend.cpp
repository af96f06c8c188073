#include "backend/cuda/cuda_backend.h"

#include <algorithm>
#include <vector>

#include "backend/cuda/graph_cache.h"
#include "backend/cuda/step_runner.h"
#include "backend/cuda/step_trace.h"
#include "backend/cuda/weights.h"

namespace realizar::cuda {
namespace {

// By the one thread that writes it.
void add(std::atomic<uint64_t>& counter, uint64_t n) {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::unique_ptr<Device> device, const CudaOptions& options)
      : device_(std::move(device)),
        weights_(*device_, options),
        runner_(*device_, weights_),
        graphs_(*device_),
        trace_(*device_, weights_),
        arithmetic_("cuda, " + device_->description()) {}

  std::string_view name() const override { return "cuda"; }
  std::string description() const override;
  // Tensor cores of different generations round differently.
  std::string_view arithmetic() const override { return arithmetic_; }

  Status configure(const BackendLimits& limits) override {
    commands_.reserve(limits.max_commands);
    runner_.configure(limits);
    return {};
  }
  Result<WeightId> load_matrix(const MatrixSource& source) override { return weights_.add_matrix(source); }
  Result<WeightId> load_vector(std::span<const float> values) override { return weights_.add_vector(values); }
  Result<ActId> create_activation(uint32_t n_cols, Rows rows) override {
    return runner_.create_activation(n_cols, rows);
  }
  Status create_kv_cache(const KvLayout& layout) override {
    RZ_CHECK_OK(weights_.finish());
    return runner_.create_kv_cache(layout);
  }
  size_t weight_bytes() const override { return weights_.bytes(); }
  size_t kv_bytes() const override { return 2 * runner_.kv_plane_bytes(); }

  void begin(const StepBatch& batch) override {
    batch_ = &batch;
    commands_.clear();
  }
  void embed(const EmbedOp& op) override { append(op); }
  void norm(const NormOp& op) override { append(op); }
  void linear(const LinearOp& op) override { append(op); }
  void gated_linear(const GatedLinearOp& op) override { append(op); }
  void rope_store(const RopeStoreOp& op) override { append(op); }
  void attention(const AttentionOp& op) override { append(op); }
  void route(const RouteOp& op) override { append(op); }
  void experts(const ExpertsOp& op) override { append(op); }
  void select_rows(const SelectRowsOp& op) override { append(op); }
  bool can_choose(const TokenChoice& choice) const override { return ChoiceInput::can_choose(choice); }
  void choose(const ChooseOp& op) override { append(op); }
  void submit() override;
  Status wait() override;

  size_t block_bytes() const override { return size_t{2} * runner_.layout().n_layers * runner_.layer_block_bytes(); }
  void read_block(BlockId id, std::span<std::byte> bytes) const override;
  void write_block(BlockId id, std::span<const std::byte> bytes) override;
  std::span<std::byte> allocate_host(size_t n_bytes) override;
  void save_block(BlockId id, std::span<std::byte> bytes) const override;
  void restore_block(BlockId id, std::span<const std::byte> bytes) override;

  std::span<const float> read(ActId id) const override { return runner_.read(id); }
  std::span<const TokenId> chosen() const override { return runner_.chosen(); }
  void set_trace(bool on) override { is_traced_ = on; }
  std::span<const OpTiming> last_trace() const override { return trace_.timings(); }
  bool is_lost() const override { return device_->is_lost(); }
  const DeviceCounters* counters() const override { return &counters_; }

 private:
  void append(const Command& command) { commands_.push_back(command); }
  template <class Visit>
  void for_each_part(BlockId id, const Visit& visit) const;
  Status prepare(const StepShape& shape);
  std::optional<uint32_t> streamed_layer_of(const Command& command) const;
  void launch_all(const StepShape& shape);
  void launch_one(size_t idx);
  Status replay_or_record(const StepShape& shape);

  std::unique_ptr<Device> device_;
  Weights weights_;
  mutable StepRunner runner_;
  GraphCache graphs_;
  StepTrace trace_;
  std::string arithmetic_;
  DeviceCounters counters_;
  bool is_traced_ = false;
  uint32_t n_known_moves_ = 0;
  const StepBatch* batch_ = nullptr;
  std::vector<Command> commands_;
  Status status_;  // of the step
};

Status CudaBackend::prepare(const StepShape& shape) {
  RZ_CHECK_OK(runner_.reserve_for(commands_, shape));
  RZ_CHECK_OK(runner_.begin(*batch_));
  if (runner_.n_moves() != n_known_moves_) graphs_.forget_all();
  n_known_moves_ = runner_.n_moves();
  return {};
}

std::string CudaBackend::description() const {
  std::string text = "cuda (" + device_->description();
  const uint32_t n_streamed = weights_.n_streamed_layers();
  if (n_streamed > 0) text += ", " + std::to_string(n_streamed) + " layers streamed from the host's memory";
  return text + ")";
}

void CudaBackend::launch_one(size_t idx) {
  runner_.run(std::span(commands_).subspan(idx));
  if (is_traced_) trace_.note(commands_[idx]);
}

std::optional<uint32_t> CudaBackend::streamed_layer_of(const Command& command) const {
  const auto first_streamed = [this](std::initializer_list<WeightId> ids) {
    std::optional<uint32_t> layer;
    for (const WeightId id : ids) layer = layer ? layer : weights_.streamed_layer(id);
    return layer;
  };
  if (const auto* linear = std::get_if<LinearOp>(&command)) return first_streamed({linear->weight});
  if (const auto* gated = std::get_if<GatedLinearOp>(&command)) return first_streamed({gated->gate, gated->up});
  if (const auto* experts = std::get_if<ExpertsOp>(&command)) {
    return first_streamed({experts->gate, experts->up, experts->down});
  }
  return std::nullopt;
}

// Operations that need no streamed weights may run within a streamed layer as well as between two.
void CudaBackend::launch_all(const StepShape& shape) {
  runner_.begin_launches(shape);
  std::optional<uint32_t> current;
  for (size_t i = 0; i < commands_.size(); ++i) {
    const auto layer = streamed_layer_of(commands_[i]);
    if (layer && layer != current) {
      if (current) weights_.stream().leave(*current);
      weights_.stream().enter(*layer);
      current = layer;
    }
    launch_one(i);
  }
  if (current) weights_.stream().leave(*current);
}

Status CudaBackend::replay_or_record(const StepShape& shape) {
  auto graph = graphs_.find(shape, commands_);
  if (!graph) {
    device_->begin_capture();
    launch_all(shape);
    RZ_TRY(graph, device_->end_capture());
    graphs_.keep(shape, commands_, *graph);
    add(counters_.n_captures, 1);
  }
  device_->replay(*graph);
  add(counters_.n_replays, 1);
  return {};
}

// Steps of decode rows alone come again and again in few shapes; a prompt's are launched one by one, and so are those
// that are traced or wait for layers in between.
void CudaBackend::submit() {
  const StepShape exact = StepRunner::shape_of(*batch_);
  const bool is_decode = exact.n_decode_rows == exact.n_rows && exact.n_rows > 0;
  const bool is_recorded = is_decode && !is_traced_ && weights_.n_streamed_layers() == 0;
  const StepShape shape = is_recorded ? shared_shape(exact, runner_.limits()) : exact;
  status_ = prepare(shape);
  if (!status_.ok()) return;
  if (is_recorded) {
    status_ = replay_or_record(shape);
  } else {
    if (is_traced_) trace_.begin(*batch_, runner_.layout());
    launch_all(shape);
    add(counters_.n_launches, commands_.size());
    add(counters_.n_streamed_bytes, weights_.streamed_bytes());
  }
  runner_.download_chosen();
}

Status CudaBackend::wait() {
  Status device_status = device_->wait();
  if (is_traced_ && device_status.ok() && status_.ok()) trace_.finish();
  return status_.ok() ? std::move(device_status) : std::exchange(status_, {});
}

std::span<std::byte> CudaBackend::allocate_host(size_t n_bytes) {
  const auto memory = device_->allocate_pinned(n_bytes);
  if (!memory.ok()) return {};
  return {static_cast<std::byte*>(*memory), n_bytes};
}

// Calls visit(place on the device, offset in the block's bytes, n_bytes) for every part of a block.
template <class Visit>
void CudaBackend::for_each_part(BlockId id, const Visit& visit) const {
  const size_t n_bytes = runner_.layer_block_bytes();
  size_t offset = 0;
  for (uint32_t layer = 0; layer < runner_.layout().n_layers; ++layer) {
    for (const bool is_value : {false, true}) {
      visit(runner_.block_at(is_value, layer, id), offset, n_bytes);
      offset += n_bytes;
    }
  }
}

void CudaBackend::save_block(BlockId id, std::span<std::byte> bytes) const {
  for_each_part(id, [&](const void* part, size_t offset, size_t n_bytes) {
    device_->download(bytes.data() + offset, part, n_bytes);
  });
}

void CudaBackend::restore_block(BlockId id, std::span<const std::byte> bytes) {
  for_each_part(
      id, [&](void* part, size_t offset, size_t n_bytes) { device_->upload(part, bytes.data() + offset, n_bytes); });
}

// A failure shows at the next step's wait.
void CudaBackend::read_block(BlockId id, std::span<std::byte> bytes) const {
  save_block(id, bytes);
  static_cast<void>(device_->wait());
}

void CudaBackend::write_block(BlockId id, std::span<const std::byte> bytes) {
  restore_block(id, bytes);
  static_cast<void>(device_->wait());
}

}  // namespace

std::unique_ptr<Backend> make_backend(std::unique_ptr<Device> device, const CudaOptions& options) {
  return std::make_unique<CudaBackend>(std::move(device), options);
}

}  // namespace realizar::cuda
