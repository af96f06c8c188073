#include "backend/cuda/cuda_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "backend/cuda/compile/bounds.h"
#include "backend/cuda/compile/step_commands.h"
#include "backend/cuda/device/process_exchange.h"
#include "backend/cuda/device_choice.h"
#include "backend/cuda/step/rank.h"
#include "backend/cuda/weights/layer_split.h"
#include "backend/cuda/weights/matrix_part.h"
#include "base/check.h"
#include "base/try.h"

namespace realizar::cuda {
namespace {

constexpr uint32_t kMaxPackers = 16;

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::vector<std::unique_ptr<Device>> devices, const CudaOptions& options,
              std::unique_ptr<DeviceExchange> exchange);

  Status configure(const BackendLimits& limits) override;
  Result<WeightId> load_matrix(const MatrixSource& source) override;
  Result<WeightId> load_vector(std::span<const float> values, int32_t layer) override;
  Status write_weights(WeightId id, size_t first_row, std::span<const float> values) override;
  Status create_kv_cache(const CacheLayout& layout) override;
  Status check(const Program& program) const override {
    return check_bounds(program, {placement_.n_ranks(), placement_.is_shared(), processes_ != nullptr});
  }
  Result<ProgramId> compile(const Program& program) override;
  void run(ProgramId id, const StepBatch& batch) override;
  Status wait() override;
  std::span<const float> read(ActId id) const override { return ranks_[stages().rank_of(id)]->memory().read(id); }
  std::span<const TokenId> chosen() const override { return ranks_[stages().last_rank()]->memory().chosen(); }
  bool can_choose(const TokenChoice& choice) const override { return ChoiceInput::can_choose(choice); }

  size_t block_bytes() const override { return block_bytes_; }
  void read_block(BlockId id, std::span<std::byte> bytes) const override;
  void write_block(BlockId id, std::span<const std::byte> bytes) override;
  void copy_block(BlockId from, BlockId to) override;
  void zero_block(BlockId id) override;
  void read_kv(uint32_t layer, BlockId id, std::span<float> keys, std::span<float> values) const override;
  std::span<std::byte> allocate_host(size_t n_bytes) override;
  void save_block(BlockId id, std::span<std::byte> bytes) const override;
  void restore_block(BlockId id, std::span<const std::byte> bytes) override;

  size_t state_bytes() const override;
  void read_state(StateId id, std::span<std::byte> bytes) const override;
  void write_state(StateId id, std::span<const std::byte> bytes) override;
  void zero_state(StateId id) override;

  BackendInfo info() const override;
  void set_trace(bool on) override { is_traced_ = on; }
  std::span<const OpTiming> last_trace() const override { return trace_.timings(); }
  bool is_lost() const override {
    const bool is_cut_off = exchange() != nullptr && exchange()->is_lost();
    return is_cut_off || has_left_step_ ||
           std::ranges::any_of(ranks_, [](const auto& rank) { return rank->device().is_lost(); });
  }

 private:
  uint32_t n_streamed_layers() const {
    uint32_t n = 0;
    for (const auto& rank : ranks_) n += rank->weights().n_streamed_layers();
    return n;
  }
  // A compiled program.
  struct Compiled {
    ProgramId id;
    ActLayout acts;
    StepCommands commands;
    std::vector<DeviceProgram> devices;
  };
  // For the current or last program.
  const StepCommands& commands() const { return running_->commands; }
  const Stages& stages() const { return commands().stages(); }

