// The three lists of load options: flags, rz_load_options, LoadOptions.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "api/c_support.h"
#include "cli/options.h"
#include "cli/parse.h"

namespace realizar::cli {
namespace {

// A flag with a non-default value, and the C field with the same meaning.
struct SameOption {
  std::vector<std::string> flag;  // empty: no such flag
  void (*set)(rz_load_options& c);
};

constexpr uint32_t kDevices[] = {1, 2};
constexpr const char* kEnds[] = {"<a>", "<b>"};
constexpr const char* kLoras[] = {"poet=poet.gguf:0.5", "b.gguf"};

const SameOption kSameOptions[] = {
    {{"--backend=cuda"}, [](rz_load_options& c) { c.backend = "cuda"; }},
    {{"--ctx=64"}, [](rz_load_options& c) { c.n_ctx = 64; }},
    {{"--rope-scaling=yarn"}, [](rz_load_options& c) { c.rope_scaling = "yarn"; }},
    {{"--rope-factor=2.5"}, [](rz_load_options& c) { c.rope_factor = 2.5; }},
    {{"--rope-original-context=32768"}, [](rz_load_options& c) { c.rope_original_context = 32768; }},
    {{"--threads=3"}, [](rz_load_options& c) { c.n_threads = 3; }},
    {{"--isa=avx2"}, [](rz_load_options& c) { c.isa = "avx2"; }},
    {{"--kv-type=q8_0"}, [](rz_load_options& c) { c.kv_type = "q8_0"; }},
    {{"--kv-tokens=999"}, [](rz_load_options& c) { c.kv_tokens = 999; }},
    {{"--kept-states=11"}, [](rz_load_options& c) { c.n_kept_states = 11; }},
    {{"--batch-tokens=48"}, [](rz_load_options& c) { c.max_batch_tokens = 48; }},
    {{"--max-seqs=5"}, [](rz_load_options& c) { c.max_seqs = 5; }},
    {{"--prefill-tokens=17"}, [](rz_load_options& c) { c.max_prefill_tokens = 17; }},
    {{"--global-priority"}, [](rz_load_options& c) { c.global_priority = 1; }},
    {{"--no-idle-prefill"}, [](rz_load_options& c) { c.no_idle_prefill = 1; }},
    {{"--draft=small.gguf"}, [](rz_load_options& c) { c.draft_path = "small.gguf"; }},
    {{"--draft-tokens=6"}, [](rz_load_options& c) { c.n_draft = 6; }},
    {{"--no-guesses"}, [](rz_load_options& c) { c.no_guesses = 1; }},
    {{"--choose=host"}, [](rz_load_options& c) { c.choose = "host"; }},
    {{"--warm-up"}, [](rz_load_options& c) { c.warm_up = 1; }},
    {{"--check"}, [](rz_load_options& c) { c.check = 1; }},
    {{"--gpu-layers=7"}, [](rz_load_options& c) { c.n_gpu_layers = 7; }},
    {{"--gpu-layers=0"}, [](rz_load_options& c) { c.n_gpu_layers = -1; }},
    {{"--device=1,2"},
     [](rz_load_options& c) {
       c.devices = kDevices;
       c.n_devices = 2;
     }},
    {{"--split=tensor"}, [](rz_load_options& c) { c.split = "tensor"; }},
    {{"--gpu-memory-mb=100"}, [](rz_load_options& c) { c.gpu_memory_mb = 100; }},
    {{"--host-memory-mb=200"}, [](rz_load_options& c) { c.host_memory_mb = 200; }},
    {{"--layer-dir=/tmp"}, [](rz_load_options& c) { c.layer_dir = "/tmp"; }},
    {{"--host-cache-mb=300"}, [](rz_load_options& c) { c.host_cache_mb = 300; }},
    {{"--host-cache-mb=0"}, [](rz_load_options& c) { c.host_cache_mb = -1; }},
    {{"--lora=poet=poet.gguf:0.5", "--lora=b.gguf"},
     [](rz_load_options& c) {
       c.loras = kLoras;
       c.n_loras = 2;
     }},
    {{"--end=<a>", "--end=<b>"},
     [](rz_load_options& c) {
       c.ends = kEnds;
       c.n_ends = 2;
     }},
    {{"--no-end=<a>"},
     [](rz_load_options& c) {
       c.no_ends = kEnds;
       c.n_no_ends = 1;
     }},
    {{"--max-loras=3"}, [](rz_load_options& c) { c.max_loras = 3; }},
    // The program resolves names before loading; the library does it itself.
    {{}, [](rz_load_options& c) { c.models_store = "store"; }},
    {{"--max-lora-rank=16"}, [](rz_load_options& c) { c.max_lora_rank = 16; }},
    // A server sets the former, and the latter is a line on the terminal.
    {{}, [](rz_load_options& c) { c.n_contexts = 4; }},
    {{}, [](rz_load_options& c) { c.on_progress = [](uint64_t, uint64_t, void*) { return 0; }; }},
};

using Texts = std::map<std::string, std::string>;

std::string text_of(const std::string& value) {
  return value;
}
template <class Value>
std::string text_of(Value value) {
  if constexpr (std::is_enum_v<Value>) {
    return std::string(option_name(value));
  } else {
    return std::to_string(value);
  }
}
std::string text_of(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += text + ' ';
  return joined;
}
std::string text_of(const std::vector<uint32_t>& values) {
  std::string text;
  for (const uint32_t value : values) text += std::to_string(value) + ' ';
  return text;
}
template <class Value>
std::string text_of(const std::optional<Value>& value) {
  return value ? std::to_string(*value) : "none";
}

std::string text_of(const std::vector<AdapterSource>& sources) {
  std::string text;
  for (const auto& [name, path, scale] : sources) text += name + "=" + path + ":" + std::to_string(scale) + " ";
  return text;
}

// Covers every member. A new one does not compile until it is listed here.
Texts texts_of(const LoadOptions& options) {
  const auto& [backend, n_ctx, rope, cpu, gpu, cache, batch, draft, beside, adapters, ends, idle_prefill, warm_up,
               check, hash_weights, ranks, models_store, progress] = options;
  const auto& [scaling, factor, n_ctx_original] = rope;
  const auto& [n_threads, isa] = cpu;
  const auto& [devices, split, n_layers, memory_mb, host_memory_mb, layer_dir, host_cache_mb, chooser] = gpu;
  const auto& [type, n_tokens, n_contexts, n_states] = cache;
  const auto& [max_seqs, max_tokens, max_prefill_tokens, global_priority] = batch;
  const auto& [path, n_draft, guesses] = draft;
  const auto& [chat_template, params] = beside;
  const auto& [added_ends, no_ends] = ends;
  const auto& [sources, n_slots, max_rank, default_name] = adapters;
  return {{"backend", text_of(backend)},
          {"n_ctx", text_of(n_ctx)},
          {"rope.scaling", text_of(scaling)},
          {"rope.factor", text_of(factor)},
          {"rope.n_ctx_original", text_of(n_ctx_original)},
          {"cpu.n_threads", text_of(n_threads)},
          {"cpu.isa", text_of(isa)},
          {"gpu.devices", text_of(devices)},
          {"gpu.split", text_of(split)},
          {"gpu.n_layers", text_of(n_layers)},
          {"gpu.memory_mb", text_of(memory_mb)},
          {"gpu.host_memory_mb", text_of(host_memory_mb)},
          {"gpu.layer_dir", text_of(layer_dir)},
          {"gpu.host_cache_mb", text_of(host_cache_mb)},
          {"gpu.chooser", text_of(chooser)},
          {"cache.type", text_of(type)},
          {"cache.n_tokens", text_of(n_tokens)},
          {"cache.n_contexts", text_of(n_contexts)},
          {"cache.n_states", text_of(n_states)},
          {"batch.max_seqs", text_of(max_seqs)},
          {"batch.max_tokens", text_of(max_tokens)},
          {"batch.max_prefill_tokens", text_of(max_prefill_tokens)},
          {"batch.global_priority", text_of(global_priority)},
          {"draft.path", text_of(path)},
          {"draft.n_tokens", text_of(n_draft)},
          {"draft.guesses", text_of(guesses)},
          {"beside.chat_template", text_of(chat_template)},
          {"beside.params", text_of(params)},
          {"adapters.sources", text_of(sources)},
          {"adapters.n_slots", text_of(n_slots)},
          {"adapters.max_rank", text_of(max_rank)},
          {"adapters.default_name", text_of(default_name)},
          {"ends.ends", text_of(added_ends)},
          {"ends.no_ends", text_of(no_ends)},
          {"idle_prefill", text_of(idle_prefill)},
          {"warm_up", text_of(warm_up)},
          {"check", text_of(check)},
          {"hash_weights", text_of(hash_weights)},
          {"ranks", text_of(ranks != nullptr)},
          {"models_store", text_of(models_store)},
          {"progress", text_of(static_cast<bool>(progress))}};
}

struct OptionRig {
  OptionRig() {
    load.add_to(Flags(&row));
    load.add_serving_to(Flags(&row));
    add_end_flags(Flags(&row), load.options.ends);
    load.options.gpu.layer_dir.clear();  // the user's folder, while the library has no default
  }

