// How a model is loaded, and what it runs on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/adapter.h"

namespace realizar {

// A value of an enum, by the name that flags, files and the C interface spell it with.
template <class Enum>
struct NamedValue {
  std::string_view name;
  Enum value;
};

enum class BackendChoice : uint8_t {
  kAuto,  // the GPU where there is one that can run the model, else the CPU
  kCpu,   // this or an error, as the others
  kCuda,
  kReference,  // slow and exact, for checking
};
inline constexpr NamedValue<BackendChoice> kBackendNames[] = {{"auto", BackendChoice::kAuto},
                                                              {"cpu", BackendChoice::kCpu},
                                                              {"cuda", BackendChoice::kCuda},
                                                              {"reference", BackendChoice::kReference}};

// Instruction sets that the kernels of the CPU are written for.
enum class Isa : uint8_t { kAuto, kPortable, kAvx2, kAvxVnni, kAvx512, kAmx, kNeon, kDotprod, kI8mm };
inline constexpr NamedValue<Isa> kIsaNames[] = {
    {"auto", Isa::kAuto},        {"portable", Isa::kPortable}, {"avx2", Isa::kAvx2},
    {"avx-vnni", Isa::kAvxVnni}, {"avx512", Isa::kAvx512},     {"amx", Isa::kAmx},
    {"neon", Isa::kNeon},        {"dotprod", Isa::kDotprod},   {"i8mm", Isa::kI8mm}};

enum class CacheType : uint8_t { kF32, kF16, kBF16, kQ8_0, kFp8, kQ4_0 };
inline constexpr NamedValue<CacheType> kCacheTypeNames[] = {{"f32", CacheType::kF32},   {"f16", CacheType::kF16},
                                                            {"bf16", CacheType::kBF16}, {"q8_0", CacheType::kQ8_0},
                                                            {"fp8", CacheType::kFp8},   {"q4_0", CacheType::kQ4_0}};

// How several GPUs, or the processes of an MPI job, share a model.
enum class Split : uint8_t {
  kLayer,   // each has some of the layers, and they take turns
  kTensor,  // each has a part of every layer, and they compute together; GPUs by way of NVIDIA's NCCL
  kExpert,  // the same, but with whole experts each: processes alone
};
inline constexpr NamedValue<Split> kSplitNames[] = {
    {"layer", Split::kLayer}, {"tensor", Split::kTensor}, {"expert", Split::kExpert}};

// Who draws tokens.
enum class Chooser : uint8_t {
  kDevice,  // the GPU, where it can
  kHost,    // the processor, from all logits; the tokens are the same
};
inline constexpr NamedValue<Chooser> kChooserNames[] = {{"device", Chooser::kDevice}, {"host", Chooser::kHost}};

// How positions are stretched beyond the context that a model was trained for.
enum class RopeStretch : uint8_t {
  kModel,  // as its file says
  kNone,   // the others replace what the file says
  kLinear,
  kDynamic,
  kYarn,
};
inline constexpr NamedValue<RopeStretch> kRopeStretchNames[] = {{"model", RopeStretch::kModel},
                                                                {"none", RopeStretch::kNone},
                                                                {"linear", RopeStretch::kLinear},
                                                                {"dynamic", RopeStretch::kDynamic},
                                                                {"yarn", RopeStretch::kYarn}};

constexpr const auto& option_names(BackendChoice) {
  return kBackendNames;
}
constexpr const auto& option_names(Isa) {
  return kIsaNames;
}
constexpr const auto& option_names(CacheType) {
  return kCacheTypeNames;
}
constexpr const auto& option_names(Split) {
  return kSplitNames;
}
constexpr const auto& option_names(Chooser) {
  return kChooserNames;
}
constexpr const auto& option_names(RopeStretch) {
  return kRopeStretchNames;
}

template <class Enum>
constexpr std::string_view option_name(Enum value) {
  for (const auto& named : option_names(value)) {
    if (named.value == value) return named.name;
  }
  return "";
}

// Nullopt where no value has that name.
template <class Enum>
constexpr std::optional<Enum> option_value(std::string_view name) {
  for (const auto& named : option_names(Enum())) {
    if (named.name == name) return named.value;
  }
  return std::nullopt;
}

class Ranks;  // of the program's own

struct CpuSettings {
  uint32_t n_threads = 0;  // 0: all cores that the process may use
  Isa isa = Isa::kAuto;
};

struct GpuSettings {
  // Empty: the first, and as many others as the model needs. Processes of an MPI job have one each, those of a host in
  // order, or all of them the one that is named alone.
  std::vector<uint32_t> devices = {};
  Split split = Split::kLayer;            // kTensor: only for GPUs that `devices` names
  std::optional<uint32_t> n_layers = {};  // that stay in the GPUs' memory; absent: as many as fit
  uint64_t memory_mb = 0;                 // of each GPU's memory to use; 0: what is free
  // Layers that do not fit on the GPUs are brought there in each step, from at most this much of the host's memory; 0:
  // three quarters of what is available. Layers beyond that are read from a file without a name in the folder
  // layer_dir, which is created if it is missing. With an empty layer_dir there is no such file, and 0 means no bound.
  uint64_t host_memory_mb = 0;
  std::string layer_dir = {};
  uint64_t host_cache_mb = 1024;  // of the host's memory, for cached prefixes that the GPU has no room for
  Chooser chooser = Chooser::kDevice;
};

struct CacheSettings {
  CacheType type = CacheType::kF16;
  uint32_t n_tokens = 0;    // positions that the KV cache holds in all; 0: n_contexts whole contexts
  uint32_t n_contexts = 0;  // 0: one for each request that may run
  // Of models with recurrent layers: states that are kept for prompts that begin alike; 0: as many as a gigabyte holds,
  // at least 2 and at most one for each request that may run and two more.
  uint32_t n_states = 0;
};

struct BatchSettings {
  uint32_t max_seqs = 1;            // requests that run together
  uint32_t max_tokens = 512;        // tokens a step, of prompts for the most part; at least max_seqs
  uint32_t max_prefill_tokens = 0;  // of prompts, in a step in which others decode; 0: what keeps their pace even
  bool global_priority = false;     // a request's priority counts against all others, not against its tenant's alone
};

struct DraftSettings {
  std::string path = {};  // of a smaller model with the same vocabulary that guesses, or its name; empty: the text so
                          // far does
  uint32_t n_tokens = 0;  // guessed and verified together; 0: as `guesses` says, or 4 with a path
  // On a CPU, from the text so far: as many tokens as their hits and the times of steps make worth it. Not where layers
  // keep states.
  bool guesses = true;
};

// The rotary embedding beyond the context that a model was trained for.
struct RopeSettings {
  RopeStretch scaling = RopeStretch::kModel;
  std::optional<double> factor = {};  // by which the context grows; kLinear, kDynamic and kYarn need one above 0
  uint32_t n_ctx_original = 0;        // the context that grows; 0: what the file says
};

// What lies beside a model's file, as Ollama keeps models; it goes before what the file says.
struct BesideSettings {
  std::string chat_template =
      {};  // in Go's spelling, or Jinja; one that cannot be read is told of in ModelInfo::notes, and not used
  std::string params = {};  // a JSON object of Ollama's parameters: of sampling, stop and num_ctx; others are not used
};

// Adapters of low rank that requests may choose (adapter.h).
struct AdapterSettings {
  std::vector<AdapterSource> sources = {};  // loaded with the model
  uint32_t n_places = 0;                    // of adapters that are loaded at a time; 0: one for each of `sources`
  uint32_t max_rank = 0;                    // that there is room for; 0: the largest of `sources`, or 64 without any
  std::string default_name = {};            // the adapter of requests that name none; "": they have none
};

// Changes to where answers end, which the model's files say.
struct EndSettings {
  std::vector<std::string> ends = {};     // tokens of the vocabulary that end an answer too
  std::vector<std::string> no_ends = {};  // tokens that end none
};

struct LoadOptions {
  BackendChoice backend = BackendChoice::kAuto;
  uint32_t n_ctx = 0;  // positions; 0: what the model was trained for, or `rope` stretches that to, at most 8192
  RopeSettings rope = {};
  CpuSettings cpu = {};
  GpuSettings gpu = {};
  CacheSettings cache = {};
  BatchSettings batch = {};
  DraftSettings draft = {};
  BesideSettings beside = {};
  AdapterSettings adapters = {};
  EndSettings ends = {};
  // Between requests, compute answers again as parts of prompts where that has an arithmetic of its own (AMX, GPUs), so
  // that the next turn of a chat finds them cached: a server and a session by themselves, others by idle_step.
  bool idle_prefill = true;
  bool warm_up = false;           // run steps of every usual size, so that the first requests take no longer
  bool check = false;             // compare the logits of a short prompt with another backend's
  bool hash_weights = false;      // while they are read, for cached prefixes that are kept in a file
  Ranks* ranks = nullptr;         // the processes that share the model, if any do; they must outlive it
  std::string models_store = {};  // folder of the models that were pulled, for names; empty: the user's own
  // Bytes done and in all; false ends the loading with Cancelled.
  std::function<bool(uint64_t done_bytes, uint64_t total_bytes)> progress = {};
};

}  // namespace realizar
