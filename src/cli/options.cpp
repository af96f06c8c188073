#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "api/loaded_model.h"
#include "base/files.h"
#include "base/try.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "hub/user_folders.h"
#include "sampling/sampler_names.h"

namespace realizar::cli {
namespace {

Result<std::pair<TokenId, float>> parse_logit_bias(const std::string& text) {
  int id = 0;
  float value = 0;
  int n_read = 0;
  if (std::sscanf(text.c_str(), "%d=%f%n", &id, &value, &n_read) != 2 || static_cast<size_t>(n_read) != text.size()) {
    return invalid_argument("--logit-bias " + text + ": must be ID=VALUE, e.g. 15=-2.5", "logit_bias");
  }
  return std::pair{TokenId{id}, value};
}

std::string flag_names(const SamplingParameter& parameter) {
  std::string name = "--" + std::string(parameter.name);
  std::replace(name.begin(), name.end(), '_', '-');
  return parameter.other_flag.empty() ? name : name + ',' + std::string(parameter.other_flag);
}

// The default is the library's, which a model's own recommendation replaces; a seed has none.
template <class Number>
void add_parameter(Flags flags, const SamplingParameter& parameter, Number& number) {
  const SamplingParams defaults;
  visit_parameter(parameter, defaults, [&](auto usual) {
    auto& value = number.template emplace<std::optional<decltype(usual)>>();
    OptionTraits traits{.is_common = parameter.is_common};
    if constexpr (!std::is_same_v<decltype(usual), uint64_t>) {
      traits.range = {parameter.range.min, parameter.range.max, parameter.range.above};
      traits.shown_default = fmt::format("{}{}", parameter.is_recommended() ? "the model's own, else " : "", usual);
    }
    flags.option(flag_names(parameter), value, std::string(parameter.help), traits);
  });
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
  return without_byte_order_mark(std::move(text));
}

// Draws "loading 42 %" at most ten times a second, after loading has taken a noticeable time.
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

void LoadFlags::add_to(Flags flags, ThreadsOption threads_option, StoreFlags::Network network) {
  store.add_to(flags, network);
  flags = flags.group("Model").advanced();
  flags.option("-c,--ctx", options.n_ctx, "Context length in tokens; 0: the model's own, at most 8192",
               {.has_default = true, .is_common = true});
  if (threads_option == ThreadsOption::kOne) {
    flags.option("-t,--threads", options.cpu.n_threads, "Threads; 0: every core that the process may use",
                 {.range = {0, 1024}, .has_default = true, .is_common = true});
  }
  flags.option(
      "--rope-scaling", options.rope.scaling,
      "How rotary positions are extended beyond the training context: as in the model's file (model), or none, "
      "linear, dynamic or yarn",
      {.shown_as = "HOW", .has_default = true});
  flags.option("--rope-factor", options.rope.factor,
               "The context grows by the factor X with --rope-scaling linear, dynamic or yarn", {.range = kPositive});
  flags.option("--rope-original-context", options.rope.n_ctx_original,
               "Size of that context in tokens; 0: the training context from the file", {.has_default = true});
  flags.option("--kv-type", options.cache.type, "Element type of the KV cache",
               {.shown_as = "TYPE", .has_default = true});
  flags.option("--backend", options.backend,
               "Device: auto, cpu, cuda or reference. auto uses a GPU if it can run the model, otherwise the CPU; "
               "reference is slow and exact, for checking",
               {.shown_as = "NAME", .has_default = true, .is_common = true});
  flags.option("--isa", options.cpu.isa, "Kernels of the cpu backend", {.shown_as = "NAME", .has_default = true});
  flags.option("--batch-tokens", options.batch.max_tokens, "Compute at most N prompt tokens in one step",
               {.range = {1, 65536}, .has_default = true});
  flags.option("--draft", options.draft.path,
               "Smaller model with the same vocabulary that proposes tokens; the model checks several at once",
               {.takes = kFile});
  flags.option("--draft-tokens", options.draft.n_tokens,
               "Propose N tokens at a time, with --draft or from the text so far; 0: as many as pays off, measured at "
               "run time",
               {.range = {0, 64}, .has_default = true});
  flags.flag_off("--no-guesses", options.draft.guesses,
                 "Do not propose tokens from the text so far if --draft-tokens is 0 and --draft is not given");
  flags.option("--lora", options.adapters.sources,
               "Adapter of low rank (LoRA): a GGUF file or a folder of PEFT. SCALE multiplies its effect; may be "
               "repeated if requests choose one",
               {.takes = kFileInside});
  flags.option("--choose", options.gpu.chooser,
               "Device for choosing tokens: device (on the GPU, if possible) or host (on the processor, from all "
               "logits); the tokens are the same",
               {.has_default = true});
  flags.flag("--warm-up", options.warm_up,
             "Run steps of every usual size once the model is loaded, so that the first requests take no longer than "
             "later ones (a GPU records its steps then)");
  flags.flag("--check", options.check, "First compare the logits of a short text with those of another backend");
  add_gpu_options(flags.group("GPU").for_gpu());
}

std::string LoadFlags::changing_option(const Flags& flags) const {
  constexpr std::string_view kGroups[] = {"Model", "GPU", "End token"};
  return store.folder.empty() ? flags.first_given(kGroups) : "--models-store";
}

void LoadFlags::add_serving_to(Flags flags) {
  flags.option("--max-loras", options.adapters.n_slots,
               "Maximum number of loaded adapters per model; 0: those of --lora, and with --lora-dir four more",
               {.range = {0, 256}, .has_default = true});
  flags.option("--max-lora-rank", options.adapters.max_rank,
               "Maximum rank of adapters; 0: the largest rank of --lora, or 64 without --lora",
               {.range = {0, 512}, .has_default = true});
  flags.option("--max-seqs", options.batch.max_seqs, "Run at most N requests together",
               {.range = {1, 4096}, .has_default = true, .is_common = true});
  flags.option("--kv-tokens", options.cache.n_tokens, "Size of the KV cache in tokens; 0: four contexts",
               {.has_default = true});
  flags.option("--kept-states", options.cache.n_states,
               "Keep N states of recurrent layers, for prompts with a common beginning; 0: as many as fit into a "
               "gigabyte, at most --max-seqs plus two",
               {.range = {0, 1 << 20}, .has_default = true});
  flags.option("--prefill-tokens", options.batch.max_prefill_tokens,
               "Compute at most N prompt tokens in a step in which other requests generate; 0: learned from the steps' "
               "times, so that the time between tokens stays even",
               {.has_default = true});
  flags.flag_off("--no-idle-prefill", options.idle_prefill,
                 "Do not use idle time to recompute finished answers as parts of prompts. With AMX and on GPUs, the "
                 "next turn of a chat then has to recompute the previous answer");
  flags.flag("--global-priority", options.batch.global_priority,
             "Compare the priorities of all requests. Without it, each API key (each address, if there are no keys) "
             "has an equal share, and priority orders the requests within it");
}

void LoadFlags::add_gpu_options(Flags flags) {
  flags.option("--gpu-layers", options.gpu.n_layers,
               "Keep N layers in the GPUs' memory and transfer the others in each step (default: as many as fit)",
               {.is_common = true});
  flags.option(
      "--device", options.gpu.devices,
      "GPUs to use, numbered as `realizar devices` lists them, e.g. 0,1. Several share the model's layers, or "
      "are for a process of an MPI job each (default: the first, and as many others as the model needs; one for "
      "each process of a host)",
      {.shown_as = "N,...", .is_common = true, .separator = ','});
  flags.option("--split", options.gpu.split,
               "How several GPUs, or the processes of an MPI job, share the model: layer (each has some of the layers, "
               "and they take turns), tensor (each has a part of every layer, and they compute together; GPUs with "
               "NVIDIA's libnccl.so.2) or expert (like tensor, but each process has whole experts)",
               {.shown_as = "HOW", .has_default = true});
  flags.option("--mpi", mpi,
               "Whether to share the model with the other processes of an MPI job: auto (where mpirun or srun started "
               "this one), always or never. This needs OpenMPI's libmpi.so.40",
               {.shown_as = "WHEN", .has_default = true});
  flags.option("--gpu-memory-mb", options.gpu.memory_mb, "Use at most N MB of each GPU's memory; 0: what is free",
               {.has_default = true});
  flags.option(
      "--host-memory-mb", options.gpu.host_memory_mb,
      "Use at most N MB of the host's memory for layers that do not fit on the GPUs; 0: three quarters of what "
      "is available. Layers beyond that are read from the disk at every step",
      {.has_default = true});
  options.gpu.layer_dir = hub::cache_folder().value_or("").string();
  flags.option("--layer-dir", options.gpu.layer_dir,
               "Folder for layers that are read from the disk, while the program runs; created if it is missing",
               {.shown_default = "~/.cache/realizar", .takes = kFolder});
  flags.option("--host-cache-mb", options.gpu.host_cache_mb,
               "Use N MB of the host's memory for cached prefixes that the GPU has no room for", {.has_default = true});
}

void add_end_flags(Flags flags, EndSettings& ends) {
  flags.option("--end", ends.ends,
               "End answers at the token NAME of the vocabulary too, e.g. '<|im_end|>'; may be repeated",
               {.shown_as = "NAME"});
  flags.option("--no-end", ends.no_ends,
               "Do not end answers at the token NAME; may be repeated. realizar inspect lists a model's end tokens",
               {.shown_as = "NAME"});
}

void SamplingFlags::add_to(Flags flags) {
  flags = flags.group("Sampling").advanced();
  for (size_t i = 0; i < numbers_.size(); ++i) add_parameter(flags, kSamplingParameters[i], numbers_[i]);
  flags.option(
      "--dry-sequence-breaker", breakers_,
      "DRY: repetitions end at TEXT; may be repeated; none: no such text (default: line break, ':', '\"' and '*')",
      {.shown_as = "TEXT"});
  flags.option("--samplers", samplers_,
               "The samplers to use, and their order: some of penalties, dry, top_n_sigma, temperature, top_k, typ_p, "
               "top_p, min_p and xtc, with ';' between them (default: all, in this order)",
               {.shown_as = "NAMES"});
  flags.option("--sampler-seq", sampler_letters_, "The same by letters: e, d, s, t, k, y, p, m and x",
               {.shown_as = "LETTERS"});
  flags.option("--logit-bias", logit_bias_, "Add VALUE to the logit of token ID; may be repeated",
               {.shown_as = "ID=VALUE"});
}

std::string SamplingFlags::complaint() const {
  for (const std::string& text : logit_bias_) {
    if (const auto bias = parse_logit_bias(text); !bias.ok()) return bias.error().message;
  }
  if (!samplers_.empty() && !sampler_letters_.empty()) return "--samplers and --sampler-seq say the same: give one";
  const auto samplers = order();
  return samplers.ok() ? "" : samplers.error().message;
}

// Nullopt if no order is given.
Result<std::optional<std::vector<SamplerKind>>> SamplingFlags::order() const {
  std::optional<std::vector<SamplerKind>> samplers;
  if (!samplers_.empty()) {
    RZ_TRY(samplers, samplers_of_list(samplers_));
  } else if (!sampler_letters_.empty()) {
    RZ_TRY(samplers, samplers_of_letters(sampler_letters_));
  }
  return samplers;
}

Status SamplingFlags::put_over(SamplingParams& params) const {
  for (size_t i = 0; i < numbers_.size(); ++i) {
    visit_parameter(kSamplingParameters[i], params, [&number = numbers_[i]](auto& member) {
      const auto* given = std::get_if<std::optional<std::remove_reference_t<decltype(member)>>>(&number);
      if (given != nullptr && *given) member = **given;
    });
  }
  for (const std::string& text : logit_bias_) {
    RZ_TRY(auto bias, parse_logit_bias(text));
    params.logit_bias.push_back(bias);
  }
  RZ_TRY(auto samplers, order());
  if (samplers) params.samplers = std::move(samplers);
  return {};
}

std::optional<uint64_t> SamplingFlags::seed() const {
  for (size_t i = 0; i < numbers_.size(); ++i) {
    if (kSamplingParameters[i].name == "seed") return std::get<std::optional<uint64_t>>(numbers_[i]);
  }
  return std::nullopt;
}

Result<SamplingParams> SamplingFlags::over(const LanguageModel& model) const {
  SamplingParams defaults = model.default_sampling();
  RZ_CHECK_OK(put_over(defaults));
  if (const auto texts = breakers()) {
    RZ_TRY(defaults.dry_breakers, model.sequence_breakers(*texts));
  }
  return defaults;
}

std::optional<std::vector<std::string>> SamplingFlags::breakers() const {
  if (breakers_.empty()) return std::nullopt;
  const bool is_none = breakers_.size() == 1 && breakers_[0] == "none";
  return is_none ? std::vector<std::string>() : breakers_;
}

void ReasoningFlags::add_to(Flags flags) {
  flags.advanced().option(
      "--reasoning-effort", effort_,
      "How much a model reasons before it answers: none, minimal, low, medium, high, xhigh or max (default: "
      "the model's own)",
      {.shown_as = "LEVEL"});
  flags.advanced().option("--reasoning-budget", budget_,
                          "End the reasoning after N tokens, and begin the answer; 0: no reasoning, -1: no limit",
                          {.range = {-1, INT32_MAX}});
  flags.flag("--no-reasoning", is_off_, "Have the model answer at once");
}

std::string ReasoningFlags::complaint() const {
  if (is_off_ && (effort_ || budget_)) {
    return "expected one of --no-reasoning and --reasoning-effort or --reasoning-budget";
  }
  return "";
}

ReasoningOptions ReasoningFlags::options() const {
  ReasoningOptions options{.effort = effort_, .budget = budget_};
  if (is_off_) options.enabled = false;
  return options;
}

void warn_of_gpu_options(const LoadOptions& options) {
  const std::pair<bool, const char*> gpu_options[] = {{options.gpu.n_layers.has_value(), "--gpu-layers"},
                                                      {!options.gpu.devices.empty(), "--device"},
                                                      {options.gpu.memory_mb > 0, "--gpu-memory-mb"},
                                                      {options.gpu.host_memory_mb > 0, "--host-memory-mb"}};
  for (const auto& [is_given, name] : gpu_options) {
    if (is_given) warn(std::string(name) + " has no effect: the model runs on the CPU");
  }
}

Result<LanguageModel> load_model(const std::string& given, LoadOptions options, const StoreFlags& store, Ranks* ranks) {
  RZ_TRY(FoundModel found, store.find(given));
  options.beside = std::move(found.beside);
  if (!options.draft.path.empty()) RZ_CHECK_OK(store.find_path(options.draft.path));
  ProgressLine line;
  if (stderr_is_terminal()) {
    options.progress = [&line](uint64_t done_bytes, uint64_t total_bytes) {
      line.update(done_bytes, total_bytes);
      return true;
    };
  }
  auto& adapters = options.adapters.sources;
  if (found.adapter && !adapters.empty()) {
    return invalid_argument(fmt::format("--lora: {} has an adapter of its own already", given), "lora");
  }
  if (found.adapter) adapters.push_back(std::move(*found.adapter));
  if (adapters.size() > 1) return invalid_argument("--lora: one adapter at a time, except in realizar serve", "lora");
  if (!adapters.empty()) options.adapters.default_name = adapters.front().name;
  options.ranks = ranks;
  auto model = LanguageModel::load(found.path, options);
  if (!model.ok()) return model;
  const ModelInfo& info = model->info();
  if (!info.gpu_refusal.empty()) warn("not on the GPU: " + info.gpu_refusal);
  if (info.backend.find("cuda (") == std::string::npos) warn_of_gpu_options(options);
  if (const std::string warning = long_context_warning(info); !warning.empty()) warn(warning);
  for (const std::string& note : info.notes) warn(note);
  if (!info.check.empty()) warn(info.check);
  return model;
}

Result<LanguageModel> load_writer(const std::string& given, const LoadFlags& load) {
  RZ_TRY(LanguageModel model, load_model(given, load.options, load.store));
  if (model.info().gives_text) return model;
  const bool ranks = model.pooling() == Pooling::kRank;
  return invalid_argument(fmt::format("{} is an encoder or a reranker, which generates no text: use realizar {} {} {}",
                                      given, ranks ? "rerank" : "embed", given, ranks ? "QUERY DOCUMENTS" : "TEXTS"),
                          "model");
}

Result<std::string> read_text(const std::string& path) {
  constexpr uint64_t kMaxTextBytes = uint64_t{4} << 30;
  if (path == "-") return read_stdin_text(kMaxTextBytes);
  return read_file_or_pipe(path, kMaxTextBytes);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t first = 0; first < text.size();) {
    const size_t end = std::min(text.find('\n', first), text.size());
    std::string line = text.substr(first, end - first);
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") != std::string::npos) lines.push_back(std::move(line));
    first = end + 1;
  }
  return lines;
}

}  // namespace realizar::cli