  Texts read(const std::vector<std::string>& words) {
    EXPECT_TRUE(collect_words(row, common, words).ok());
    const Status status = apply_values(row, common);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return texts_of(load.options);
  }

  CommandRow row, common;
  LoadFlags load;
};

Texts read(void (*set)(rz_load_options& c)) {
  rz_load_options given{};
  if (set != nullptr) set(given);
  const auto load = c::to_load_options(given);
  EXPECT_TRUE(load.ok()) << load.error().message;
  return texts_of(*load);
}

TEST(LoadOptions, FlagsAndTheCInterfaceGiveTheSame) {
  const Texts defaults = texts_of({});
  EXPECT_EQ(OptionRig().read({}), defaults);
  EXPECT_EQ(read(nullptr), defaults);
  for (const SameOption& option : kSameOptions) {
    const Texts from_c = read(option.set);
    EXPECT_NE(from_c, defaults) << (option.flag.empty() ? "a field without a flag" : option.flag[0]);
    if (option.flag.empty()) continue;
    EXPECT_EQ(OptionRig().read(option.flag), from_c) << option.flag[0];
  }
}

TEST(LoadOptions, EveryFlagHasAFieldInC) {
  OptionRig rig;
  for (const OptionRow& row : rig.row.options) {
    // Its C field has a row without a flag.
    if (row.main_name() == "--models-store") continue;
    // Only the program itself runs as processes of an MPI job.
    if (row.main_name() == "--mpi") continue;
    const auto is_of = [&](const SameOption& option) {
      return !option.flag.empty() && row.has_name(option.flag[0].substr(0, option.flag[0].find('=')));
    };
    EXPECT_TRUE(std::any_of(std::begin(kSameOptions), std::end(kSameOptions), is_of)) << row.main_name();
  }
}

TEST(LoadOptions, EveryMemberHasAFieldInC) {
  std::set<std::string> unset;
  const Texts defaults = texts_of({});
  for (const auto& [name, text] : defaults) unset.insert(name);
  for (const SameOption& option : kSameOptions) {
    for (const auto& [name, text] : read(option.set)) {
      if (text != defaults.at(name)) unset.erase(name);
    }
  }
  const std::set<std::string> expected{"adapters.default_name", "hash_weights", "beside.chat_template", "beside.params",
                                       "ranks"};
  EXPECT_EQ(unset, expected) << "a choice that each generation of C has; what a server needs for its files alone; and "
                                "what a store has beside a model, and what shares it with other processes";
}

}  // namespace
}  // namespace realizar::cli