  // A device's share of the layers, and its room for weights.
  struct LayerShare {
    uint32_t n_layers;
    uint64_t n_bytes;
    bool fits;  // known to fit
  };
  std::vector<LayerShare> layer_shares(uint64_t no_layer, uint64_t on_host) const;
  void share_layers();
  Weights::Home home_of(const MatrixSource& source) const;
  std::string name_arithmetic() const;
  template <class AddTo>
  Result<WeightId> add_weight(uint32_t place, const AddTo& add_to);
  std::string description() const;
  DeviceProgram plan_on(uint32_t rank, const StepCommands& commands) const;
  void begin(const StepShape& shape);
  void receive_activations(const Stage& stage);
  Status run_stages(const StepShape& shape, bool is_recorded);
  Status run_stage(size_t stage_idx, uint32_t rank_idx, const StepShape& shape, bool is_recorded);
  // The exchange for parts of sums; null: none.
  DeviceExchange* exchange() const { return processes_ != nullptr ? processes_.get() : exchange_.get(); }
  Status reserve_exchanges(const Compiled& compiled);
  // Runs the exchange after a stage.
  Status end_stage(const Stage& stage);
  Status finish(std::monostate) { return {}; }
  Status finish(const GatherParts& end);
  Status finish(const CollectOp& end);
  Status finish(const SendOp& end);
  Status finish(const ReceiveOp& end);
  std::span<float> rows_of(ActId act) const { return ranks_.front()->memory().rows_of(act); }
  Status run_graphs(const StepShape& shape);
  struct BlockPart {
    bool is_value;
    uint32_t layer;
    size_t offset, n_bytes;  // in a block's bytes

    uint8_t* at(const Rank& rank, BlockId id) const { return rank.cache().block_at(is_value, layer, id); }
  };
  template <class Visit>
  void for_each_part(const Visit& visit) const;
  template <class Visit>
  void for_each_slot_part(const Visit& visit) const;
  Status watch_exchange() const;
  Status wait_for_all() const;
  Error failed_while_running(uint32_t rank, Error error) const;

  CudaOptions options_;
  ThreadTeam packers_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::unique_ptr<DeviceExchange> exchange_;    // between local devices; null: layers are not shared
  std::unique_ptr<ProcessExchange> processes_;  // null: no other processes share the programs
  bool has_left_step_ = false;                  // other processes are still in it
  Placement placement_;
  std::vector<uint64_t> room_bytes_;  // per device, for weights and cache
  uint32_t n_part_cols_ = 0;          // widest product that yields a part of a sum
  std::vector<DeviceExchange::Part> exchanged_;
  BackendLimits limits_;
  KvLayout cache_;          // common properties of its layers
  size_t block_bytes_ = 0;  // on all devices, keys and values
  std::string arithmetic_;
  StepTrace trace_;
  bool is_traced_ = false;
  const StepBatch* batch_ = nullptr;
  std::vector<std::unique_ptr<Compiled>> programs_;
  const Compiled* running_ = nullptr;
  Status status_;  // of the step
};

CudaBackend::CudaBackend(std::vector<std::unique_ptr<Device>> devices, const CudaOptions& options,
                         std::unique_ptr<DeviceExchange> exchange)
    : options_(options),
      packers_(std::clamp(std::thread::hardware_concurrency(), 1u, kMaxPackers)),
      exchange_(std::move(exchange)),
      placement_(devices.size(), exchange_ != nullptr) {
  REQUIRE(!devices.empty());
  for (auto& device : devices) {
    room_bytes_.push_back(room_on(*device, options));
    ranks_.push_back(std::make_unique<Rank>(std::move(device), packers_, options.partial_bytes));
  }
  if (options.exchange == nullptr) return;
  processes_ = std::make_unique<ProcessExchange>(ranks_.front()->device(), *options.exchange, options.tries_nccl);
}

