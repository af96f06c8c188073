#include "api/loaded_model.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "api/backend_numbers.h"
#include "api/memory_needs.h"
#include "api/parity_check.h"
#include "api/quantization_name.h"
#include "api/ranks.h"
#include "backend/adapter_ops.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cuda/compile/bounds.h"
#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/device/nccl.h"
#include "backend/cuda/device/runtime.h"
#include "backend/cuda/device_choice.h"
#include "backend/reference/reference_backend.h"
#include "base/machine.h"
#include "base/try.h"
#include "engine/adapters.h"
#include "engine/cache_sizes.h"
#include "engine/engine.h"
#include "engine/model_drafter.h"
#include "model/adapter_file.h"
#include "model/config_reader.h"
#include "model/forward.h"
#include "text/conversation.h"
#include "text/ollama_template.h"

namespace realizar {
namespace {

constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxAdapters = 256;  // at a time

// Functions as one text, as the template of Firefunction v2 expects
// (https://huggingface.co/fireworks-ai/llama-3-firefunction-v2). Empty without functions.
std::string functions_text(const nlohmann::ordered_json& variables) {
  nlohmann::ordered_json functions = nlohmann::ordered_json::array();
  if (!variables.contains("tools") || !variables["tools"].is_array()) return {};
  for (const auto& tool : variables["tools"]) {
    functions.push_back(tool.is_object() && tool.contains("function") ? tool["function"] : tool);
  }
  return functions.empty() ? std::string() : functions.dump(4, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The public enum and the backends' enum have the same values in the same order.
static_assert(static_cast<int>(CacheType::kQ4_0) == static_cast<int>(KvType::kQ4_0));
static_assert(static_cast<int>(Isa::kI8mm) == static_cast<int>(cpu::CpuIsa::kI8mm));

engine::DrafterOptions drafter_options(const engine::EngineOptions& engine_options) {
  constexpr uint32_t kMaxCatchUp = 64;
  engine::DrafterOptions options;
  options.n_ctx = engine_options.n_ctx;
  options.max_seqs = engine_options.max_seqs;
  options.max_rows = engine_options.max_seqs + kMaxCatchUp;
  options.max_catch_up = kMaxCatchUp;
  options.kv_tokens = engine_options.kv_tokens;
  options.kv_type = engine_options.kv_type;
  return options;
}

// All memory for a draft model, which is loaded last.
uint64_t draft_bytes(const ModelSource& drafter, const engine::EngineOptions& engine_options) {
  const auto& [file, config] = drafter;
  const BackendLimits limits = engine::ModelDrafter::limits_for(drafter_options(engine_options));
  return gpu_tensor_bytes(file) + kv_bytes(config, engine_options) +
         gpu_other_bytes(file, config, engine_options, limits, 1);
}

// The slots for adapters that the options ask for. Errors: those of the adapters' files.
Result<AdapterSlots> adapter_slots(const AdapterSettings& settings) {
  constexpr uint32_t kDefaultRank = 64, kStep = 4;  // kStep: floats that kernels read at a time
  const auto n_sources = static_cast<uint32_t>(settings.sources.size());
  AdapterSlots slots{.n_slots = std::max(settings.n_slots, n_sources)};
  if (slots.n_slots == 0) return slots;
  uint32_t largest = n_sources == 0 && settings.max_rank == 0 ? kDefaultRank : settings.max_rank;
  for (const AdapterSource& source : settings.sources) {
    RZ_TRY(const uint32_t rank, read_adapter_rank(source.path));
    largest = std::max(largest, rank);
  }
  if (slots.n_slots > kMaxAdapters || largest > kMaxAdapterRank) {
    return invalid_argument(fmt::format("adapters: expected at most {} of a rank of at most {}, actual {} of {}",
                                        kMaxAdapters, kMaxAdapterRank, slots.n_slots, largest),
                            "max_loras");
  }
  slots.max_rank = (largest + kStep - 1) / kStep * kStep;
  return slots;
}

// The kernel kills a process that exceeds its control group's memory, without a message: a model that cannot fit is
// refused.
Status check_group_memory(const ModelSource& source, const ModelSource* drafter) {
  const auto group = group_memory();
  if (!group) return {};
  const uint64_t n_needed = gpu_tensor_bytes(source.file) + (drafter != nullptr ? gpu_tensor_bytes(drafter->file) : 0);
  if (n_needed <= group->left_bytes()) return {};
  return Error{ErrorCode::kResourceExhausted,
               fmt::format("no memory for {} bytes of weights: the control group's limit of {} bytes leaves {}",
                           n_needed, group->limit_bytes, group->left_bytes()),
               "memory"};
}

// Null if each layer is whole on one GPU.
Result<std::unique_ptr<cuda::DeviceExchange>> open_exchange(const LoadOptions& options) {
  if (options.gpu.split == Split::kExpert) {
    return unsupported("split: expert is for the processes of an MPI job, not for GPUs", "split");
  }
  if (options.gpu.split == Split::kLayer) return std::unique_ptr<cuda::DeviceExchange>();
  if (options.gpu.devices.size() > 1) return cuda::open_nccl(options.gpu.devices);
  return invalid_argument("split: tensor requires several GPUs, named by device: --device 0,1", "split");
}

Result<std::unique_ptr<Backend>> make_cuda_backend(const LoadOptions& options,
                                                   const engine::EngineOptions& engine_options,
                                                   const BackendLimits& limits, const ModelSource& source,
                                                   const ModelSource* drafter) {
  const auto& [file, config] = source;
  const auto n_sharing = options.gpu.split == Split::kTensor ? static_cast<uint32_t>(options.gpu.devices.size()) : 1;
  const uint64_t for_draft = drafter != nullptr ? draft_bytes(*drafter, engine_options) : 0;
  RZ_TRY(const AdapterSlots slots, adapter_slots(options.adapters));
  const uint64_t n_weight_bytes = gpu_tensor_bytes(file) + adapter_bytes(outline_forward(config), slots);
  const uint64_t n_other_bytes = gpu_other_bytes(file, config, engine_options, limits, n_sharing, slots);
  const cuda::CudaOptions cuda_options{options.gpu.memory_mb << 20,
                                       n_other_bytes + for_draft,
                                       kv_bytes(config, engine_options),
                                       n_weight_bytes,
                                       config.n_layers,
                                       options.gpu.n_layers,
                                       gpu_host_bytes(options.gpu),
                                       options.gpu.layer_dir};
  RZ_TRY(const uint32_t n_devices, cuda::count_devices());
  RZ_TRY(auto devices, cuda::choose_devices(options.gpu.devices, n_devices, cuda_options, cuda::open_device));
  RZ_TRY(auto exchange, open_exchange(options));
  return cuda::make_backend(std::move(devices), cuda_options, std::move(exchange));
}

Status check_threads(const LoadOptions& options) {
  if (options.cpu.n_threads <= kMaxThreads) return {};
  return invalid_argument(fmt::format("threads: expected at most {}, actual {}", kMaxThreads, options.cpu.n_threads),
                          "threads");
}

// `choice`: not kAuto.
Result<std::unique_ptr<Backend>> make_backend(BackendChoice choice, const LoadOptions& options,
                                              const engine::EngineOptions& engine_options, const BackendLimits& limits,
                                              const ModelSource& source, const ModelSource* drafter) {
  if (options.ranks != nullptr) {
    RZ_CHECK_OK(check_threads(options));
    return options.ranks->begin_load(source.file, source.config, options, engine_options, make_rank_backend);
  }
  if (choice == BackendChoice::kReference) return make_reference_backend();
  if (choice == BackendChoice::kCuda) return make_cuda_backend(options, engine_options, limits, source, drafter);
  RZ_CHECK_OK(check_threads(options));
  RZ_CHECK_OK(check_group_memory(source, drafter));
  return cpu::make_cpu_backend({options.cpu.n_threads, static_cast<cpu::CpuIsa>(options.cpu.isa)});
}

// Whether a GPU may fail in this way while the CPU does not.
bool is_devices_own(const Error& error) {
  return error.code == ErrorCode::kUnsupported || error.code == ErrorCode::kResourceExhausted ||
         error.code == ErrorCode::kInternal;
}

// A model made for tests may lack a tokenizer (a bare conformance file); it then generates only from ids.
Result<std::optional<text::Tokenizer>> optional_tokenizer(const ModelFile& file) {
  auto tokenizer = load_tokenizer(file);
  if (tokenizer.ok()) return std::optional(std::move(*tokenizer));
  if (tokenizer.error().code == ErrorCode::kNotFound) return std::optional<text::Tokenizer>();
  return std::move(tokenizer).error();
}

// Go templates leave the token that begins a text to the tokenizer.
std::string begin_of_prompts(const text::Tokenizer& tokenizer) {
  const auto bos = tokenizer.bos();
  const auto ids = tokenizer.encode("a", {.add_special = true, .parse_special = false});
  const bool is_added = bos && !ids.empty() && ids.front() == *bos;
  return is_added ? std::string(tokenizer.piece(*bos)) : "";
}

struct ContextBeside {
  uint32_t n_ctx = 0;  // 0: none is set
  uint32_t n_asked = 0;
};

// A context length stored with the file applies if the options set none, up to the length that the model was made for:
// the author of those parameters is not the user who runs the model.
Result<ContextBeside> n_ctx_beside(const ModelFile& file, const LoadOptions& options) {
  GenerationConfig rest;
  RZ_TRY(const uint32_t n_asked, apply_ollama_params(options.beside.params, rest));
  if (options.n_ctx > 0 || n_asked == 0) return ContextBeside{options.n_ctx, options.n_ctx};
  RZ_TRY(const ModelConfig config, read_config(file, {.rope = options.rope}));
  RZ_TRY(const uint32_t n_most, longest_context(file, config, options.rope));
  return ContextBeside{std::min(n_asked, n_most), n_asked};
}

}  // namespace

std::string long_context_warning(const ModelInfo& info) {
  if (info.n_ctx <= info.n_ctx_longest) return "";
  const char* const made = info.n_ctx_longest == info.n_ctx_train ? "was trained" : "is scaled";
  return fmt::format("--ctx {}: the model {} for {} tokens; what it writes beyond them may make no sense", info.n_ctx,
                     made, info.n_ctx_longest);
}

LoadedModel::LoadedModel(ModelFile model_file) : file(std::move(model_file)) {}
LoadedModel::~LoadedModel() = default;

void LoadedModel::ReleaseRanks::operator()(Ranks* shared) const {
  shared->release();
}

Result<std::unique_ptr<LoadedModel>> LoadedModel::load(const std::string& path, const LoadOptions& options) {
  return load_for_short(path, options, UINT32_MAX);
}

Result<std::unique_ptr<LoadedModel>> LoadedModel::load_for_short(const std::string& path, const LoadOptions& options,
                                                                 uint32_t n_positions) {
  RZ_TRY(ModelFile file, ModelFile::open(path));
  auto loaded = std::make_unique<LoadedModel>(std::move(file));
  loaded->n_positions_ = n_positions;
  LoadOptions complete = options;
  RZ_TRY(const ContextBeside beside, loaded->file.checked(n_ctx_beside(loaded->file, options)));
  complete.n_ctx = beside.n_ctx;
  if (beside.n_ctx < beside.n_asked) {
    loaded->info.notes.push_back(fmt::format("num_ctx {} of the model's parameters: the model was made for {} tokens",
                                             beside.n_asked, beside.n_ctx));
  }
  complete.progress = [&](uint64_t done_bytes, uint64_t total_bytes) {
    return !loaded->text_has_failed_ && (!options.progress || options.progress(done_bytes, total_bytes));
  };
  loaded->begin_text(options);
  const Status weights = loaded->file.checked(loaded->load_weights(complete));
  RZ_CHECK_OK(loaded->wait_for_text());
  RZ_CHECK_OK(weights);
  loaded->fill_info();
  if (options.check) {
    RZ_TRY(loaded->info.check, check_parity(*loaded, options));
  }
  return loaded;
}

void LoadedModel::begin_text(const LoadOptions& options) {
  const auto load = [this, beside = options.beside, ends = options.ends]() -> Status {
    const Status status = file.checked(load_text(beside, ends));
    text_has_failed_ = !status.ok();
    return status;
  };
  text_ = std::async(std::launch::async | std::launch::deferred, load);
}

Status LoadedModel::wait_for_text() {
  if (text_.valid()) text_status_ = text_.get();
  return text_status_;
}

Status LoadedModel::load_text(const BesideSettings& beside, const EndSettings& ends) {
  RZ_TRY(tokenizer, optional_tokenizer(file));
  if (!tokenizer) {
    if (ends.ends.empty() && ends.no_ends.empty()) return {};
    return unsupported(file.path().string() + " has no tokenizer, so no token can be named", "ends");
  }
  RZ_TRY(generation_config, read_generation_config(file, *tokenizer, ends));
  RZ_TRY(const uint32_t n_ctx, apply_ollama_params(beside.params, generation_config));
  (void)n_ctx;  // load() uses it
  const auto& notes = generation_config.notes;
  info.notes.insert(info.notes.end(), notes.begin(), notes.end());
  RZ_CHECK_OK(load_template(beside.chat_template));
  breakers = std::make_unique<BreakerCache>(*tokenizer);
  return {};
}

// The template stored with the file, or the file's own if there is none or it cannot be read.
Status LoadedModel::load_template(const std::string& beside) {
  RZ_TRY(auto source, load_chat_template(file, *tokenizer));
  if (source) template_source = std::move(*source);
  bool has_usual = find_template(template_source.all, kDefaultTemplate) != nullptr;
  if (!beside.empty()) {
    const bool is_jinja = text::is_jinja(beside);
    auto jinja = is_jinja ? Result<std::string>(beside) : text::jinja_of_go_template(beside);
    if (jinja.ok()) {
      template_source.source = is_jinja ? *jinja : begin_of_prompts(*tokenizer) + *jinja;
      template_source.tool_source.clear();
      has_usual = true;
    } else {
      info.notes.push_back("the chat template next to the model's file is not used: " + jinja.error().message);
    }
  }
  if (has_usual) {
    RZ_TRY(chat_template, text::ChatTemplate::parse(template_source.source));
  }
  load_tool_template();
  set_output_format();
  return {};
}

// If this template cannot be read, conversations with tools use the usual one.
void LoadedModel::load_tool_template() {
  if (template_source.tool_source.empty()) return;
  auto parsed = text::ChatTemplate::parse(template_source.tool_source);
  if (parsed.ok()) {
    tool_template = std::move(*parsed);
    return;
  }
  const NamedTemplate* named = find_template(template_source.all, kToolTemplate);
  info.notes.push_back(fmt::format("{}: the chat template for tools is not used: {}",
                                   named == nullptr ? "" : named->where, parsed.error().message));
  template_source.tool_source.clear();
}

void LoadedModel::set_output_format() {
  output_source = template_source.joined();
  const text::ChatTemplate* with_tools = template_for(/*has_tools=*/true);
  output_format = with_tools == nullptr ? text::OutputFormat{} : with_tools->output_format();
  if (!output_format.reasoning) text::find_tags(output_format, output_source);
  grammars = std::make_unique<GrammarCache>(*tokenizer, text::marker_strings(output_format));
}

Status LoadedModel::use_template(std::string source) {
  RZ_CHECK_OK(require_tokenizer());
  RZ_TRY(chat_template, text::ChatTemplate::parse(source));
  tool_template.reset();
  template_source.source = std::move(source);
  template_source.tool_source.clear();
  info.has_chat_template = true;
  set_output_format();
  return {};
}

const text::ChatTemplate* LoadedModel::template_for(bool has_tools) const {
  if (has_tools && tool_template) return &*tool_template;
  return chat_template ? &*chat_template : nullptr;
}

Result<uint64_t> LoadedModel::needed_bytes(const std::string& path, const LoadOptions& options) {
  RZ_TRY(const ModelFile file, ModelFile::open(path));
  const auto count = [&]() -> Result<uint64_t> {
    RZ_TRY(const ContextBeside beside, n_ctx_beside(file, options));
    RZ_TRY(const ModelConfig config, read_config(file, {.n_ctx = beside.n_ctx, .rope = options.rope}));
    RZ_TRY(engine::EngineOptions engine_options, LoadedModel::engine_options(config, options, UINT32_MAX));
    if (options.cache.n_tokens == 0) fit_contexts(config, host_memory().total_bytes, engine_options);
    const uint64_t n_cache_bytes = host_cache_bytes(config, engine_options, /*is_on_host=*/true);
    uint64_t n_other_bytes = gpu_tensor_bytes(file);
    if (!options.draft.path.empty()) {
      LoadOptions own = options;
      own.n_ctx = config.n_ctx;
      own.draft.path.clear();
      own.rope = {};
      RZ_TRY(const uint64_t n_draft_bytes, needed_bytes(options.draft.path, own));
      n_other_bytes += std::min(n_draft_bytes, UINT64_MAX - n_other_bytes);
    }
    return n_other_bytes + std::min(n_cache_bytes, UINT64_MAX - n_other_bytes);
  };
  return file.checked(count());
}

Result<engine::EngineOptions> LoadedModel::engine_options(const ModelConfig& config, const LoadOptions& options,
                                                          uint32_t max_positions) {
  engine::EngineOptions engine_options;
  engine_options.kv_type = static_cast<KvType>(options.cache.type);
  engine_options.choose_on_host = options.gpu.chooser == Chooser::kHost;
  engine_options.n_ctx = std::min(config.n_ctx, max_positions);
  engine_options.whole_prompts = config.is_bidirectional;
  if (options.batch.max_seqs < 1) return invalid_argument("max_seqs: expected 1 or more, actual 0", "max_seqs");
  if (options.batch.max_tokens < 1) {
    return invalid_argument("max_batch_tokens: expected 1 or more, actual 0", "max_batch_tokens");
  }
  engine_options.max_seqs = options.batch.max_seqs;
  engine_options.n_kept_states = options.cache.n_states;
  engine_options.max_batch_tokens = options.batch.max_tokens;
  engine_options.max_prefill_tokens = options.batch.max_prefill_tokens;
  engine_options.idle_prefill = options.idle_prefill;
  engine_options.priority_scope =
      options.batch.global_priority ? engine::PriorityScope::kAll : engine::PriorityScope::kTenant;
  const uint32_t n_contexts = options.cache.n_contexts > 0 ? std::min(options.cache.n_contexts, options.batch.max_seqs)
                                                           : options.batch.max_seqs;
  const uint32_t block_tokens = engine_options.block_tokens;
  const uint64_t n_of_context = (uint64_t{engine_options.n_ctx} + block_tokens - 1) / block_tokens * block_tokens;
  const uint64_t n_positions = n_of_context * n_contexts;
  engine_options.kv_tokens = options.cache.n_tokens > 0
                                 ? options.cache.n_tokens
                                 : static_cast<uint32_t>(std::min<uint64_t>(n_positions, UINT32_MAX));
  // An encoder keeps nothing from one step to the next.
  if (config.is_bidirectional && options.cache.n_tokens == 0) {
    const uint64_t n_rows = engine::limits_for(engine_options).max_rows;
    const uint64_t n_begun = uint64_t{engine_options.max_seqs} * engine_options.block_tokens;
    engine_options.kv_tokens = static_cast<uint32_t>(std::min<uint64_t>(n_rows + n_begun, UINT32_MAX));
  }
  engine_options.n_draft = options.draft.n_tokens;
  const bool has_states = state_bytes(state_layouts(config, config.n_ctx)) > 0;
  engine_options.speculates = !options.draft.path.empty() || (options.draft.guesses && !has_states);
  return engine_options;
}

Status LoadedModel::load_weights(const LoadOptions& options) {
  RZ_TRY(const ModelConfig config, read_config(file, {.n_ctx = options.n_ctx, .rope = options.rope}));
  RZ_TRY(info.n_ctx_longest, longest_context(file, config, options.rope));
  RZ_TRY(const engine::EngineOptions engine_options, this->engine_options(config, options, n_positions_));
  if (!gives_text(config) && (!options.draft.path.empty() || engine_options.n_draft > 0)) {
    return invalid_argument("draft: the model does not generate tokens", "draft");
  }
  if (options.draft.path.empty()) return load_models(config, nullptr, options, engine_options);
  RZ_TRY(const ModelFile draft_file, ModelFile::open(options.draft.path));
  const auto load_both = [&]() -> Status {
    RZ_TRY(const ModelConfig draft_config, read_config(draft_file, {.n_ctx = config.n_ctx}));
    if (!gives_text(draft_config)) {
      return invalid_argument(options.draft.path + " generates no text: expected a model that does", "draft");
    }
    const ModelSource drafter{draft_file, draft_config};
    RZ_CHECK_OK(check_same_vocabulary(drafter, config));
    return load_models(config, &drafter, options, engine_options);
  };
  return draft_file.checked(load_both());
}

Status LoadedModel::load_models(const ModelConfig& config, const ModelSource* drafter, const LoadOptions& options,
                                const engine::EngineOptions& engine_options) {
  const ModelSource source{file, config};
  if (options.backend != BackendChoice::kAuto)
    return load_models_on(options.backend, source, drafter, options, engine_options);
  if (options.ranks != nullptr) return load_models_on_ranks(source, drafter, options, engine_options);
  const auto gpus = cuda::count_devices();
  if (gpus.ok()) {
    const Status status = load_models_on(BackendChoice::kCuda, source, drafter, options, engine_options);
    if (status.ok() || !is_devices_own(status.error())) return status;
    info.gpu_refusal = status.error().message;
  } else if (!gpus.ok() && gpus.error().code != ErrorCode::kNotFound) {
    info.gpu_refusal = gpus.error().message;
  }
  return load_models_on(BackendChoice::kCpu, source, drafter, options, engine_options);
}

// All ranks must make the same choice: none falls back to the CPU if a GPU fails.
Status LoadedModel::load_models_on_ranks(const ModelSource& source, const ModelSource* drafter,
                                         const LoadOptions& options, const engine::EngineOptions& engine_options) {
  LoadOptions on_all = options;
  on_all.backend = BackendChoice::kCpu;
  if (have_gpus(options, options.ranks->exchange())) {
    const Status status = cuda::check_bounds(outline_forward(source.config), {});
    if (status.ok()) on_all.backend = BackendChoice::kCuda;
    if (!status.ok()) info.gpu_refusal = status.error().message;
  }
  return load_models_on(on_all.backend, source, drafter, on_all, engine_options);
}

Status LoadedModel::load_models_on(BackendChoice choice, const ModelSource& source, const ModelSource* drafter,
                                   const LoadOptions& options, engine::EngineOptions engine_options) {
  // The CPU's cache is in host memory anyway.
  if (choice == BackendChoice::kCuda) engine_options.host_kv_bytes = options.gpu.host_cache_mb << 20;
  engine_options.speculates = engine_options.speculates && (drafter != nullptr || choice == BackendChoice::kCpu);
  draft = {};
  engine = nullptr;
  model = nullptr;
  RZ_CHECK_OK(fit_cache(choice, source.config, options, engine_options));
  const BackendLimits limits = engine::limits_for(engine_options);
  RZ_TRY(backend, make_backend(choice, options, engine_options, limits, source, drafter));
  ranks.reset(options.ranks);
  RZ_CHECK_OK(backend->configure(limits));
  RZ_TRY(const AdapterSlots slots, adapter_slots(options.adapters));
  RZ_CHECK_OK(load_shares(source, options, slots));
  RZ_CHECK_OK(wait_for_text());
  if (breakers != nullptr) engine_options.make_breakers = [cache = breakers.get()] { return cache->usual(); };
  RZ_TRY(engine, engine::Engine::create(*model, *backend, generation_config.end_tokens, engine_options));
  list_bytes = engine::list_bytes_for(source.config, engine_options);
  for (const AdapterSource& adapter : options.adapters.sources) RZ_CHECK_OK(engine->adapters().load(adapter));
  RZ_CHECK_OK(engine->adapters().set_default(options.adapters.default_name, std::nullopt));
  if (drafter != nullptr) RZ_CHECK_OK(load_draft(*drafter, options, engine_options));
  return options.warm_up ? engine->warm_up() : Status{};
}

Status LoadedModel::load_shares(const ModelSource& source, const LoadOptions& options, const AdapterSlots& slots) {
  const auto load = [&]() -> Status {
    RZ_TRY(Model loaded,
           Model::load(file, source.config, *backend,
                       {.progress = options.progress, .hash_weights = options.hash_weights, .adapters = slots}));
    model = std::make_unique<Model>(std::move(loaded));
    return {};
  };
  const Status own = load();
  return options.ranks == nullptr ? own : options.ranks->end_load(own, *backend);
}

// Unless set, the cache holds as many contexts as fit in the machine's memory. Pages are allocated on use, so memory
// that others occupy does not count.
Status LoadedModel::fit_cache(BackendChoice choice, const ModelConfig& config, const LoadOptions& options,
                              engine::EngineOptions& engine_options) {
  const bool is_on_host = choice != BackendChoice::kCuda;
  const uint64_t n_host_bytes = host_memory().total_bytes;
  const uint32_t n_wanted = engine_options.kv_tokens;
  cache_note_.clear();
  if (is_on_host && options.cache.n_tokens == 0) fit_contexts(config, n_host_bytes, engine_options);
  if (engine_options.kv_tokens < n_wanted) {
    cache_note_ = fmt::format("the cache holds {} tokens and not {}: this machine has {} MB of memory",
                              engine_options.kv_tokens, n_wanted, n_host_bytes >> 20);
  }
  return check_cache(config, engine_options, is_on_host, n_host_bytes);
}

// Speculative tokens are ids: they must mean the same in both models.
Status LoadedModel::check_same_vocabulary(const ModelSource& drafter, const ModelConfig& config) {
  const std::string where = drafter.file.path().string();
  if (drafter.config.n_vocab != config.n_vocab) {
    return invalid_argument(
        fmt::format("{}: expected a vocabulary of {} tokens, actual {}", where, config.n_vocab, drafter.config.n_vocab),
        "draft");
  }
  RZ_CHECK_OK(wait_for_text());
  if (!tokenizer) return {};
  RZ_TRY(const text::Tokenizer other, load_tokenizer(drafter.file));
  const int32_t n_vocab = std::min(tokenizer->n_vocab(), other.n_vocab());
  for (int32_t id = 0; id < n_vocab; ++id) {
    if (tokenizer->piece(TokenId{id}) == other.piece(TokenId{id})) continue;
    return invalid_argument(fmt::format("{}: expected the same vocabulary, but token {} is '{}' here and '{}' there",
                                        where, id, tokenizer->piece(TokenId{id}), other.piece(TokenId{id})),
                            "draft");
  }
  return {};
}

Status LoadedModel::load_draft(const ModelSource& source, const LoadOptions& options,
                               const engine::EngineOptions& engine_options) {
  const engine::DrafterOptions draft_options = drafter_options(engine_options);
  // Its memory was reserved when the model was loaded; it is too small to be worth the exchanges of a tensor split.
  LoadOptions own = options;
  own.draft.path.clear();
  own.adapters = {};
  own.gpu.memory_mb = 0;
  own.gpu.n_layers.reset();
  own.gpu.split = Split::kLayer;
  if (options.ranks != nullptr) own.gpu.devices = {options.gpu.devices.empty() ? 0 : options.gpu.devices.front()};
  own.ranks = nullptr;
  const BackendLimits limits = engine::ModelDrafter::limits_for(draft_options);
  const auto choice = option_value<BackendChoice>(backend->info().name).value_or(BackendChoice::kCpu);
  RZ_TRY(draft.backend, make_backend(choice, own, engine_options, limits, source, nullptr));
  RZ_CHECK_OK(draft.backend->configure(limits));
  RZ_TRY(Model loaded, Model::load(source.file, source.config, *draft.backend, {.progress = options.progress}));
  draft.model = std::make_unique<Model>(std::move(loaded));
  RZ_TRY(draft.drafter, engine::ModelDrafter::create(*draft.model, *draft.backend, draft_options));
  engine->set_drafter(draft.drafter.get());
  return {};
}

void LoadedModel::fill_info() {
  const ModelConfig& c = model->config();
  const BackendNumbers numbers = numbers_of(*backend);
  info.path = file.path().string();
  info.name = c.name;
  info.arch = c.arch;
  info.backend = numbers.description;
  info.n_layers = n_file_layers(c);
  info.d_model = c.d_model;
  info.n_heads = heads_of(c).n_heads;
  info.n_kv_heads = heads_of(c).n_kv_heads;
  info.head_dim = heads_of(c).key_dim;
  info.d_ff = c.d_ff;
  info.n_vocab = c.n_vocab;
  info.n_ctx = engine->n_ctx();
  info.n_ctx_train = c.n_ctx_train;
  info.norm_eps = c.norm_eps;
  info.tie_word_embeddings = c.is_head_tied;
  if (!c.ropes.empty()) {
    info.rope_base = c.ropes.front().base;
    info.n_rope_dims = c.ropes.front().n_rot;
    info.rope_scale = c.ropes.front().scale;
  }
  info.n_params = 0;
  for (const TensorInfo& tensor : file.tensors()) info.n_params += tensor.n_elems();
  info.file_bytes = file.file_bytes();
  info.quantization = quantization_name(file);
  info.notes.insert(info.notes.end(), file.notes().begin(), file.notes().end());
  if (const std::string note = untied_head_note(file, c); !note.empty()) info.notes.push_back(note);
  if (!cache_note_.empty()) info.notes.push_back(cache_note_);
  info.weight_bytes = numbers.weight_bytes;
  info.kv_bytes = numbers.kv_bytes;
  info.scratch_bytes = numbers.scratch_bytes;
  for (const DeviceNumbers& device : numbers.devices) {
    info.devices.push_back({device.name, device.weight_bytes, device.kv_bytes, device.scratch_bytes, device.total_bytes,
                            device.free_bytes});
  }
  if (info.devices.empty()) {
    info.devices.push_back({numbers.name, info.weight_bytes, info.kv_bytes, info.scratch_bytes, 0, 0});
  }
  info.has_chat_template = template_for(/*has_tools=*/true) != nullptr;
  info.gives_text = gives_text(c);
}

Error LoadedModel::no_template() const {
  return unsupported(info.path + " has no chat template; --raw uses a prompt as it is", "chat_template");
}

Result<const text::Tokenizer*> LoadedModel::require_tokenizer() const {
  if (!tokenizer) return unsupported(file.path().string() + " has no tokenizer", file.path().string());
  return &*tokenizer;
}

Result<std::vector<text::PromptPiece>> LoadedModel::render_conversation(text::Conversation conversation,
                                                                        const nlohmann::ordered_json& others,
                                                                        const text::ChatTemplate* other) const {
  const text::ChatTemplate* chosen = other != nullptr ? other : template_for(!conversation.tools.empty());
  if (chosen == nullptr) return no_template();
  nlohmann::ordered_json variables = text::fitted(std::move(conversation), chosen->traits(), output_format);
  variables.update(others);
  return render_chat(std::move(variables), chosen);
}

Result<std::vector<text::PromptPiece>> LoadedModel::render_chat(nlohmann::ordered_json variables,
                                                                const text::ChatTemplate* other) const {
  const bool has_tools = variables.contains("tools") && variables["tools"].is_array() && !variables["tools"].empty();
  const text::ChatTemplate* chosen = other != nullptr ? other : template_for(has_tools);
  if (chosen == nullptr) return no_template();
  const std::time_t now = std::time(nullptr);
  variables.emplace("add_generation_prompt", true);
  variables.emplace("date_string", fmt::format("{:%d %b %Y}", fmt::gmtime(now)));
  variables.emplace("datetime", fmt::format("{:%b %d %Y}", fmt::gmtime(now)));
  if (output_source.find("functions") != std::string::npos) {
    variables.emplace("functions", functions_text(variables));
  }
  variables.emplace("bos_token", template_source.bos_token);
  variables.emplace("eos_token", template_source.eos_token);
  return chosen->render(variables, static_cast<int64_t>(now));
}

Pooling LoadedModel::pooling() const {
  return model->config().pooling;
}

std::optional<uint64_t> LoadedModel::source_hash() const {
  const auto weights = model->weights_hash();
  if (!weights) return std::nullopt;
  return XXH3_64bits_withSeed(version(), std::strlen(version()), *weights);
}

// The template writes bos and eos itself, as in Hugging Face's apply_chat_template.
std::vector<TokenId> LoadedModel::encode_prompt(std::span<const text::PromptPiece> pieces) const {
  return tokenizer->encode(pieces, {.add_special = false, .parse_special = true});
}

}  // namespace realizar
