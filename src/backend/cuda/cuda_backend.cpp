#include "backend/cuda/cuda_backend.h"

#include <algorithm>
#include <thread>

#include "backend/cuda/device_choice.h"
#include "backend/cuda/layer_split.h"
#include "backend/cuda/rank.h"
#include "backend/cuda/stages.h"
#include "base/check.h"

namespace realizar::cuda {
namespace {

constexpr uint32_t kMaxPackers = 16;

// By the one thread that writes it.
void add(std::atomic<uint64_t>& counter, uint64_t n) {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::vector<std::unique_ptr<Device>> devices, const CudaOptions& options);

  std::string_view name() const override { return "cuda"; }
  std::string description() const override;
  std::string_view arithmetic() const override { return arithmetic_; }

  Status configure(const BackendLimits& limits) override;
  Result<WeightId> load_matrix(const MatrixSource& source) override;
  Result<WeightId> load_vector(std::span<const float> values, int32_t layer) override;
  Result<ActId> create_activation(uint32_t n_cols, Rows rows) override;
  Status create_kv_cache(const KvLayout& layout) override;
  size_t weight_bytes() const override {
    return sum_of([](const Rank& rank) { return rank.weights().bytes(); });
  }
  size_t kv_bytes() const override {
    return sum_of([](const Rank& rank) { return 2 * rank.runner().kv_plane_bytes(); });
  }

  void begin(const StepBatch& batch) override;
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

  size_t block_bytes() const override { return size_t{2} * layout_.n_layers * layer_block_bytes(); }
  void read_block(BlockId id, std::span<std::byte> bytes) const override;
  void write_block(BlockId id, std::span<const std::byte> bytes) override;
  std::span<std::byte> allocate_host(size_t n_bytes) override;
  void save_block(BlockId id, std::span<std::byte> bytes) const override;
  void restore_block(BlockId id, std::span<const std::byte> bytes) override;

  std::span<const float> read(ActId id) const override { return ranks_[stages_.rank_of(id)]->runner().read(id); }
  std::span<const TokenId> chosen() const override { return ranks_[stages_.last_rank()]->runner().chosen(); }
  void set_trace(bool on) override { is_traced_ = on; }
  std::span<const OpTiming> last_trace() const override { return trace_.timings(); }
  bool is_lost() const override {
    return std::ranges::any_of(ranks_, [](const auto& rank) { return rank->device().is_lost(); });
  }
  const DeviceCounters* counters() const override { return &counters_; }

 private:
  // Where a weight is.
  static constexpr uint32_t kEverywhere = 0xffffffffu;

  template <class Of>
  size_t sum_of(const Of& of) const {
    size_t sum = 0;
    for (const auto& rank : ranks_) sum += of(*rank);
    return sum;
  }
  uint32_t n_streamed_layers() const {
    return static_cast<uint32_t>(sum_of([](const Rank& rank) { return rank.weights().n_streamed_layers(); }));
  }
  size_t layer_block_bytes() const { return ranks_.front()->runner().layer_block_bytes(); }

  void share_layers();
  uint32_t rank_of_layer(uint32_t layer) const;
  uint32_t n_layers_of(size_t rank) const { return end_layers_[rank] - (rank == 0 ? 0 : end_layers_[rank - 1]); }
  std::string name_arithmetic() const;
  template <class AddTo>
  Result<WeightId> add_weight(uint32_t place, const AddTo& add_to);
  std::optional<uint32_t> rank_of_weight(WeightId id) const;
  std::optional<uint32_t> rank_of(const Command& command) const;
  void append(const Command& command);

  Status prepare(const StepShape& shape);
  void bring(const Stage& stage);
  Status run_stages(const StepShape& shape, bool is_recorded);
  std::span<const Command> commands_of(const Stage& stage) const {
    return std::span(commands_).subspan(stage.first_command, stage.end_command - stage.first_command);
  }
  template <class Visit>
  void for_each_part(BlockId id, const Visit& visit) const;
  Status wait_for_all() const;