std::string CudaBackend::description() const {
  std::string text;
  const bool has_shares = ranks_.size() > 1 && !placement_.is_shared() && placement_.has_layers();
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    if (i > 0) text += "; ";
    text += ranks_[i]->device().description();
    if (has_shares) text += ": " + std::to_string(placement_.n_layers_on(i)) + " layers";
  }
  if (placement_.is_shared()) text += "; sharing every layer";
  if (processes_ != nullptr && !processes_->way_of_sums().empty()) text += ", " + processes_->way_of_sums();
  const uint32_t n_streamed = n_streamed_layers();
  if (n_streamed > 0) text += ", " + std::to_string(n_streamed) + " layers streamed from the host's memory";
  size_t file_bytes = 0;
  for (const auto& rank : ranks_) file_bytes += rank->weights().file_bytes();
  if (file_bytes > 0) text += " and " + std::to_string(file_bytes >> 20) + " MB from " + options_.layer_folder;
  if (ranks_.front()->weights().host_bytes() > 0) text += ", embeddings in the host's memory";
  return "cuda (" + text + ")";
}

BackendInfo CudaBackend::info() const {
  BackendInfo info{.name = "cuda",
                   .description = description(),
                   .arithmetic = arithmetic_,
                   .trace_note =
                       "operations were launched one by one; without a trace, decode steps are replayed as "
                       "recorded graphs and take less time"};
  for (const auto& rank : ranks_) {
    info.weight_bytes += rank->weights().bytes();
    info.kv_bytes += rank->cache().n_bytes() + rank->states().n_bytes();
    info.scratch_bytes += rank->memory().n_bytes();
    info.devices.push_back(&rank->use());
  }
  return info;
}

// Tensor cores of different generations round differently, and so do sums of parts. Placement of layers has no effect.
std::string CudaBackend::name_arithmetic() const {
  std::string text = placement_.is_shared() ? "cuda, sums of " + std::to_string(ranks_.size()) + " parts" : "cuda";
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    const std::string device = ranks_[i]->device().description();
    const bool is_new = i == 0 || device != ranks_[i - 1]->device().description();
    if (is_new && i > 0 && !placement_.is_shared())
      text += " up to layer " + std::to_string(placement_.end_layer_on(i - 1));
    if (is_new) text += ", " + device;
  }
  return text;
}

Status CudaBackend::configure(const BackendLimits& limits) {
  limits_ = limits;
  for (const auto& rank : ranks_) rank->memory().configure(limits);
  return {};
}

// The distribution of layers if no_layer bytes of other weights are on devices and on_host bytes in host memory.
std::vector<CudaBackend::LayerShare> CudaBackend::layer_shares(uint64_t no_layer, uint64_t on_host) const {
  const uint32_t n_layers = std::max(1u, options_.n_layers);
  const uint64_t all_layers = options_.weight_bytes - std::min(no_layer + on_host, options_.weight_bytes);
  const uint64_t layer_weights = all_layers / n_layers / placement_.n_sharing();
  const uint64_t layer_cache = options_.kv_bytes / n_layers / placement_.n_sharing();
  const bool is_shared = placement_.is_shared();
  const auto n_layers_on = is_shared ? std::vector<uint32_t>(ranks_.size(), n_layers)
                                     : split_layers({no_layer, layer_weights + layer_cache, n_layers}, room_bytes_);
  std::vector<LayerShare> shares;
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    const uint64_t n_own = n_layers_on[i];
    const uint64_t n_bytes = room_bytes_[i] - std::min(n_own * layer_cache, room_bytes_[i]);
    // Shared allocations may leave a part of the last one unused.
    const uint64_t wanted =
        (i == 0 || is_shared ? no_layer : 0) + n_own * layer_weights + ranks_[i]->device().shared_allocation_bytes();
    shares.push_back({n_layers_on[i], n_bytes, options_.weight_bytes > 0 && wanted <= n_bytes});
  }
  return shares;
}

// Called when the size of weights outside layers is known.
void CudaBackend::share_layers() {
  const Weights& first = ranks_.front()->weights();
  const std::vector<LayerShare> shares = layer_shares(first.device_bytes(), first.host_bytes());
  std::vector<uint32_t> n_layers;
  for (const LayerShare& share : shares) n_layers.push_back(share.n_layers);
  placement_.set_layers(n_layers);
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i]->weights().set_room({shares[i].n_bytes,
                                   shares[i].fits,
                                   options_.n_gpu_layers,
                                   {options_.host_bytes / ranks_.size(), options_.layer_folder}});
  }
}

