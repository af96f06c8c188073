// Options for loading a model, and the devices that run it.
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

// The name of an enum's value in flags, files and the C interface.
template <class Enum>
struct NamedValue {
  std::string_view name;
  Enum value;
};

enum class BackendChoice : uint8_t {
  kAuto,  // the GPU if there is one that can run the model, else the CPU
  kCpu,   // this one or an error, like the others below
  kCuda,
  kReference,  // slow and exact, for checking
};
inline constexpr NamedValue<BackendChoice> kBackendNames[] = {{"auto", BackendChoice::kAuto},
                                                              {"cpu", BackendChoice::kCpu},
                                                              {"cuda", BackendChoice::kCuda},
                                                              {"reference", BackendChoice::kReference}};

// Instruction sets for which the CPU has kernels.
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
  kTensor,  // each has a part of every layer, and they compute together; GPUs use NVIDIA's NCCL
  kExpert,  // like kTensor, but with whole experts each; only for processes
};
inline constexpr NamedValue<Split> kSplitNames[] = {
    {"layer", Split::kLayer}, {"tensor", Split::kTensor}, {"expert", Split::kExpert}};

// The device that draws tokens.
enum class Chooser : uint8_t {
  kDevice,  // the GPU, if it can
  kHost,    // the CPU, from all logits; the tokens are the same
};
inline constexpr NamedValue<Chooser> kChooserNames[] = {{"device", Chooser::kDevice}, {"host", Chooser::kHost}};

// How positions are scaled beyond the context that a model was trained with.
enum class RopeStretch : uint8_t {
  kModel,  // as in its file
  kNone,   // this and the others override the file
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

// Nullopt if no value has that name.
template <class Enum>
constexpr std::optional<Enum> option_value(std::string_view name) {
  for (const auto& named : option_names(Enum())) {
    if (named.name == name) return named.value;
  }
  return std::nullopt;
}

class Ranks;  // internal to the program

struct CpuSettings {
  uint32_t n_threads = 0;  // 0: all cores available to the process
  Isa isa = Isa::kAuto;
};

struct GpuSettings {
  // Empty: the first one, and as many others as the model needs. Processes of an MPI job use one each, in order on each
  // host, or all of them the same one if only one is named.
  std::vector<uint32_t> devices = {};
  Split split = Split::kLayer;            // kTensor: only for GPUs that `devices` names
  std::optional<uint32_t> n_layers = {};  // layers to keep in the GPUs' memory; absent: as many as fit
  uint64_t memory_mb = 0;                 // memory to use on each GPU; 0: all that is free
  // Layers that do not fit on the GPUs are transferred in each step, from at most this much host memory; 0: three
  // quarters of the available memory. Layers beyond that are read from an unnamed file in the folder layer_dir, which
  // is created if necessary. With an empty layer_dir there is no such file, and 0 means no limit.
  uint64_t host_memory_mb = 0;
  std::string layer_dir = {};
  uint64_t host_cache_mb = 1024;  // host memory for cached prefixes that do not fit on the GPU
  Chooser chooser = Chooser::kDevice;
};

struct CacheSettings {
  CacheType type = CacheType::kF16;
  uint32_t n_tokens = 0;    // positions in the KV cache in total; 0: n_contexts whole contexts
  uint32_t n_contexts = 0;  // 0: one for each concurrent request
  // For models with recurrent layers: states kept for prompts with a common beginning; 0: as many as fit in a gigabyte,
  // at least 2 and at most two more than concurrent requests.
  uint32_t n_states = 0;
};

struct BatchSettings {
  uint32_t max_seqs = 1;            // concurrent requests
  uint32_t max_tokens = 512;        // tokens in a step, mostly of prompts; at least max_seqs
  uint32_t max_prefill_tokens = 0;  // prompt tokens in a step while others decode; 0: chosen to keep their pace even
  bool global_priority = false;     // compare a request's priority with all others, not only within its tenant
};

struct DraftSettings {
  std::string path = {};  // path or name of a smaller model with the same vocabulary that drafts tokens; empty: they
                          // come from the text so far
  uint32_t n_tokens = 0;  // speculative tokens verified together; 0: as `guesses` says, or 4 with a path
  // On a CPU, from the text so far: as many tokens as pay off, judged by their hits and the times of steps. Not for
  // models with recurrent layers.
  bool guesses = true;
};

// Rotary embedding beyond the context that a model was trained with.
struct RopeSettings {
  RopeStretch scaling = RopeStretch::kModel;
  std::optional<double> factor = {};  // factor by which the context grows; kLinear, kDynamic and kYarn need one above 0
  uint32_t n_ctx_original = 0;        // the context before scaling; 0: the file's
};

// Settings that Ollama stores with a model's file; they override the file's own.
struct BesideSettings {
  std::string chat_template =
      {};  // a Go template or Jinja; one that cannot be parsed is ignored, with a note in ModelInfo::notes
  std::string params = {};  // a JSON object of Ollama's parameters: sampling, stop and num_ctx; others are ignored
};

// Low-rank adapters for requests to choose from (adapter.h).
struct AdapterSettings {
  std::vector<AdapterSource> sources = {};  // loaded along with the model
  uint32_t n_slots = 0;                     // adapters loaded at the same time; 0: one for each of `sources`
  uint32_t max_rank = 0;                    // maximum rank; 0: the largest of `sources`, or 64 without any
  std::string default_name = {};            // adapter for requests that name none; "": none
};

// Changes to the end tokens defined by the model's files.
struct EndSettings {
  std::vector<std::string> ends = {};     // additional tokens that end an answer
  std::vector<std::string> no_ends = {};  // tokens that do not end one
};

struct LoadOptions {
  BackendChoice backend = BackendChoice::kAuto;
  uint32_t n_ctx = 0;  // positions; 0: the context that the model was trained with, or as extended by `rope`, at most
                       // 8192
  RopeSettings rope = {};
  CpuSettings cpu = {};
  GpuSettings gpu = {};
  CacheSettings cache = {};
  BatchSettings batch = {};
  DraftSettings draft = {};
  BesideSettings beside = {};
  AdapterSettings adapters = {};
  EndSettings ends = {};
  // Between requests, recompute answers as parts of prompts if those have their own arithmetic (AMX, GPUs), so that the
  // next turn of a chat finds them cached: automatic in a server or session, otherwise by idle_step.
  bool idle_prefill = true;
  bool warm_up = false;           // run steps of every usual size, so that the first requests are not slower
  bool check = false;             // compare the logits of a short prompt with another backend's
  bool hash_weights = false;      // hash the weights while reading them, for cached prefixes that are kept in a file
  Ranks* ranks = nullptr;         // the processes that share the model, if any; they must outlive it
  std::string models_store = {};  // folder of pulled models, to resolve names; empty: the user's own
  // Bytes done and total bytes; returning false ends loading with Cancelled.
  std::function<bool(uint64_t done_bytes, uint64_t total_bytes)> progress = {};
};

}  // namespace realizar