  CudaOptions options_;
  ThreadTeam packers_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<uint64_t> room_bytes_;     // of each device, for weights and cache
  std::vector<uint32_t> end_layers_;     // of each device; empty: not shared out yet
  std::vector<uint32_t> weight_places_;  // rank, or kEverywhere
  BackendLimits limits_;
  KvLayout layout_;
  std::string arithmetic_;
  DeviceCounters counters_;
  StepTrace trace_;
  bool is_traced_ = false;
  const StepBatch* batch_ = nullptr;
  std::vector<Command> commands_;
  Stages stages_;
  Status status_;  // of the step
};

CudaBackend::CudaBackend(std::vector<std::unique_ptr<Device>> devices, const CudaOptions& options)
    : options_(options),
      packers_(std::clamp(std::thread::hardware_concurrency(), 1u, kMaxPackers)),
      stages_(devices.size()) {
  REQUIRE(!devices.empty());
  for (auto& device : devices) {
    room_bytes_.push_back(room_on(*device, options));
    ranks_.push_back(std::make_unique<Rank>(std::move(device), packers_));
  }
}

std::string CudaBackend::description() const {
  std::string text;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (i > 0) text += "; ";
    text += ranks_[i]->device().description();
    if (ranks_.size() > 1 && !end_layers_.empty()) text += ": " + std::to_string(n_layers_of(i)) + " layers";
  }
  const uint32_t n_streamed = n_streamed_layers();
  if (n_streamed > 0) text += ", " + std::to_string(n_streamed) + " layers streamed from the host's memory";
  return "cuda (" + text + ")";
}

// Tensor cores of different generations round differently; where the layers lie changes nothing.
std::string CudaBackend::name_arithmetic() const {
  std::string text = "cuda";
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const std::string device = ranks_[i]->device().description();
    const bool is_new = i == 0 || device != ranks_[i - 1]->device().description();
    if (is_new && i > 0) text += " up to layer " + std::to_string(end_layers_[i - 1]);
    if (is_new) text += ", " + device;
  }
  return text;
}

Status CudaBackend::configure(const BackendLimits& limits) {
  limits_ = limits;
  commands_.reserve(limits.max_commands);
  stages_.reserve(limits.max_commands);
  for (const auto& rank : ranks_) rank->runner().configure(limits);
  return {};
}

// Once it is known what the weights of no layer take.
void CudaBackend::share_layers() {
  const uint32_t n_layers = std::max(1u, options_.n_layers);
  const uint64_t no_layer = ranks_.front()->weights().bytes();
  const uint64_t layer_weights = (options_.weight_bytes - std::min(no_layer, options_.weight_bytes)) / n_layers;
  const uint64_t layer_cache = options_.kv_bytes / n_layers;
  const auto counts = split_layers({no_layer, layer_weights + layer_cache, n_layers}, room_bytes_);
  uint32_t end = 0;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    end_layers_.push_back(end += counts[i]);
    const uint64_t cache_bytes = std::min(counts[i] * layer_cache, room_bytes_[i]);
    const uint64_t n_bytes = room_bytes_[i] - cache_bytes;
    const uint64_t wanted = (i == 0 ? no_layer : 0) + counts[i] * layer_weights;
    ranks_[i]->weights().set_room({n_bytes, options_.weight_bytes > 0 && wanted <= n_bytes, options_.n_gpu_layers});
  }
}

uint32_t CudaBackend::rank_of_layer(uint32_t layer) const {
  const auto last = end_layers_.end() - 1;
  return static_cast<uint32_t>(std::upper_bound(end_layers_.begin(), last, layer) - end_layers_.begin());
}

// Has one id on all devices, also where the weight is not.
template <class AddTo>
Result<WeightId> CudaBackend::add_weight(uint32_t place, const AddTo& add_to) {
  WeightId id = kNoWeight;
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    if (place != kEverywhere && place != i) {
      id = ranks_[i]->weights().add_absent();
      continue;
    }
    RZ_TRY(id, add_to(ranks_[i]->weights()));
  }
  weight_places_.push_back(place);
  return id;
}