// A step reads few rows of a table that is only gathered from, so layers that would be streamed take precedence.
Weights::Home CudaBackend::home_of(const MatrixSource& source) const {
  using enum Weights::Home;
  if (!source.is_gathered || source.layer >= 0) return kDevice;
  if (options_.n_gpu_layers && *options_.n_gpu_layers < options_.n_layers) return kHost;
  if (options_.weight_bytes == 0) return kDevice;
  uint64_t n_bytes = 0;
  for (const auto piece : source.pieces) n_bytes += piece.size();
  const Weights& first = ranks_.front()->weights();
  const auto shares = layer_shares(first.device_bytes() + n_bytes, first.host_bytes());
  return std::ranges::all_of(shares, &LayerShare::fits) ? kDevice : kHost;
}

// Adds a weight under one id on all devices, including those without it.
template <class AddTo>
Result<WeightId> CudaBackend::add_weight(uint32_t place, const AddTo& add_to) {
  WeightId id = kNoWeight;
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    if (place != Placement::kEverywhere && place != i) {
      id = ranks_[i]->weights().add_absent();
      continue;
    }
    RZ_TRY(id, add_to(ranks_[i]->weights(), i));
  }
  return id;
}

Result<WeightId> CudaBackend::load_matrix(const MatrixSource& source) {
  if (source.layer >= 0 && !placement_.has_layers()) share_layers();
  const uint32_t place = placement_.place_of_matrix(source.layer);
  const Weights::Home home = home_of(source);
  RZ_TRY(const WeightId id, add_weight(place, [&](Weights& weights, uint32_t rank) -> Result<WeightId> {
           RZ_TRY(const MatrixPart part, part_of(source, rank, placement_.n_sharing()));
           return weights.add_matrix(source, part, home);
         }));
  const bool has_cols = source.shard == Shard::kCols && source.shard_unit > 0;
  const bool gives_parts = placement_.is_shared() && source.layer >= 0 && has_cols;
  placement_.add_weight(place, gives_parts);
  if (gives_parts) n_part_cols_ = source.n_rows;
  return id;
}

Result<WeightId> CudaBackend::load_vector(std::span<const float> values, int32_t layer) {
  if (layer >= 0 && !placement_.has_layers()) share_layers();
  const uint32_t place = placement_.place_of_vector(layer);
  placement_.add_weight(place, false);
  return add_weight(place, [&](Weights& weights, uint32_t) { return weights.add_vector(values); });
}

// A matrix is on one device, or on all; elsewhere it has no rows.
Status CudaBackend::write_weights(WeightId id, size_t first_row, std::span<const float> values) {
  for (const auto& rank : ranks_) {
    if (rank->weights().matrix(id).low != nullptr) RZ_CHECK_OK(rank->weights().write(id, first_row, values));
  }
  return {};
}

Status CudaBackend::create_kv_cache(const CacheLayout& layers) {
  cache_ = common_layout(layers);
  if (!placement_.has_layers()) share_layers();
  placement_.set_n_layers(cache_.n_layers);
  arithmetic_ = name_arithmetic();
  const LayerGroups groups = layers.groups();
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    KvLayout own = cache_;
    own.n_layers = placement_.is_shared() ? cache_.n_layers : placement_.n_layers_on(i);
    const LayersHere here{std::span(layers.layers).subspan(placement_.first_layer_on(i), own.n_layers),
                          placement_.first_layer_on(i)};
    RZ_CHECK_OK(ranks_[i]->create_cache(own, here, groups, placement_.n_sharing(), layers.n_states));
  }
  block_bytes_ = 0;
  for_each_part([&](Rank&, const BlockPart& part) { block_bytes_ += part.n_bytes; });
  return {};
}

