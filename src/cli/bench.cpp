#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "backend/cpu/peaks.h"
#include "backend/cuda/device/peaks.h"
#include "backend/cuda/device/runtime.h"
#include "base/cpu_features.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/rank_job.h"
#include "cli/store_flags.h"
#include "cli/trace_report.h"

namespace realizar::cli {
namespace {

struct BenchArgs {
  std::string model;
  uint32_t n_prompt = 512, n_gen = 128, n_depth = 0, n_reps = 5;
  std::vector<uint32_t> threads = {0}, batches = {1};
  bool json = false;
  bool peak = false;
  bool ignore_eos = false;  // always true here
  TraceFlags trace;
  LoadFlags load;
};

struct Spread {
  double min = 0, median = 0, max = 0;
  double mean = 0, deviation = 0;  // the sample standard deviation
};

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double median = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
  return {values.front(), median, values.back(), mean, n > 1 ? std::sqrt(squares / (n - 1)) : 0};
}

// Messages of the first rank that shares the model, and the time that it waits for the others.
struct ExchangePerToken {
  double n_messages = 0, n_bytes = 0, wait_ms = 0;
};
struct RankExchange {
  ExchangePerToken prefill, decode;
};

struct BenchResult {
  uint32_t n_threads = 0, n_seqs = 1;
  Spread prefill, decode;      // tokens/s, over all sequences
  double prefill_gflops = 0;   // at the median
  double decode_gb_per_s = 0;  // at the median
  cpu::Peaks peaks;
  bool is_gpu = false;
  std::optional<RankExchange> exchange = {};
};

// Ids spread over the vocabulary by a multiplicative hash: never the same prompt twice, but the same in every run.
std::vector<TokenId> made_up_tokens(uint32_t n, uint32_t n_vocab, uint32_t salt) {
  std::vector<TokenId> tokens(n);
  for (uint32_t i = 0; i < n; ++i) {
    const uint64_t hash = (uint64_t{i} + 1 + uint64_t{salt} * 1000003) * 0x9E3779B97F4A7C15ull;
    tokens[i] = TokenId{static_cast<int32_t>((hash >> 33) % n_vocab)};
  }
  return tokens;
}

// Tokens per second over all sequences.
struct Rates {
  double prefill = 0, decode = 0;
  uint32_t n_prefilled = 0;
};

// Shows on a terminal what is being measured, until it is destroyed.
class BenchProgress {
 public:
  BenchProgress() = default;
  BenchProgress(const BenchProgress&) = delete;
  BenchProgress& operator=(const BenchProgress&) = delete;
  ~BenchProgress() {
    if (stderr_is_terminal()) std::fputs("\r\033[K", stderr);
  }
  void say(const std::string& text) const {
    if (stderr_is_terminal()) std::fputs(("\r\033[K" + text).c_str(), stderr);
  }
};

// Fills the cache to the depth, untimed; then times the prompts, all of which fit in one step if there are several, and
// the answers.
Result<Rates> run_once(LanguageModel& model, const BenchArgs& args, uint32_t n_seqs, uint32_t salt) {
  model.clear_cache();
  std::vector<Request> requests(n_seqs);
  for (uint32_t i = 0; i < n_seqs; ++i) {
    requests[i].sampling.temperature = 0;
    requests[i].ignore_eos = true;
    requests[i].prompt = made_up_tokens(args.n_depth + args.n_prompt, model.info().n_vocab, salt * n_seqs + i);
    requests[i].max_tokens = args.n_gen + 1;  // the first token comes from the prompt
  }
  if (args.n_depth > 0) {
    std::vector<Request> fillers = requests;
    for (Request& filler : fillers) {
      filler.prompt.resize(args.n_depth);
      filler.max_tokens = 1;
    }
    RZ_CHECK_OK(model.generate_all(fillers));
    model.clear_trace();
  }
  RZ_TRY(const std::vector<Generation> generations, model.generate_all(requests));
  Rates rates;
  double prefill_ms = 0, decode_ms = 0;
  for (const Generation& generation : generations) {
    rates.n_prefilled += generation.stats.n_prompt - generation.stats.n_cached;
    prefill_ms = std::max(prefill_ms, generation.stats.prefill_ms);
    decode_ms = std::max(decode_ms, generation.stats.decode_ms);
  }
  rates.prefill = rates.n_prefilled / prefill_ms * 1e3;
  if (args.n_gen > 0) rates.decode = n_seqs * args.n_gen / decode_ms * 1e3;
  return rates;
}

// Operations and bytes of one traced run, summed by phase.
struct Work {
  double prefill_flops = 0, decode_bytes = 0;
};

Work traced_work(const LanguageModel& model) {
  Work work;
  for (const TraceRow& row : model.trace().rows) {
    if (row.decode) work.decode_bytes += row.bytes;
    if (!row.decode) work.prefill_flops += row.flops;
  }
  return work;
}

// Measures the GPU's copy bandwidth and its bf16 products, even if a model's products use int8. Several GPUs take
// turns, so the first represents all.
Result<cpu::Peaks> gpu_peaks(const LoadOptions& options) {
  RZ_TRY(const auto device, cuda::open_device(options.gpu.devices.empty() ? 0 : options.gpu.devices.front()));
  RZ_TRY(const auto peaks, cuda::measure_peaks(*device));
  return cpu::Peaks{peaks.copy_gb_per_s, 0, peaks.bf16_gflop_per_s, 0};
}

ExchangePerToken per_token(const ExchangeUse& use, const ExchangePerToken& before, double n_tokens) {
  return {(static_cast<double>(use.n_messages) - before.n_messages) / n_tokens,
          (static_cast<double>(use.n_bytes) - before.n_bytes) / n_tokens,
          (static_cast<double>(use.wait_ns) / 1e6 - before.wait_ms) / n_tokens};
}

// Measured with a prompt only, and with a prompt and generated tokens.
Result<RankExchange> measure_exchange(LanguageModel& model, const BenchArgs& args, uint32_t n_seqs) {
  const ExchangeUse& use = RankJob::ranks()->exchange().use();
  const auto so_far = [&] { return per_token(use, {}, 1); };
  BenchArgs prompt = args;
  prompt.n_gen = 0;
  RankExchange exchange;
  ExchangePerToken before = so_far();
  RZ_TRY(const Rates alone, run_once(model, prompt, n_seqs, args.n_reps + 1));
  exchange.prefill = per_token(use, before, alone.n_prefilled);
  if (args.n_gen == 0) return exchange;
  before = so_far();
  RZ_TRY(const Rates both, run_once(model, args, n_seqs, args.n_reps + 2));
  before.n_messages += exchange.prefill.n_messages * both.n_prefilled;
  before.n_bytes += exchange.prefill.n_bytes * both.n_prefilled;
  before.wait_ms += exchange.prefill.wait_ms * both.n_prefilled;
  exchange.decode = per_token(use, before, static_cast<double>(args.n_gen) * n_seqs);
  return exchange;
}

Result<BenchResult> bench_with(const BenchArgs& args, uint32_t n_threads, uint32_t n_seqs) {
  LoadOptions options = args.load.options;
  options.cpu.n_threads = n_threads;
  options.batch.max_seqs = n_seqs;
  options.draft.guesses = false;  // the tokens are synthetic
  options.n_ctx = std::max(options.n_ctx, args.n_depth + args.n_prompt + args.n_gen + 1);
  if (n_seqs > 1) options.batch.max_tokens = std::max(options.batch.max_tokens, n_seqs * args.n_prompt);
  RZ_TRY(LanguageModel model, load_model(args.model, options, args.load.store));
  model.set_trace(true);
  const BenchProgress progress;
  const std::string what = fmt::format("threads {}, batch {}: ", n_threads, n_seqs);
  progress.say(what + "warming up");
  RZ_TRY(const Rates warm_up, run_once(model, args, n_seqs, 0));
  const Work work = traced_work(model);
  model.set_trace(args.trace.wanted());
  model.clear_trace();
  std::vector<double> prefill, decode;
  for (uint32_t rep = 1; rep <= args.n_reps; ++rep) {
    progress.say(fmt::format("{}repetition {} of {}", what, rep, args.n_reps));
    RZ_TRY(const Rates rates, run_once(model, args, n_seqs, rep));
    prefill.push_back(rates.prefill);
    if (args.n_gen > 0) decode.push_back(rates.decode);
  }
  RZ_CHECK_OK(report_trace(args.trace, model));
  std::optional<RankExchange> exchange;
  if (RankJob::ranks() != nullptr) {
    RZ_TRY(exchange, measure_exchange(model, args, n_seqs));
  }
  progress.say(what + "measuring what this machine can reach");
  BenchResult result{n_threads, n_seqs, spread_of(prefill), spread_of(decode), 0, 0, {}};
  const bool is_cuda = model.info().backend.find("cuda (") != std::string::npos;
  RZ_TRY(result.peaks, is_cuda ? gpu_peaks(options) : cpu::measure_peaks(n_threads));
  result.exchange = exchange;
  result.is_gpu = is_cuda;
  result.prefill_gflops = work.prefill_flops / warm_up.n_prefilled * result.prefill.median / 1e9;
  if (args.n_gen > 0) result.decode_gb_per_s = work.decode_bytes / args.n_gen * result.decode.median / n_seqs / 1e9;
  return result;
}

nlohmann::ordered_json exchange_json(const ExchangePerToken& e) {
  return {{"messages", e.n_messages}, {"bytes", e.n_bytes}, {"wait_ms", e.wait_ms}};
}

std::string exchange_text(const char* phase, const ExchangePerToken& e) {
  return fmt::format("  {:<8}{:>9.1f} messages, {:.1f} kB sent and {:.2f} ms of waiting for other ranks a token\n",
                     phase, e.n_messages, e.n_bytes / 1e3, e.wait_ms);
}

nlohmann::ordered_json spread_json(const Spread& s) {
  return {{"min", s.min}, {"median", s.median}, {"max", s.max}, {"mean", s.mean}, {"deviation", s.deviation}};
}

nlohmann::ordered_json result_json(const BenchArgs& args, const BenchResult& r) {
  // The quantity that `best_gflops` measured. On a GPU it is an instruction that every generation has: from Hopper on,
  // the vendor's library is faster with others.
  const char* peak_of = r.is_gpu ? "bf16 products by mma.sync" : "products of this processor";
  nlohmann::ordered_json json{{"model", args.model},
                              {"threads", r.n_threads},
                              {"batch", r.n_seqs},
                              {"prompt", args.n_prompt},
                              {"gen", args.n_gen},
                              {"depth", args.n_depth},
                              {"reps", args.n_reps},
                              {"prefill_tok_s", spread_json(r.prefill)},
                              {"decode_tok_s", spread_json(r.decode)},
                              {"prefill_gflop_s", r.prefill_gflops},
                              {"decode_gb_s", r.decode_gb_per_s},
                              {"peak_gflop_s", r.peaks.best_gflops()},
                              {"peak_of", peak_of},
                              {"peak_read_gb_s", r.peaks.read_gb_per_s}};
  if (r.exchange) {
    json["exchange_per_token"] = {{"prefill", exchange_json(r.exchange->prefill)},
                                  {"decode", exchange_json(r.exchange->decode)}};
  }
  return json;
}

std::string phase_text(const char* phase, const Spread& rate, const std::string& share) {
  return fmt::format("  {:<8}{:>9.1f} tokens/s ({:.1f}-{:.1f})\n          {}\n", phase, rate.median, rate.min, rate.max,
                     share);
}

std::string arithmetic_text(const BenchResult& r) {
  const double peak = r.peaks.best_gflops();
  return fmt::format("{:.1f} GFLOP/s, {:.1f} % of {:.0f} GFLOP/s{}", r.prefill_gflops, 100 * r.prefill_gflops / peak,
                     peak, r.is_gpu ? " by mma.sync" : "");
}

// Weights that fit in the caches are read faster than from memory, so a share of memory bandwidth would be meaningless.
std::string bandwidth_text(const BenchResult& r) {
  const double peak = r.peaks.read_gb_per_s;
  if (r.decode_gb_per_s > peak) {
    return fmt::format("{:.1f} GB/s, from the caches: memory gives {:.1f} GB/s", r.decode_gb_per_s, peak);
  }
  return fmt::format("{:.1f} GB/s, {:.1f} % of {:.1f} GB/s", r.decode_gb_per_s, 100 * r.decode_gb_per_s / peak, peak);
}

std::string result_text(const BenchResult& r) {
  std::string text = fmt::format("threads {}, batch {}\n", r.n_threads, r.n_seqs) +
                     phase_text("prefill", r.prefill, arithmetic_text(r));
  if (r.exchange) text += exchange_text("", r.exchange->prefill);
  if (r.decode.median == 0) return text;
  text += phase_text("decode", r.decode, bandwidth_text(r));
  return r.exchange ? text + exchange_text("", r.exchange->decode) : text;
}

Result<bool> print_peaks(const BenchArgs& args, uint32_t n_threads) {
  const bool is_gpu = args.load.options.backend == BackendChoice::kCuda;
  RZ_TRY(const cpu::Peaks p, is_gpu ? gpu_peaks(args.load.options) : cpu::measure_peaks(n_threads));
  if (args.json) {
    return print_line(nlohmann::ordered_json{{"threads", n_threads},
                                             {"read_gb_s", p.read_gb_per_s},
                                             {"fma_gflop_s", p.fma_gflop_per_s},
                                             {"bf16_gflop_s", p.bf16_gflop_per_s},
                                             {"int8_gop_s", p.int8_gop_per_s}}
                          .dump());
  }
  return print(fmt::format(
      "threads {}\n  memory reads  {:9.1f} GB/s\n  FMA in F32    {:9.0f} GFLOP/s\n  BF16 products {:9.0f} GFLOP/s\n"
      "  int8 products {:9.0f} GOP/s\n",
      n_threads, p.read_gb_per_s, p.fma_gflop_per_s, p.bf16_gflop_per_s, p.int8_gop_per_s));
}

Result<int> bench(BenchArgs& args) {
  if (!args.peak && args.model.empty()) {
    RZ_TRY(args.model, bundled_in_place("bench", "is measured"));
  }
  for (const uint32_t wanted : args.threads) {
    const uint32_t n_threads = wanted > 0 ? wanted : n_usable_cores();
    if (args.peak) {
      RZ_TRY(const bool written, print_peaks(args, n_threads));
      if (!written) return kFailure;
      continue;
    }
    for (const uint32_t n_seqs : args.batches) {
      RZ_TRY(const BenchResult result, bench_with(args, n_threads, n_seqs));
      const bool written = args.json ? print_line(result_json(args, result).dump()) : print(result_text(result));
      if (!written) return kFailure;
    }
  }
  return kOk;
}

}  // namespace

