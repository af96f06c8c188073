// Matrix products of the CPU backend: decode (one row: GB/s of packed weights, share of the measured read bandwidth)
// and prefill (512 rows: GFLOP/s, share of the best measured peak), for each type and level. --benchmark_filter
// chooses. Also the delta rule in qwen3-next's shape, for decode and prefill rows; layers of each kind; and the barrier
// between operations.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <string>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/peaks.h"
#include "backend/ops.h"
#include "backend/program.h"
#include "base/cpu_features.h"
#include "base/thread_team.h"
#include "layer_lines.h"
#include "quant/types.h"

namespace realizar {
namespace {

struct Shape {
  uint32_t n_rows, n_cols;
};
constexpr Shape kShapes[] = {{2048, 2048}, {2048, 8192}, {8192, 2048}, {128256, 2048}};

struct Step {
  const char* name;
  uint32_t n_tokens, n_decode;
};
constexpr Step kSteps[] = {{"decode", 1, 1}, {"batch", 16, 16}, {"prefill", 512, 0}};

void multiply(benchmark::State& state, TypeId type, cpu::CpuIsa isa, Shape shape, const Step& step,
              const cpu::Peaks& peaks) {
  auto made = cpu::make_cpu_backend({.isa = isa});
  if (!made.ok()) return state.SkipWithError(made.error().message.c_str());
  Backend& backend = **made;
  const BackendLimits limits{.max_rows = step.n_tokens, .max_logit_rows = 1};
  if (!backend.configure(limits).ok()) return state.SkipWithError("configure");
  // One random row, repeated: kernels do the same work whatever the values are.
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> row(shape.n_cols);
  for (float& x : row) x = normal(engine);
  const size_t n_bytes = row_bytes(traits(type), shape.n_cols);
  std::vector<std::byte> weight(n_bytes * shape.n_rows);
  traits(type).encode(row.data(), weight.data(), shape.n_cols);
  for (size_t r = 1; r < shape.n_rows; ++r) std::copy_n(weight.begin(), n_bytes, weight.begin() + r * n_bytes);
  const auto table =
      backend.load_matrix({"x", TypeId::kF32, 1, 1, shape.n_cols, {std::as_bytes(std::span(row))}, {}, false});
  const size_t before = backend.info().weight_bytes;
  const auto id = backend.load_matrix({"w", type, 1, shape.n_rows, shape.n_cols, {weight}, {}, false});
  const double packed_bytes = static_cast<double>(backend.info().weight_bytes - before);
  if (!table.ok() || !id.ok()) return state.SkipWithError("loading failed");
  Program program;
  const ActId in = program.add_activation("in", shape.n_cols), out = program.add_activation("out", shape.n_rows);
  program.add(EmbedOp{.out = in, .table = *table});
  program.add(LinearOp{.out = out, .in = in, .weight = *id});
  const auto compiled = backend.compile(program);
  if (!compiled.ok()) return state.SkipWithError("compile");
  const std::vector<TokenId> tokens(step.n_tokens);
  const std::vector<Pos> positions(step.n_tokens);
  const StepBatch batch{tokens, positions, {}, step.n_decode, {}};
  for (auto _ : state) backend.run(*compiled, batch);
  const double steps = static_cast<double>(state.iterations());
  const double flops = 2.0 * step.n_tokens * shape.n_rows * shape.n_cols;
  using benchmark::Counter;
  if (step.n_tokens == 1) {
    state.counters["GB/s"] = Counter(steps * packed_bytes * 1e-9, Counter::kIsRate);
    state.counters["share"] = Counter(steps * packed_bytes * 1e-9 / peaks.read_gb_per_s, Counter::kIsRate);
  } else {
    state.counters["GFLOP/s"] = Counter(steps * flops * 1e-9, Counter::kIsRate);
    state.counters["share"] = Counter(steps * flops * 1e-9 / peaks.best_gflops(), Counter::kIsRate);
  }
}

// One layer's delta rule over n_tokens rows of a sequence: 7 operations for each number of a state and row.
void learn(benchmark::State& state, cpu::CpuIsa isa, uint32_t n_tokens) {
  constexpr uint32_t kHeads = 32, kKeyHeads = 16, kDim = 128, kKeys = kKeyHeads * kDim, kValues = kHeads * kDim;
  auto made = cpu::make_cpu_backend({.isa = isa});
  if (!made.ok()) return state.SkipWithError(made.error().message.c_str());
  Backend& backend = **made;
  CacheLayout layout;
  layout.layers = {Recurrent{{sizeof(float) * kDim * kValues}}};
  layout.n_states = 1;
  if (!backend.configure({.max_rows = n_tokens, .max_logit_rows = 1, .max_seqs = 1}).ok() ||
      !backend.create_kv_cache(layout).ok()) {
    return state.SkipWithError("configure");
  }
  std::mt19937 engine(1);
  std::normal_distribution<float> normal(0.0f, 1.0f / std::sqrt(static_cast<float>(kDim)));
  Program program;
  const auto input = [&](uint32_t n_cols) {
    std::vector<float> row(n_cols);
    for (float& x : row) x = normal(engine);
    const ActId act = program.add_activation("in", n_cols);
    program.add(EmbedOp{
        .out = act,
        .table = *backend.load_matrix({"x", TypeId::kF32, 1, 1, n_cols, {std::as_bytes(std::span(row))}, {}, false})});
    return act;
  };
  const ActId qk = input(2 * kKeys);
  program.add(DeltaRuleOp{.out = program.add_activation("out", kValues),
                          .q = qk,
                          .k = qk,
                          .v = input(kValues),
                          .decay = input(kHeads),
                          .beta = input(kHeads),
                          .k_col = kKeys,
                          .layer = 0,
                          .part = 0,
                          .n_heads = kHeads,
                          .n_key_heads = kKeyHeads,
                          .key_dim = kDim,
                          .value_dim = kDim,
                          .a = *backend.load_vector(std::vector<float>(kHeads, -0.1f)),
                          .decay_bias = *backend.load_vector(std::vector<float>(kHeads))});
  const auto compiled = backend.compile(program);
  if (!compiled.ok()) return state.SkipWithError("compile");
  const std::vector<TokenId> tokens(n_tokens);
  const std::vector<Pos> positions(n_tokens, 1);
  const std::vector<BatchSequence> seqs{{0, n_tokens, Pos{1}, {}, StateId{0}, StateId{0}}};
  const StepBatch batch{tokens, positions, seqs, n_tokens == 1 ? 1u : 0u, {}};
  for (auto _ : state) backend.run(*compiled, batch);
  const double flops = 7.0 * n_tokens * kDim * kValues * static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsRate);
}

// The cost of having all members of a team wait for each other, as between operations.
void barrier(benchmark::State& state) {
  ThreadTeam team(static_cast<uint32_t>(state.range(0)));
  constexpr int kBarriers = 1000;
  auto job = [&](uint32_t member) {
    for (int i = 0; i < kBarriers; ++i) team.barrier(member);
  };
  for (auto _ : state) team.run(job);
  state.counters["barriers/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kBarriers, benchmark::Counter::kIsRate);
}

}  // namespace
}  // namespace realizar

