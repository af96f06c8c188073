#include "cli/options.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>

#include "base/files.h"
#include "cli/output.h"

namespace realizar::cli {
namespace {

Result<std::pair<TokenId, float>> parse_logit_bias(const std::string& text) {
  int id = 0;
  float value = 0;
  int n_read = 0;
  if (std::sscanf(text.c_str(), "%d=%f%n", &id, &value, &n_read) != 2 || static_cast<size_t>(n_read) != text.size()) {
    return invalid_argument("--logit-bias wants ID=VALUE, not '" + text + "'", "logit_bias");
  }
  return std::pair{TokenId{id}, value};
}

Result<std::string> read_stdin_text(uint64_t max_bytes) {
  constexpr size_t kPieceBytes = size_t{1} << 20;
  std::string text;
  while (std::cin) {
    const size_t n_before = text.size();
    text.resize(n_before + kPieceBytes);
    std::cin.read(text.data() + n_before, kPieceBytes);
    text.resize(n_before + static_cast<size_t>(std::cin.gcount()));
    if (text.size() > max_bytes) {
      return format_error("standard input has more than " + std::to_string(max_bytes) + " bytes", "stdin");
    }
  }
  return text;
}

// Draws "loading 42 %" at most ten times a second, and only once loading has taken long enough to be noticed.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void update(uint64_t done_bytes, uint64_t total_bytes) {
    const auto now = std::chrono::steady_clock::now();
    if (total_bytes == 0 || now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    std::fprintf(stderr, "\rloading %3.0f %%",
                 100.0 * static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
    shown_ = true;
  }

 private:
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  bool shown_ = false;
};

}  // namespace

void LoadFlags::add_to(Flags flags) {
  flags = flags.group("Model");
  flags
      .option("--backend", options.backend,
              "Device: auto (a GPU that can run the model, else the CPU), cpu, cuda, or reference (slow, exact; for "
              "checking)")
      .one_of({"auto", "cpu", "cuda", "reference"})
      .with_default();
  flags
      .option("--device", options.devices,
              "GPUs as `realizar devices` counts them, e.g. 0,1; several share the model's layers (default: the first, "
              "and as many others as the model needs)")
      .separated_by(',')
      .one_at_a_time()
      .shown_as("UINT,...");
  flags
      .option(
          "--split", options.split,
          "How several GPUs share the model: layer (each has some layers, they take turns) or tensor (each has a part "
          "of every layer, they compute together; needs NVIDIA's libnccl.so.2)")
      .one_of({"layer", "tensor"})
      .with_default();
  flags.option("--gpu-layers", options.n_gpu_layers,
               "Layers that stay in the GPUs' memory, the others are brought over each step (default: as many as fit)");
  flags.option("--gpu-memory", options.gpu_memory_mb, "MB of each GPU's memory to use at most; 0: what is free")
      .with_default();
  flags
      .option("--host-cache", options.host_cache_mb,
              "MB of the host's memory for cached prefixes that the GPU has no room for")
      .with_default();
  flags
      .option(
          "--choose", options.choose,
          "Who draws tokens: device (the GPU where it can) or host (the processor, from all logits); the tokens are "
          "the same")
      .one_of({"device", "host"})
      .with_default();
  flags.flag("--warm-up", options.warm_up,
             "Run steps of every usual size once the model is loaded, so that the first requests take no longer than "
             "later ones (a GPU records its steps then)");
  flags.flag("--check", options.check,
             "Compare the logits of a short text with another backend's before anything else");
  flags.option("--isa", options.isa, "Kernels of the cpu backend")
      .one_of({"auto", "portable", "avx2", "avx-vnni", "avx512", "amx", "neon", "dotprod", "i8mm"})
      .with_default();
  flags.option("-t,--threads", options.n_threads, "Threads; 0: every core that the process may use")
      .in_range(0, 1024)
      .with_default();
  flags.option("-c,--ctx", options.n_ctx, "Context length in tokens; 0: the model's own, at most 8192").with_default();
  flags.option("--kv-type", options.kv_type, "Element type of the KV cache: f32, f16, bf16, q8_0, fp8")
      .one_of({"f32", "f16", "bf16", "q8_0", "fp8"})
      .with_default();
  flags.option("--draft", options.draft_path,
               "Smaller model with the same vocabulary whose guesses are verified together");
  flags
      .option("--draft-tokens", options.n_draft,
              "Tokens to guess at a time, by --draft or from the text so far; 0: none, with --draft 4")
      .in_range(0, 64)
      .with_default();
  flags.option("--batch-tokens", options.max_batch_tokens, "Prompt tokens computed in one step")
      .in_range(1, 65536)
      .with_default();
}

void SamplingFlags::add_to(Flags flags) {
  flags = flags.group("Sampling");
  flags.option("--temperature,--temp", temperature, "Temperature; 0: always the likeliest token");
  flags.option("--top-k", top_k, "Keep the k likeliest tokens; 0: off");
  flags.option("--typical-p", typical_p, "Locally typical sampling, (0, 1]; 1: off");
  flags.option("--top-p", top_p, "Nucleus sampling, (0, 1]; 1: off");
  flags.option("--min-p", min_p, "Drop tokens below this share of the likeliest one's probability; 0: off");
  flags.option("--repeat-penalty", repeat_penalty, "Penalty on tokens seen before; 1: off");
  flags.option("--repeat-last-n", repeat_last_n, "Tokens that penalties look back on; -1: all; 0: none");
  flags.option("--frequency-penalty", frequency_penalty, "Penalty for each time a token was seen");
  flags.option("--presence-penalty", presence_penalty, "Penalty for tokens that were seen at all");
  flags.option("--logit-bias", logit_bias, "ID=VALUE, added to a token's logit; may be repeated").one_at_a_time();
  flags.option("--seed", seed, "Seed of the draws; the same seed gives the same text (default: random)");
}

Result<SamplingParams> SamplingFlags::over(SamplingParams defaults) const {
  const auto take = [](auto& target, const auto& given) {
    if (given) target = *given;
  };
  take(defaults.temperature, temperature);
  take(defaults.top_k, top_k);
  take(defaults.typical_p, typical_p);
  take(defaults.top_p, top_p);
  take(defaults.min_p, min_p);
  take(defaults.repeat_penalty, repeat_penalty);
  take(defaults.repeat_last_n, repeat_last_n);
  take(defaults.frequency_penalty, frequency_penalty);
  take(defaults.presence_penalty, presence_penalty);
  defaults.seed = seed ? *seed : (uint64_t{std::random_device{}()} << 32 | std::random_device{}());
  for (const std::string& text : logit_bias) {
    RZ_TRY(auto bias, parse_logit_bias(text));
    defaults.logit_bias.push_back(bias);
  }
  return defaults;
}

Result<LanguageModel> load_model(const std::string& path, LoadOptions options) {
  ProgressLine line;
  if (stderr_is_terminal()) {
    options.progress = [&line](uint64_t done_bytes, uint64_t total_bytes) {
      line.update(done_bytes, total_bytes);
      return true;
    };
  }
  auto model = LanguageModel::load(path, options);
  if (model.ok() && !model->info().gpu_refusal.empty()) warn("not on the GPU: " + model->info().gpu_refusal);
  if (model.ok() && !model->info().check.empty()) warn(model->info().check);
  return model;
}

Result<std::string> bundled_model_path(const std::string& command) {
  std::error_code error;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string file = "models/realizar-tiny/realizar-tiny-Q8_0.gguf";
  // bin/ of an install tree has share/realizar beside it; build/<preset>/bin lies three levels below the source.
  const auto bin = executable.parent_path();
  for (const auto& candidate : {bin / "../share/realizar" / file, bin / "../../.." / file}) {
    if (std::filesystem::exists(candidate, error)) return std::filesystem::weakly_canonical(candidate, error).string();
  }
  return not_found(
      "the bundled model is not beside " + executable.string() + "; name a model: realizar " + command + " MODEL",
      file);
}

Result<std::string> read_text(const std::string& path) {
  constexpr uint64_t kMaxTextBytes = uint64_t{4} << 30;
  if (path == "-") return read_stdin_text(kMaxTextBytes);
  return read_file_or_pipe(path, kMaxTextBytes);
}

}  // namespace realizar::cli