void add_bench(CommandLine& line) {
  auto args = std::make_shared<BenchArgs>();
  Flags flags = line.command(
      "bench",
      "Measure prefill and decode speed on made-up tokens. Prints medians over repetitions (min-max), and their share "
      "of what this machine was just measured to reach: arithmetic for prefill, memory reads for decode");
  flags.option("model,-m,--model", args->model, "Model; without one the bundled model is measured", {.takes = kFile});
  flags.flag("--peak", args->peak, "Measure only what this machine can reach; needs no model");
  flags.option("-p,--prompt", args->n_prompt, "Prompt tokens", {.range = {1, 1 << 20}, .has_default = true});
  flags.option("-n,--gen", args->n_gen, "Tokens to generate", {.range = {0, 1 << 20}, .has_default = true});
  flags.option("-d,--depth", args->n_depth, "Tokens of context before the prompt", {.has_default = true});
  flags.option("-r,--reps", args->n_reps, "Repetitions", {.range = {1, 1000}, .has_default = true});
  flags.option("-b,--batch", args->batches, "Sequences at once, e.g. 1,8,16",
               {.range = {1, 1024}, .shown_as = "N,...", .has_default = true, .separator = ','});
  flags.flag("--json", args->json, "Print one JSON object a line");
  flags.flag("--ignore-eos", args->ignore_eos, "Generate past the model's end tokens; bench always does");
  flags.option("-t,--threads", args->threads, "Threads, e.g. 1,2; 0: every core that the process may use",
               {.range = {0, 1024}, .shown_as = "N,...", .has_default = true, .separator = ','});
  args->load.add_to(flags, ThreadsOption::kNone);
  args->trace.add_to(flags);
  flags.examples({"realizar bench model.gguf -p 512 -n 128 -t 1,2", "realizar bench --peak"});
  flags.runs([args] { return bench(*args); });
}

}  // namespace realizar::cli