// With shared layers, an additional activation holds parts of sums.
Result<ProgramId> CudaBackend::compile(const Program& program) {
  RZ_CHECK_OK(check(program));
  std::vector<ActShape> acts = program.activations;
  ActId part = kNoAct;
  if (n_part_cols_ > 0) {
    part = ActId{static_cast<uint32_t>(acts.size())};
    acts.push_back({"part", n_part_cols_, Rows::kAll});
  }
  const ProgramId id{static_cast<uint32_t>(programs_.size())};
  auto compiled = std::make_unique<Compiled>(
      Compiled{id,
               lay_out(acts, limits_, kAllocationAlign),
               StepCommands(placement_, acts.size(), part, processes_ != nullptr ? processes_->n_processes() : 1),
               {}});
  for (const Op& op : program.ops) compiled->commands.append(op);
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    compiled->devices.push_back(plan_on(i, compiled->commands));
    RZ_CHECK_OK(ranks_[i]->fit(compiled->acts, compiled->devices.back()));
  }
  if (processes_ != nullptr) RZ_CHECK_OK(reserve_exchanges(*compiled));
  programs_.push_back(std::move(compiled));
  return id;
}

// Reserves the pinned memory for the rows of exchanges.
Status CudaBackend::reserve_exchanges(const Compiled& compiled) {
  const auto n_floats = [&](ActId act) {
    const ActPlace& place = compiled.acts[act];
    return size_t{place.rows == Rows::kAll ? limits_.max_rows : limits_.max_logit_rows} * place.n_cols;
  };
  for (const Stage& stage : compiled.commands.stages().all()) {
    size_t n = 0;
    if (const auto* end = std::get_if<GatherParts>(&stage.end)) n = n_floats(end->part) * processes_->n_processes();
    if (const auto* end = std::get_if<CollectOp>(&stage.end)) n = n_floats(end->part) + n_floats(end->out);
    if (const auto* end = std::get_if<SendOp>(&stage.end)) n = n_floats(end->act);
    if (const auto* end = std::get_if<ReceiveOp>(&stage.end)) n = n_floats(end->act);
    RZ_CHECK_OK(processes_->reserve(n));
  }
  return {};
}

DeviceProgram CudaBackend::plan_on(uint32_t rank, const StepCommands& commands) const {
  DeviceProgram program;
  for (const Stage& stage : commands.stages().all()) {
    const bool is_here = rank >= stage.rank && rank < stage.rank + stage.n_ranks;
    program.stages.push_back(is_here ? plan_launches(commands.of(stage), ranks_[rank]->weights(), program)
                                     : std::vector<Launch>());
  }
  return program;
}

// A ChooseOp is a program's last command.
void CudaBackend::begin(const StepShape& shape) {
  StepBatch without_choices = *batch_;
  without_choices.choices = {};
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    const bool chooses = i == stages().last_rank() || placement_.is_shared();
    ranks_[i]->begin(running_->acts, running_->devices[i], chooses ? *batch_ : without_choices, shape);
  }
}

// Copies activations that the stage reads from other devices.
void CudaBackend::receive_activations(const Stage& stage) {
  for (const Crossing& crossing : stages().crossings(stage)) {
    Rank &to = *ranks_[stage.rank], &from = *ranks_[crossing.from_rank];
    const std::span<float> rows = to.memory().rows_of(crossing.act);
    if (rows.empty()) continue;
    to.device().receive(rows.data(), from.device(), from.memory().rows_of(crossing.act).data(), rows.size_bytes());
  }
}

