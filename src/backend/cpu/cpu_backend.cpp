#include "backend/cpu/cpu_backend.h"

#include "backend/cpu/kernel_choice.h"
#include "backend/cpu/step_runner.h"
#include "base/cpu_features.h"

namespace realizar {
namespace {

class CpuBackend final : public Backend {
 public:
  CpuBackend(const KernelChoice& choice, uint32_t n_threads)
      : reason_(choice.reason), team_(n_threads), runner_(*choice.kernels, team_) {}

  std::string_view name() const override { return "cpu"; }
  std::string description() const override {
    return "cpu (" + std::string(runner_.kernels().name) + ", " + std::to_string(team_.size()) + " threads" +
           (reason_.empty() ? "" : "; " + reason_) + ")";
  }

  Status can_run(const ModelShape& shape) const override {
    if (shape.n_used <= StepRunner::kMaxUsedExperts) return {};
    return unsupported("the cpu backend runs models of at most " + std::to_string(StepRunner::kMaxUsedExperts) +
                           " experts a token, and this one has " + std::to_string(shape.n_used),
                       "n_experts_used");
  }
  Status configure(const BackendLimits& limits) override { return runner_.configure(limits); }

  Result<WeightId> load_matrix(const MatrixSource& source) override { return runner_.add_matrix(source); }
  Result<WeightId> load_vector(std::span<const float> values, int32_t) override { return runner_.add_vector(values); }
  Result<ActId> create_activation(uint32_t n_cols, Rows rows) override { return runner_.add_activation(n_cols, rows); }
  Status create_kv_cache(const KvLayout& layout) override { return runner_.create_cache(layout); }
  size_t weight_bytes() const override { return runner_.weight_bytes(); }
  size_t kv_bytes() const override { return runner_.cache().bytes(); }
  size_t scratch_bytes() const override { return runner_.scratch_bytes(); }

  size_t block_bytes() const override { return runner_.cache().block_bytes(); }
  void read_block(BlockId id, std::span<std::byte> bytes) const override { runner_.cache().read_block(id, bytes); }
  void write_block(BlockId id, std::span<const std::byte> bytes) override { runner_.cache().write_block(id, bytes); }
  void copy_block(BlockId from, BlockId to) override { runner_.cache().copy_block(from, to); }
  void zero_block(BlockId id) override { runner_.cache().zero_block(id); }
  void read_kv(uint32_t layer, BlockId id, std::span<float> keys, std::span<float> values) const override {
    runner_.cache().read_kv(runner_.kernels(), layer, id, keys, values);
  }
  std::string_view arithmetic() const override { return runner_.kernels().arithmetic; }
  bool phases_agree() const override { return !runner_.kernels().has_bf16(); }

  void begin(const StepBatch& batch) override { runner_.begin(batch); }
  void embed(const EmbedOp& op) override { runner_.add(op); }
  void norm(const NormOp& op) override { runner_.add(op); }
  void linear(const LinearOp& op) override { runner_.add(op); }
  void gated_linear(const GatedLinearOp& op) override { runner_.add(op); }
  void rope_store(const RopeStoreOp& op) override { runner_.add(op); }
  void attention(const AttentionOp& op) override { runner_.add(op); }
  void route(const RouteOp& op) override { runner_.add(op); }
  void experts(const ExpertsOp& op) override { runner_.add(op); }
  void select_rows(const SelectRowsOp& op) override { runner_.add(op); }
  void submit() override { runner_.submit(); }
  Status reserve() override { return runner_.status(); }  // taken as the operations came
  Status wait() override { return runner_.status(); }

  std::span<const float> read(ActId act) const override { return runner_.read(act); }
  void set_trace(bool on) override { runner_.set_trace(on); }
  std::span<const OpTiming> last_trace() const override { return runner_.trace(); }

 private:
  std::string reason_;  // for these kernels
  ThreadTeam team_;
  StepRunner runner_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuOptions& options) {
  const KernelChoice choice =
      options.isa == CpuIsa::kAuto ? choose_kernels() : KernelChoice{kernels_for(options.isa), {}};
  if (choice.kernels == nullptr) {
    return unsupported(std::string("this processor cannot run the kernels of ") + to_string(options.isa), "isa");
  }
  const uint32_t n_threads = options.n_threads > 0 ? options.n_threads : n_usable_cores();
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(choice, n_threads));
}

std::unique_ptr<Backend> make_cpu_backend(const KernelTable& kernels, uint32_t n_threads) {
  return std::make_unique<CpuBackend>(KernelChoice{&kernels, {}}, n_threads);
}

}  // namespace realizar
