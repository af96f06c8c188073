#include "backend/cpu/cpu_backend.h"

#include "backend/cpu/executor.h"
#include "backend/cpu/kernel_choice.h"
#include "base/cpu_features.h"
#include "base/try.h"

namespace realizar::cpu {
namespace {

class CpuBackend final : public Backend {
 public:
  CpuBackend(const KernelChoice& choice, uint32_t n_threads, Exchange* exchange)
      : reason_(choice.reason),
        kernels_(*choice.kernels),
        team_(n_threads),
        executor_(kernels_, team_, weights_, cache_, states_, exchange) {}

  Status configure(const BackendLimits& limits) override {
    limits_ = limits;
    executor_.configure(limits);
    return {};
  }
  Status check(const Program& program) const override { return check_bounds(program); }
  Result<WeightId> load_matrix(const MatrixSource& source) override { return weights_.add_matrix(source, team_); }
  Result<WeightId> load_vector(std::span<const float> values, int32_t) override { return weights_.add_vector(values); }
  Status write_weights(WeightId id, size_t first_row, std::span<const float> values) override {
    return weights_.write(id, first_row, values);
  }
  Status create_kv_cache(const CacheLayout& layout) override {
    RZ_CHECK_OK(cache_.create(layout));
    return states_.create(layout);
  }

  Result<ProgramId> compile(const Program& program) override {
    RZ_CHECK_OK(check_bounds(program));
    auto plan = std::make_unique<Plan>(make_plan(program, kernels_, weights_, limits_));
    RZ_CHECK_OK(executor_.fit(*plan));
    plans_.push_back(std::move(plan));
    return ProgramId{static_cast<uint32_t>(plans_.size() - 1)};
  }
  // Synchronous.
  void run(ProgramId id, const StepBatch& batch) override { executor_.run(*plans_[static_cast<uint32_t>(id)], batch); }
  Status wait() override { return executor_.take_status(); }
  bool is_lost() const override { return executor_.is_lost(); }
  std::span<const float> read(ActId act) const override { return executor_.read(act); }

  size_t block_bytes() const override { return cache_.block_bytes(); }
  void read_block(BlockId id, std::span<std::byte> bytes) const override { cache_.read_block(id, bytes); }
  void write_block(BlockId id, std::span<const std::byte> bytes) override { cache_.write_block(id, bytes); }
  void copy_block(BlockId from, BlockId to) override { cache_.copy_block(from, to); }
  void zero_block(BlockId id) override { cache_.zero_block(id); }
  void read_kv(uint32_t layer, BlockId id, std::span<float> keys, std::span<float> values) const override {
    cache_.read_kv(kernels_, layer, id, keys, values);
  }

  size_t state_bytes() const override { return states_.slot_bytes(); }
  void read_state(StateId slot, std::span<std::byte> bytes) const override { states_.read(slot, bytes); }
  void write_state(StateId slot, std::span<const std::byte> bytes) override { states_.write(slot, bytes); }
  void zero_state(StateId slot) override { states_.zero(slot); }

  BackendInfo info() const override {
    return {.name = "cpu",
            .description = "cpu (" + std::string(kernels_.name) + ", " + std::to_string(team_.size()) + " threads" +
                           (reason_.empty() ? "" : "; " + reason_) + ")",
            .arithmetic = kernels_.arithmetic,
            .decode_matches_prefill = !kernels_.has_bf16(),
            .weight_bytes = weights_.n_bytes(),
            .kv_bytes = cache_.bytes() + states_.bytes(),
            .scratch_bytes = executor_.scratch_bytes()};
  }
  void set_trace(bool on) override { executor_.set_trace(on); }
  std::span<const OpTiming> last_trace() const override { return executor_.trace(); }
  Status watch_inputs(MatrixInputCallback callback) override {
    executor_.watch_inputs(std::move(callback));
    return {};
  }

 private:
  std::string reason_;  // for the choice of kernels
  const KernelTable& kernels_;
  ThreadTeam team_;
  BackendLimits limits_;
  WeightStore weights_;
  KvStore cache_;
  StateStore states_;
  Executor executor_;
  std::vector<std::unique_ptr<Plan>> plans_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuOptions& options) {
  const KernelChoice choice =
      options.isa == CpuIsa::kAuto ? choose_kernels() : KernelChoice{kernels_for(options.isa), {}};
  if (choice.kernels == nullptr) {
    return unsupported(std::string("this processor cannot run the kernels of ") + to_string(options.isa), "isa");
  }
  const uint32_t n_threads = options.n_threads > 0 ? options.n_threads : n_usable_cores();
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(choice, n_threads, options.exchange));
}

std::unique_ptr<Backend> make_cpu_backend(const KernelTable& kernels, uint32_t n_threads, Exchange* exchange) {
  return std::make_unique<CpuBackend>(KernelChoice{&kernels, {}}, n_threads, exchange);
}

}  // namespace realizar::cpu