Status CudaBackend::run_stage(size_t stage_idx, uint32_t rank_idx, const StepShape& shape, bool is_recorded) {
  Rank& rank = *ranks_[rank_idx];
  const std::span<const Launch> launches = running_->devices[rank_idx].stages[stage_idx];
  if (launches.empty()) return {};
  rank.device().attach();
  if (is_recorded) return rank.replay(launches, shape);
  const bool is_traced_here = is_traced_ && rank_idx == stages().all()[stage_idx].rank;
  if (is_traced_here) trace_.enter(rank.device(), rank.weights());
  return rank.run(launches, shape, is_traced_here ? &trace_ : nullptr);
}

Status CudaBackend::end_stage(const Stage& stage) {
  Status status = std::visit([this](const auto& end) { return finish(end); }, stage.end);
  if (status.ok() || processes_ == nullptr || processes_->is_lost()) return status;
  return failed_while_running(0, std::move(status).error());
}

Status CudaBackend::finish(const GatherParts& end) {
  exchanged_.clear();
  for (const auto& rank : ranks_) {
    exchanged_.push_back(
        {&rank->device(), rank->memory().rows_of(end.part).data(), rank->memory().as<float>(Buffer::kParts)});
  }
  return exchange()->gather(exchanged_, rows_of(end.part).size());
}

Status CudaBackend::finish(const CollectOp& end) {
  const std::span<float> out = rows_of(end.out);
  return processes_->collect(end, static_cast<uint32_t>(out.size() / end.cols.n), rows_of(end.part), out);
}

Status CudaBackend::finish(const SendOp& end) {
  return processes_->send(end.to, rows_of(end.act));
}

Status CudaBackend::finish(const ReceiveOp& end) {
  return processes_->receive(end.from, rows_of(end.act));
}

Status CudaBackend::run_stages(const StepShape& shape, bool is_recorded) {
  for (size_t i = 0; i < stages().all().size(); ++i) {
    const Stage& stage = stages().all()[i];
    receive_activations(stage);
    for (uint32_t rank = stage.rank; rank < stage.rank + stage.n_ranks; ++rank) {
      RZ_CHECK_OK(run_stage(i, rank, shape, is_recorded));
    }
    RZ_CHECK_OK(end_stage(stage));
  }
  return {};
}

Status CudaBackend::run_graphs(const StepShape& shape) {
  for (const auto& rank : ranks_) rank->begin_graphs(running_->id, shape);
  RZ_CHECK_OK(run_stages(shape, true));
  for (const auto& rank : ranks_) rank->end_graphs(running_->id, shape);
  return {};
}

// Decode-only steps recur in few shapes and are recorded; steps with prompt rows are launched one by one, and so are
// those that are traced or wait for streamed layers.
void CudaBackend::run(ProgramId id, const StepBatch& batch) {
  running_ = programs_[static_cast<uint32_t>(id)].get();
  batch_ = &batch;
  const StepShape exact = StepMemory::shape_of(batch);
  const bool is_decode = exact.n_decode_rows == exact.n_rows && exact.n_rows > 0;
  const bool is_recorded = is_decode && !is_traced_ && n_streamed_layers() == 0;
  const StepShape shape = is_recorded ? shared_shape(exact, limits_) : exact;
  begin(shape);
  if (is_traced_) trace_.begin(batch, cache_);
  status_ = is_recorded ? run_graphs(shape) : run_stages(shape, false);
  if (!status_.ok()) return;
  ranks_[stages().last_rank()]->memory().download_chosen();
}

// Kernels fail after their launch, so only the device's layers are known.
Error CudaBackend::failed_while_running(uint32_t rank, Error error) const {
  if (running_ == nullptr || placement_.n_layers_on(rank) == 0) return error;
  error.message = fmt::format(
      "an operation of layers {} to {}, or one before or after them: {}. With CUDA_LAUNCH_BLOCKING=1 in the "
      "environment, a traced run names it",
      placement_.first_layer_on(rank), placement_.end_layer_on(rank) - 1, error.message);
  return error;
}