Result<WeightId> CudaBackend::load_matrix(const MatrixSource& source) {
  if (source.layer >= 0 && end_layers_.empty()) share_layers();
  const uint32_t place = source.layer < 0 ? 0 : rank_of_layer(static_cast<uint32_t>(source.layer));
  return add_weight(place, [&](Weights& weights) { return weights.add_matrix(source); });
}

Result<WeightId> CudaBackend::load_vector(std::span<const float> values, int32_t layer) {
  if (layer >= 0 && end_layers_.empty()) share_layers();
  const uint32_t place = layer < 0 ? kEverywhere : rank_of_layer(static_cast<uint32_t>(layer));
  return add_weight(place, [&](Weights& weights) { return weights.add_vector(values); });
}

Result<ActId> CudaBackend::create_activation(uint32_t n_cols, Rows rows) {
  ActId id = kNoAct;
  for (const auto& rank : ranks_) {
    RZ_TRY(id, rank->runner().create_activation(n_cols, rows));
  }
  stages_.add_activation();
  return id;
}

Status CudaBackend::create_kv_cache(const KvLayout& layout) {
  if (end_layers_.empty()) share_layers();
  layout_ = layout;
  end_layers_.back() = layout.n_layers;
  arithmetic_ = name_arithmetic();
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    RZ_CHECK_OK(ranks_[i]->weights().finish());
    KvLayout own = layout;
    own.n_layers = n_layers_of(i);
    RZ_CHECK_OK(ranks_[i]->runner().create_kv_cache(own, end_layers_[i] - own.n_layers));
  }
  return {};
}

void CudaBackend::begin(const StepBatch& batch) {
  batch_ = &batch;
  commands_.clear();
  stages_.begin_step();
}

void CudaBackend::append(const Command& command) {
  stages_.add(command, rank_of(command));
  commands_.push_back(command);
}

std::optional<uint32_t> CudaBackend::rank_of_weight(WeightId id) const {
  const uint32_t place = id == kNoWeight ? kEverywhere : weight_places_[static_cast<uint32_t>(id)];
  return place == kEverywhere ? std::nullopt : std::optional(place);
}

std::optional<uint32_t> CudaBackend::rank_of(const Command& command) const {
  if (const auto* embed = std::get_if<EmbedOp>(&command)) return rank_of_weight(embed->table);
  if (const auto* norm = std::get_if<NormOp>(&command)) return rank_of_weight(norm->weight);
  if (const auto* linear = std::get_if<LinearOp>(&command)) return rank_of_weight(linear->weight);
  if (const auto* gated = std::get_if<GatedLinearOp>(&command)) return rank_of_weight(gated->gate);
  if (const auto* experts = std::get_if<ExpertsOp>(&command)) return rank_of_weight(experts->gate);
  if (const auto* rope = std::get_if<RopeStoreOp>(&command)) return rank_of_layer(rope->layer);
  if (const auto* attention = std::get_if<AttentionOp>(&command)) return rank_of_layer(attention->layer);
  return std::nullopt;
}

// What chooses tokens is a step's last command.
Status CudaBackend::prepare(const StepShape& shape) {
  for (const Stage& stage : stages_.all()) {
    RZ_CHECK_OK(ranks_[stage.rank]->runner().reserve_for(commands_of(stage), shape));
  }
  StepBatch without_choices = *batch_;
  without_choices.choices = {};
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    RZ_CHECK_OK(ranks_[i]->begin(i == stages_.last_rank() ? *batch_ : without_choices));
  }
  return {};
}

// The activations that the stage reads and other devices have.
void CudaBackend::bring(const Stage& stage) {
  for (const Crossing& crossing : stages_.crossings(stage)) {
    Rank &to = *ranks_[stage.rank], &from = *ranks_[crossing.from_rank];
    const std::span<float> rows = to.runner().rows_of(crossing.act);
    if (rows.empty()) continue;
    to.device().receive(rows.data(), from.device(), from.runner().rows_of(crossing.act).data(), rows.size_bytes());
  }
}