int main(int argc, char** argv) {
  using namespace realizar;
  for (const uint32_t n_threads : {1u, n_usable_cores()}) {
    const cpu::Peaks p = cpu::measure_peaks(n_threads);
    std::printf("%u threads: read %.1f GB/s, FMA %.0f GFLOP/s, bf16 %.0f GFLOP/s, int8 %.0f GOP/s\n", n_threads,
                p.read_gb_per_s, p.fma_gflop_per_s, p.bf16_gflop_per_s, p.int8_gop_per_s);
  }
  const cpu::Peaks peaks = cpu::measure_peaks(0);
  for (const cpu::CpuIsa isa : cpu::kCpuIsas) {
    const std::string level = to_string(isa);
    for (const uint32_t n_tokens : {1u, 512u}) {
      const std::string name = std::string(n_tokens == 1 ? "decode/" : "prefill/") + level + "/delta_rule";
      benchmark::RegisterBenchmark(name.c_str(), [=, isa = isa](benchmark::State& state) {
        learn(state, isa, n_tokens);
      })->UseRealTime();
    }
    register_layer_lines(isa);
    for (const TypeTraits& type : all_types()) {
      for (const Shape shape : kShapes) {
        for (const Step& step : kSteps) {
          const std::string name = std::string(step.name) + '/' + level + '/' + std::string(type.name) + '/' +
                                   std::to_string(shape.n_rows) + 'x' + std::to_string(shape.n_cols);
          const TypeId id = type.id;
          benchmark::RegisterBenchmark(name.c_str(), [=, isa = isa](benchmark::State& state) {
            multiply(state, id, isa, shape, step, peaks);
          })->UseRealTime();
        }
      }
    }
  }
  benchmark::RegisterBenchmark("barrier", barrier)->Arg(1)->Arg(n_usable_cores())->UseRealTime();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
