#include "layer_lines.h"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "support/step_driver.h"
#include "support/tiny_model.h"

namespace realizar {
namespace {

// A model of one layer and a vocabulary so small that only the layer matters. The sizes are from a model's config.json;
// it has at most as many experts as a batch of 512 tokens uses, so that files stay small.
struct Kind {
  const char* name;
  const ArchSpec* spec;
  bool has_experts;
  test::TinyDims dims;
};

const Kind kKinds[] = {
    {"attention+gated",
     &kLlama,
     false,  // Llama 3.2 1B
     {.d_model = 2048, .n_heads = 32, .n_kv_heads = 8, .head_dim = 64, .d_ff = 8192}},
    {"attention+plain",
     &kGptNeoX,
     false,  // Pythia 1.4B
     {.d_model = 2048, .n_heads = 16, .n_kv_heads = 16, .head_dim = 128, .d_ff = 8192}},
    {"attention+experts",
     &kQwen3Moe,
     true,  // Qwen3 30B A3B
     {.d_model = 2048,
      .n_heads = 32,
      .n_kv_heads = 4,
      .head_dim = 128,
      .n_experts = 32,
      .n_used = 8,
      .expert_d_ff = 768}},
    {"sinks+experts_with_biases",
     &kGptOss,
     true,  // gpt-oss 20B
     {.d_model = 2880,
      .n_heads = 64,
      .n_kv_heads = 8,
      .head_dim = 64,
      .n_experts = 8,
      .n_used = 4,
      .expert_d_ff = 2880}},
    {"latent_attention+shared_experts",
     &kDeepseek2,
     true,  // DeepSeek V3's attention, V2 Lite's sizes
     {.d_model = 2048,
      .n_heads = 16,
      .n_kv_heads = 1,
      .head_dim = 192,
      .n_experts = 16,
      .n_used = 6,
      .expert_d_ff = 1408,
      .shared_d_ff = 2816,
      .q_rank = 1536,
      .latent = 512,
      .n_rot = 64,
      .d_value = 128}},
    {"mamba2",
     &kMamba2,
     false,  // Mamba 2 1.3B
     {.d_model = 2048, .ssm_heads = 64, .ssm_head_dim = 64, .ssm_groups = 1, .ssm_state = 128}},
    {"delta_net+experts",
     &kQwen3Next,
     true,  // Qwen3 Next 80B A3B
     {.d_model = 2048,
      .n_heads = 16,
      .n_kv_heads = 2,
      .head_dim = 256,
      .n_experts = 16,
      .n_used = 10,
      .expert_d_ff = 512,
      .shared_d_ff = 512,
      .ssm_heads = 32,
      .ssm_head_dim = 128,
      .ssm_groups = 16,
      .ssm_state = 128}},
    {"kimi_delta+experts",
     &kKimiLinear,
     true,  // Kimi Linear 48B A3B
     {.d_model = 2304,
      .n_heads = 32,
      .n_kv_heads = 1,
      .head_dim = 128,
      .n_experts = 16,
      .n_used = 8,
      .expert_d_ff = 1024,
      .shared_d_ff = 1024,
      .latent = 512,
      .n_rot = 64}},
    {"altup+laurel+cut",
     &kGemma3n,
     false,  // Gemma 3n E4B, one of the first ten layers
     {.d_model = 2048, .n_heads = 8, .n_kv_heads = 2, .head_dim = 256, .d_ff = 16384, .d_layer_input = 256}},
    {"short_conv+gated",
     &kLfm2,
     false,  // LFM2 1.2B
     {.d_model = 2048, .n_heads = 32, .n_kv_heads = 8, .head_dim = 64, .d_ff = 8192, .n_taps = 3}},
    {"rwkv7+channel_mix",
     &kRwkv7,
     false,  // RWKV-7 World 1.5B
     {.d_model = 2048,
      .d_ff = 8192,
      .ssm_head_dim = 64,
      .decay_rank = 96,
      .rate_rank = 96,
      .v_rank = 64,
      .gate_rank = 256}},
};

constexpr uint32_t kPromptRows = 512;

// Norms, biases, the taps of convolutions and shares of the previous row are not quantized.
TypeId type_of(const test::TinyTensor& tensor) {
  const bool has_blocks = tensor.shape.size() > 1 && tensor.shape.back() % 32 == 0 && !tensor.name.ends_with("bias") &&
                          !tensor.name.ends_with("norm.weight") && tensor.role != Role::kShifts;
  return has_blocks ? TypeId::kQ8_0 : TypeId::kF32;
}

Result<ModelFile> open_model(const Kind& kind) {
  test::TinyDims dims = kind.dims;
  dims.n_layers = 1;
  dims.n_vocab = 64;
  dims.n_ctx = kPromptRows;
  test::TinyModel model = test::tiny_model(*kind.spec, kind.has_experts, dims);
  const std::vector<test::TinyTensor> tensors = std::exchange(model.tensors, {});
  GgufWriter writer = model.writer();
  for (const auto& tensor : tensors) writer.add_tensor(tensor.name, type_of(tensor), tensor.shape, tensor.values);
  const auto path = std::filesystem::temp_directory_path() / ("layer_lines." + std::to_string(getpid()) + ".gguf");
  RZ_CHECK_OK(writer.write(path));
  auto file = ModelFile::open(path);
  std::filesystem::remove(path);  // the map keeps it
  return file;
}

void compute(benchmark::State& state, const Kind& kind, cpu::CpuIsa isa, uint32_t n_rows) {
  auto backend = cpu::make_cpu_backend({.isa = isa});
  if (!backend.ok()) return state.SkipWithError(backend.error().message.c_str());
  const auto file = open_model(kind);
  if (!file.ok()) return state.SkipWithError(file.error().message.c_str());
  auto driver = test::StepDriver::open(*file, *std::move(backend), kPromptRows, KvType::kF16);
  if (!driver.ok()) return state.SkipWithError(driver.error().message.c_str());
  const std::vector<int> tokens(n_rows, 1);
  const uint32_t n_prompt = n_rows == 1 ? 0 : n_rows;
  for (auto _ : state) {
    if (!(*driver)->run(tokens, n_prompt, n_rows).ok()) return state.SkipWithError("the step failed");
  }
  state.counters["rows/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * n_rows, benchmark::Counter::kIsRate);
}

}  // namespace

void register_layer_lines(cpu::CpuIsa isa) {
  for (const uint32_t n_rows : {1u, kPromptRows}) {
    for (const Kind& kind : kKinds) {
      const std::string name =
          std::string(n_rows == 1 ? "layer/decode/" : "layer/prefill/") + to_string(isa) + '/' + kind.name;
      benchmark::RegisterBenchmark(name.c_str(), [=, &kind](benchmark::State& state) {
        compute(state, kind, isa, n_rows);
      })->UseRealTime();
    }
  }
}

}  // namespace realizar