Status CudaBackend::run_stages(const StepShape& shape, bool is_recorded) {
  bool has_captured = false;
  for (const Stage& stage : stages_.all()) {
    Rank& rank = *ranks_[stage.rank];
    bring(stage);
    rank.device().attach();
    if (is_recorded) {
      RZ_TRY(const bool is_new, rank.replay(commands_of(stage), shape));
      has_captured = has_captured || is_new;
      continue;
    }
    if (is_traced_) trace_.enter(rank.device(), rank.weights());
    rank.launch(commands_of(stage), shape, is_traced_ ? &trace_ : nullptr);
  }
  add(counters_.n_captures, has_captured ? 1 : 0);
  return {};
}

// Steps of decode rows alone come again and again in few shapes; a prompt's are launched one by one, and so are those
// that are traced or wait for layers in between.
void CudaBackend::submit() {
  const StepShape exact = StepRunner::shape_of(*batch_);
  const bool is_decode = exact.n_decode_rows == exact.n_rows && exact.n_rows > 0;
  const bool is_recorded = is_decode && !is_traced_ && n_streamed_layers() == 0;
  const StepShape shape = is_recorded ? shared_shape(exact, limits_) : exact;
  status_ = prepare(shape);
  if (!status_.ok()) return;
  if (is_traced_) trace_.begin(*batch_, layout_);
  status_ = run_stages(shape, is_recorded);
  if (!status_.ok()) return;
  if (is_recorded) {
    add(counters_.n_replays, 1);
  } else {
    add(counters_.n_launches, commands_.size());
    add(counters_.n_streamed_bytes, sum_of([](const Rank& rank) { return rank.weights().streamed_bytes(); }));
  }
  ranks_[stages_.last_rank()]->runner().download_chosen();
}

Status CudaBackend::wait_for_all() const {
  Status first;
  for (const auto& rank : ranks_) {
    Status status = rank->device().wait();
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status CudaBackend::wait() {
  Status device_status = wait_for_all();
  if (is_traced_ && device_status.ok() && status_.ok()) trace_.finish();
  return status_.ok() ? std::move(device_status) : std::exchange(status_, {});
}

// What one device has pinned, all can read.
std::span<std::byte> CudaBackend::allocate_host(size_t n_bytes) {
  const auto memory = ranks_.front()->device().allocate_pinned(n_bytes);
  if (!memory.ok()) return {};
  return {static_cast<std::byte*>(*memory), n_bytes};
}

// Calls visit(device, place on it, offset in the block's bytes, n_bytes) for every part of a block.
template <class Visit>
void CudaBackend::for_each_part(BlockId id, const Visit& visit) const {
  const size_t n_bytes = layer_block_bytes();
  size_t offset = 0;
  for (uint32_t layer = 0; layer < layout_.n_layers; ++layer) {
    Rank& rank = *ranks_[rank_of_layer(layer)];
    for (const bool is_value : {false, true}) {
      visit(rank.device(), rank.runner().block_at(is_value, layer, id), offset, n_bytes);
      offset += n_bytes;
    }
  }
}

void CudaBackend::save_block(BlockId id, std::span<std::byte> bytes) const {
  for_each_part(id, [&](Device& device, const void* part, size_t offset, size_t n_bytes) {
    device.download(bytes.data() + offset, part, n_bytes);
  });
}

void CudaBackend::restore_block(BlockId id, std::span<const std::byte> bytes) {
  for_each_part(id, [&](Device& device, void* part, size_t offset, size_t n_bytes) {
    device.upload(part, bytes.data() + offset, n_bytes);
  });
}

// A failure shows at the next step's wait.
void CudaBackend::read_block(BlockId id, std::span<std::byte> bytes) const {
  save_block(id, bytes);
  static_cast<void>(wait_for_all());
}

void CudaBackend::write_block(BlockId id, std::span<const std::byte> bytes) {
  restore_block(id, bytes);
  static_cast<void>(wait_for_all());
}

}  // namespace

std::unique_ptr<Backend> make_backend(std::vector<std::unique_ptr<Device>> devices, const CudaOptions& options) {
  return std::make_unique<CudaBackend>(std::move(devices), options);
}

}  // namespace realizar::cuda
