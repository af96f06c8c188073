// The C interface: load options.
#include <algorithm>

#include "api/adapter_source.h"
#include "api/c_request.h"
#include "base/try.h"

namespace realizar::c {
namespace {

template <class Enum>
Status take_name(Enum& to, const char* from, const char* field) {
  if (from == nullptr) return {};
  const auto value = option_value<Enum>(from);
  if (value) {
    to = *value;
    return {};
  }
  std::string known;
  for (const auto& named : option_names(to)) known += (known.empty() ? "" : ", ") + std::string(named.name);
  return invalid_argument(std::string(field) + ": expected one of " + known + ", actual '" + from + "'", field);
}

void take_text(std::string& to, const char* from) {
  if (from != nullptr) to = from;
}

template <class To, class From>
void take_number(To& to, From from) {
  if (from != 0) to = static_cast<To>(from);
}

// A number below zero means none, since 0 means the default.
uint64_t none_below_zero(int64_t number) {
  return static_cast<uint64_t>(std::max<int64_t>(0, number));
}

Status take_gpu(GpuSettings& gpu, const rz_load_options& given) {
  if (given.devices == nullptr && given.n_devices > 0) return null_argument("devices");
  gpu.devices.assign(given.devices, given.devices + given.n_devices);
  RZ_CHECK_OK(take_name(gpu.split, given.split, "split"));
  RZ_CHECK_OK(take_name(gpu.chooser, given.choose, "choose"));
  if (given.n_gpu_layers != 0) gpu.n_layers = static_cast<uint32_t>(none_below_zero(given.n_gpu_layers));
  if (given.host_cache_mb != 0) gpu.host_cache_mb = none_below_zero(given.host_cache_mb);
  take_number(gpu.memory_mb, given.gpu_memory_mb);
  take_number(gpu.host_memory_mb, given.host_memory_mb);
  take_text(gpu.layer_dir, given.layer_dir);
  return {};
}

Status take_adapters(AdapterSettings& adapters, const rz_load_options& given) {
  if (given.loras == nullptr && given.n_loras > 0) return null_argument("loras");
  for (const char* lora : std::span(given.loras, given.n_loras)) {
    if (lora == nullptr) return null_argument("loras");
    RZ_TRY(AdapterSource source, parse_adapter(lora));
    adapters.sources.push_back(std::move(source));
  }
  take_number(adapters.n_slots, given.max_loras);
  take_number(adapters.max_rank, given.max_lora_rank);
  return {};
}

void take_serving(LoadOptions& load, const rz_load_options& given) {
  take_number(load.cache.n_tokens, given.kv_tokens);
  take_number(load.cache.n_contexts, given.n_contexts);
  take_number(load.cache.n_states, given.n_kept_states);
  take_number(load.batch.max_seqs, given.max_seqs);
  take_number(load.batch.max_tokens, given.max_batch_tokens);
  take_number(load.batch.max_prefill_tokens, given.max_prefill_tokens);
  load.batch.global_priority = given.global_priority != 0;
  load.idle_prefill = given.no_idle_prefill == 0;
  load.warm_up = given.warm_up != 0;
}

}  // namespace

Result<LoadOptions> to_load_options(const rz_load_options& given) {
  LoadOptions load;
  RZ_CHECK_OK(take_name(load.backend, given.backend, "backend"));
  RZ_CHECK_OK(take_name(load.cache.type, given.kv_type, "kv_type"));
  RZ_CHECK_OK(take_name(load.cpu.isa, given.isa, "isa"));
  RZ_CHECK_OK(take_gpu(load.gpu, given));
  RZ_CHECK_OK(take_adapters(load.adapters, given));
  RZ_TRY(load.ends.ends, to_texts(given.ends, given.n_ends, "ends"));
  RZ_TRY(load.ends.no_ends, to_texts(given.no_ends, given.n_no_ends, "no_ends"));
  take_serving(load, given);
  take_number(load.cpu.n_threads, given.n_threads);
  take_number(load.n_ctx, given.n_ctx);
  RZ_CHECK_OK(take_name(load.rope.scaling, given.rope_scaling, "rope_scaling"));
  if (given.rope_factor != 0) load.rope.factor = given.rope_factor;
  take_number(load.rope.n_ctx_original, given.rope_original_context);
  take_text(load.draft.path, given.draft_path);
  take_text(load.models_store, given.models_store);
  take_number(load.draft.n_tokens, given.n_draft);
  load.draft.guesses = given.no_guesses == 0;
  load.check = given.check != 0;
  if (given.on_progress != nullptr) {
    load.progress = [on_progress = given.on_progress, user = given.on_progress_user](uint64_t done, uint64_t total) {
      return on_progress(done, total, user) != 0;
    };
  }
  return load;
}

}  // namespace realizar::c