Status CudaBackend::wait_for_all() const {
  Status first;
  for (uint32_t i = 0; i < ranks_.size(); ++i) {
    Status status = ranks_[i]->device().wait();
    if (first.ok() && !status.ok()) first = failed_while_running(i, std::move(status).error());
  }
  return first;
}

// A failed exchange may leave devices waiting for each other; polling its errors until they are done ends the wait.
Status CudaBackend::watch_exchange() const {
  Status status;
  for (const auto& rank : ranks_) {
    while (status.ok() && rank->device().is_busy()) status = exchange()->check();
  }
  return status.ok() ? exchange()->check() : status;
}

// Other processes wait for data that a failed step no longer sends, so its failure loses the backend.
Status CudaBackend::wait() {
  if (exchange() != nullptr && status_.ok()) status_ = watch_exchange();
  Status device_status = wait_for_all();
  const bool is_ok = device_status.ok() && status_.ok();
  if (is_traced_ && is_ok) trace_.finish();
  has_left_step_ = has_left_step_ || (processes_ != nullptr && !is_ok);
  return status_.ok() ? std::move(device_status) : std::exchange(status_, {});
}

// Memory pinned by one device can be read by all.
std::span<std::byte> CudaBackend::allocate_host(size_t n_bytes) {
  const auto memory = ranks_.front()->device().allocate_pinned(n_bytes);
  if (!memory.ok()) return {};
  return {static_cast<std::byte*>(*memory), n_bytes};
}

// Calls visit(rank, part) for every part of a block: a device's keys, or values, for one slot of the groups' layers.
template <class Visit>
void CudaBackend::for_each_part(const Visit& visit) const {
  size_t offset = 0;
  const auto visit_parts = [&](uint32_t layer, bool is_value) {
    for (uint32_t i = 0; i < placement_.n_sharing(); ++i) {
      Rank& rank = *ranks_[placement_.rank_of_layer(layer) + i];
      const size_t n_bytes = rank.cache().part_bytes(is_value, layer);
      if (n_bytes > 0) visit(rank, BlockPart{is_value, layer, offset, n_bytes});
      offset += n_bytes;
    }
  };
  for (uint32_t layer = 0; layer < cache_.n_layers; ++layer) {
    if (!ranks_[placement_.rank_of_layer(layer)]->cache().has_first_part(layer)) continue;
    visit_parts(layer, false);
    visit_parts(layer, true);
  }
}

void CudaBackend::save_block(BlockId id, std::span<std::byte> bytes) const {
  for_each_part([&](Rank& rank, const BlockPart& part) {
    rank.device().download(bytes.data() + part.offset, part.at(rank, id), part.n_bytes);
  });
}

void CudaBackend::restore_block(BlockId id, std::span<const std::byte> bytes) {
  for_each_part([&](Rank& rank, const BlockPart& part) {
    rank.device().upload(part.at(rank, id), bytes.data() + part.offset, part.n_bytes);
  });
}

void CudaBackend::copy_block(BlockId from, BlockId to) {
  for_each_part([&](Rank& rank, const BlockPart& part) {
    rank.device().copy(part.at(rank, to), part.at(rank, from), part.n_bytes);
  });
}

void CudaBackend::zero_block(BlockId id) {
  for_each_part([&](Rank& rank, const BlockPart& part) {
    rank.device().attach();
    rank.device().clear(part.at(rank, id), part.n_bytes);
  });
  static_cast<void>(wait_for_all());
}

// Devices that share a layer have some of its heads each.
void CudaBackend::read_kv(uint32_t layer, BlockId id, std::span<float> keys, std::span<float> values) const {
  std::vector<uint8_t> page;
  for (uint32_t i = 0; i < placement_.n_sharing(); ++i) {
    Rank& rank = *ranks_[placement_.rank_of_layer(layer) + i];
    const KvLayout& part = rank.cache().layout(layer);
    const size_t n_cols = size_t{part.n_kv_heads} * part.head_dim;
    for (const bool is_value : {false, true}) {
      if (is_value && !rank.cache().has_values(layer)) continue;
      page.resize(rank.cache().part_bytes(is_value, layer));
      rank.device().download(page.data(), rank.cache().block_at(is_value, layer, id), page.size());
      static_cast<void>(rank.device().wait());
      decode_kv_block(part, page, (is_value ? values : keys).subspan(i * n_cols), placement_.n_sharing() * n_cols);
    }
  }
}

// Calls visit(rank, offset in a slot's bytes, bytes) for every device's part of a slot, in layer order.
template <class Visit>
void CudaBackend::for_each_slot_part(const Visit& visit) const {
  size_t offset = 0;
  for (const auto& rank : ranks_) {
    const size_t n_bytes = rank->states().slot_bytes();
    if (n_bytes > 0) visit(*rank, offset, n_bytes);
    offset += n_bytes;
  }
}

size_t CudaBackend::state_bytes() const {
  size_t n_all = 0;
  for_each_slot_part([&](Rank&, size_t, size_t n_bytes) { n_all += n_bytes; });
  return n_all;
}

// Failures are reported by the next step's wait, as for blocks.
void CudaBackend::read_state(StateId id, std::span<std::byte> bytes) const {
  for_each_slot_part([&](Rank& rank, size_t offset, size_t n_bytes) {
    rank.device().download(bytes.data() + offset, rank.states().slot(id), n_bytes);
  });
  static_cast<void>(wait_for_all());
}

void CudaBackend::write_state(StateId id, std::span<const std::byte> bytes) {
  for_each_slot_part([&](Rank& rank, size_t offset, size_t n_bytes) {
    rank.device().upload(rank.states().slot(id), bytes.data() + offset, n_bytes);
  });
  static_cast<void>(wait_for_all());
}

void CudaBackend::zero_state(StateId id) {
  for_each_slot_part([&](Rank& rank, size_t, size_t n_bytes) {
    rank.device().attach();
    rank.device().clear(rank.states().slot(id), n_bytes);
  });
  static_cast<void>(wait_for_all());
}

// A failure is reported by the next step's wait.
void CudaBackend::read_block(BlockId id, std::span<std::byte> bytes) const {
  save_block(id, bytes);
  static_cast<void>(wait_for_all());
}

void CudaBackend::write_block(BlockId id, std::span<const std::byte> bytes) {
  restore_block(id, bytes);
  static_cast<void>(wait_for_all());
}

}  // namespace

// Devices that share layers also hold the parts of sums.
uint64_t scratch_bytes(const Program& program, const ScratchOutline& outline) {
  std::vector<ActShape> acts = program.activations;
  std::vector<Command> commands;
  uint32_t n_part_cols = 0;
  for (const Op& op : program.ops) {
    std::visit([&](const auto& one) { commands.push_back(one); }, op);
    if (const auto* embed = std::get_if<EmbedOp>(&op)) {
      n_part_cols = std::max(n_part_cols, acts[static_cast<uint32_t>(embed->out)].n_cols);
    }
  }
  if (outline.n_sharing > 1 && n_part_cols > 0) {
    const ActId part{static_cast<uint32_t>(acts.size())};
    acts.push_back({"part", n_part_cols, Rows::kAll});
    commands.push_back(SumPartsOp{.out = part, .part = part, .n_parts = outline.n_sharing});
  }
  const ActLayout layout = lay_out(acts, outline.limits, kAllocationAlign);
  return buffer_sizes(commands,
                      {.acts = layout, .limits = outline.limits, .cache = outline.cache, .types = outline.types})
      .total();
}

std::unique_ptr<Backend> make_backend(std::vector<std::unique_ptr<Device>> devices, const CudaOptions& options,
                                      std::unique_ptr<DeviceExchange> exchange) {
  return std::make_unique<CudaBackend>(std::move(devices), options, std::move(exchange));
}

}  // namespace realizar::cuda
