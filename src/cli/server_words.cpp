#include "cli/server_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/try.h"

namespace realizar::cli {
namespace {

enum class Wish : uint8_t {
  kTaken,       // under the name `text`; a value of `nothing` is the default here too
  kModel,       // its value is the model
  kSwitch,      // becomes `text`, without a value
  kNoted,       // has no effect; `text` says why
  kNotedValue,  // the same, and it has a value
  kRefused,     // `text` says what to do instead
};

struct ServerFlag {
  std::string_view name;
  Wish wish;
  std::string_view text;
  std::string_view nothing = {};
};

constexpr std::string_view kPerRequest = "requests carry it: a field of that name in the body";
constexpr std::string_view kOwnThreads = "has no effect: threads are placed by realizar itself";
constexpr std::string_view kKernels = "has no effect: kernels are chosen for this processor";
constexpr std::string_view kCache = "has no effect: prefixes are always shared and found again";
constexpr std::string_view kLogs = "has no effect: --access-log FILE logs requests";
constexpr std::string_view kAlways = "is always on";
constexpr std::string_view kNoImages = "has no effect: models read text alone here";

// tools/server/README.md of llama.cpp lists them.
constexpr ServerFlag kFlags[] = {
    {"-m", Wish::kModel, ""},
    {"--model", Wish::kModel, ""},
    {"-c", Wish::kTaken, "--ctx", "0"},
    {"--ctx-size", Wish::kTaken, "--ctx", "0"},
    {"-t", Wish::kTaken, "--threads", "-1"},
    {"--threads", Wish::kTaken, "--threads", "-1"},
    {"-np", Wish::kTaken, "--max-seqs", "-1"},
    {"--parallel", Wish::kTaken, "--max-seqs", "-1"},
    {"-a", Wish::kTaken, "--alias"},
    {"-ub", Wish::kTaken, "--batch-tokens"},
    {"--ubatch-size", Wish::kTaken, "--batch-tokens"},
    {"-ngl", Wish::kTaken, "--gpu-layers", "auto"},
    {"--gpu-layers", Wish::kTaken, "--gpu-layers", "auto"},
    {"--n-gpu-layers", Wish::kTaken, "--gpu-layers", "auto"},
    {"--spec-draft-model", Wish::kTaken, "--draft"},
    {"--spec-draft-n-max", Wish::kTaken, "--draft-tokens"},
    {"--cors-origins", Wish::kTaken, "--cors-origin"},
    {"--no-ui", Wish::kSwitch, "--no-page"},
    {"--no-webui", Wish::kSwitch, "--no-page"},
    {"--no-warmup", Wish::kNoted, "has no effect: --warm-up alone warms up"},
    {"--warmup", Wish::kSwitch, "--warm-up"},
    {"--check-tensors", Wish::kSwitch, "--check"},
    {"--slots", Wish::kNoted, kAlways},
    {"--ui", Wish::kNoted, kAlways},
    {"--webui", Wish::kNoted, kAlways},
    {"--rerank", Wish::kNoted, kAlways},
    {"--reranking", Wish::kNoted, kAlways},
    {"--cache-prompt", Wish::kNoted, kAlways},
    {"--kv-unified", Wish::kNoted, kAlways},
    {"-kvu", Wish::kNoted, kAlways},
    {"--repack", Wish::kNoted, kAlways},
    {"--no-context-shift", Wish::kNoted, "is always so: a full context ends an answer"},
    {"--context-shift", Wish::kRefused, "a full context ends an answer: choose a larger one with --ctx"},
    {"--no-slots", Wish::kRefused, "GET /slots is always there; --api-key KEY asks for a key"},
    {"--props", Wish::kRefused, "what a server was started with does not change"},
    {"--slot-save-path", Wish::kRefused, "--cache-dir FOLDER keeps all prefixes over restarts"},
    {"--no-cache-prompt", Wish::kRefused, "a request that must not use the cache says cache_prompt: false"},
    {"--models-preset", Wish::kRefused, "--models-dir FOLDER serves all models of a folder"},
    {"--lora-scaled", Wish::kRefused, "adapters are not supported: merge the adapter into the model first"},
    {"--control-vector", Wish::kRefused, "control vectors are not supported"},
    {"--override-kv", Wish::kRefused, "a model is used as its file says"},
    {"--rope-scaling", Wish::kRefused, "a model is used as its file says"},
    {"--rope-scale", Wish::kRefused, "a model is used as its file says"},
    {"--rope-freq-base", Wish::kRefused, "a model is used as its file says"},
    {"--rope-freq-scale", Wish::kRefused, "a model is used as its file says"},
    {"--pooling", Wish::kRefused, "the model's own pooling is used"},
    {"--rpc", Wish::kRefused, "other machines cannot help: every layer is computed here"},
    {"--api-prefix", Wish::kRefused, "a proxy can take a prefix away (docs/deploy.md)"},
    {"--path", Wish::kRefused, "no files are served: let a proxy do that"},
    {"--tools", Wish::kRefused, "tools are run by clients"},
    {"--sleep-idle-seconds", Wish::kRefused, "--memory-mb N makes several models share memory"},
    {"-n", Wish::kRefused, kPerRequest},
    {"--predict", Wish::kRefused, kPerRequest},
    {"--n-predict", Wish::kRefused, kPerRequest},
    {"-s", Wish::kRefused, kPerRequest},
    {"--seed", Wish::kRefused, kPerRequest},
    {"--temp", Wish::kRefused, kPerRequest},
    {"--temperature", Wish::kRefused, kPerRequest},
    {"--top-k", Wish::kRefused, kPerRequest},
    {"--top-p", Wish::kRefused, kPerRequest},
    {"--min-p", Wish::kRefused, kPerRequest},
    {"--typical", Wish::kRefused, kPerRequest},
    {"--repeat-penalty", Wish::kRefused, kPerRequest},
    {"--repeat-last-n", Wish::kRefused, kPerRequest},
    {"--presence-penalty", Wish::kRefused, kPerRequest},
    {"--frequency-penalty", Wish::kRefused, kPerRequest},
    {"--samplers", Wish::kRefused, kPerRequest},
    {"--ignore-eos", Wish::kRefused, kPerRequest},
    {"-l", Wish::kRefused, kPerRequest},
    {"--logit-bias", Wish::kRefused, kPerRequest},
    {"--json-schema", Wish::kRefused, kPerRequest},
    {"--chat-template-kwargs", Wish::kRefused, kPerRequest},
    {"--reasoning-effort", Wish::kRefused, kPerRequest},
    {"-C", Wish::kNotedValue, kOwnThreads},
    {"--cpu-mask", Wish::kNotedValue, kOwnThreads},
    {"--cpu-range", Wish::kNotedValue, kOwnThreads},
    {"--cpu-strict", Wish::kNotedValue, kOwnThreads},
    {"--prio", Wish::kNotedValue, kOwnThreads},
    {"--poll", Wish::kNotedValue, kOwnThreads},
    {"--numa", Wish::kNotedValue, kOwnThreads},
    {"--threads-http", Wish::kNotedValue, kOwnThreads},
    {"--no-repack", Wish::kNoted, kKernels},
    {"-nr", Wish::kNoted, kKernels},
    {"--perf", Wish::kNoted, "is always on: answers have timings where timings_per_token asks for them"},
    {"--no-perf", Wish::kNoted, "has no effect: times are always taken"},
    {"--swa-full", Wish::kNoted, kCache},
    {"--cache-reuse", Wish::kNotedValue, kCache},
    {"--keep", Wish::kNotedValue, "has no effect: a full context ends an answer"},
    {"-sps", Wish::kNotedValue, kCache},
    {"--slot-prompt-similarity", Wish::kNotedValue, kCache},
    {"-cram", Wish::kNotedValue, kCache},
    {"--cache-ram", Wish::kNotedValue, kCache},
    {"-ctxcp", Wish::kNotedValue, kCache},
    {"--ctx-checkpoints", Wish::kNotedValue, kCache},
    {"-v", Wish::kNoted, kLogs},
    {"--verbose", Wish::kNoted, kLogs},
    {"--log-disable", Wish::kNoted, kLogs},
    {"--log-prefix", Wish::kNoted, kLogs},
    {"--log-timestamps", Wish::kNoted, kLogs},
    {"-lv", Wish::kNotedValue, kLogs},
    {"--verbosity", Wish::kNotedValue, kLogs},
    {"--log-file", Wish::kNotedValue, kLogs},
    {"--log-colors", Wish::kNotedValue, kLogs},
    {"--tags", Wish::kNotedValue, "has no effect: models have no tags here"},
    {"--offline", Wish::kNoted, "is always so: nothing is downloaded"},
    {"--no-mmproj", Wish::kNoted, kNoImages},
    {"--media-path", Wish::kNotedValue, kNoImages},
    {"-to", Wish::kNotedValue, "has no effect: --write-timeout-ms and --idle-timeout-ms are for connections"},
    {"--timeout", Wish::kNotedValue, "has no effect: --write-timeout-ms and --idle-timeout-ms are for connections"},
};

const ServerFlag* find_flag(std::string_view name) {
  const auto* found = std::ranges::find(kFlags, name, &ServerFlag::name);
  return found == std::end(kFlags) ? nullptr : found;
}

class Translator {
 public:
  explicit Translator(const std::vector<std::string>& given) : given_(given) { translated_.words = {"serve"}; }

  Result<ServerWords> translate() {
    while (at_ < given_.size()) {
      const std::string& word = given_[at_++];
      const size_t sign = word.find('=');
      const ServerFlag* flag = word.starts_with('-') ? find_flag(word.substr(0, sign)) : nullptr;
      if (flag == nullptr) {
        translated_.words.push_back(word);
        continue;
      }
      std::optional<std::string> value;
      if (sign != std::string::npos) value = word.substr(sign + 1);
      RZ_CHECK_OK(take(*flag, std::move(value)));
    }
    return std::move(translated_);
  }

 private:
  Status take(const ServerFlag& flag, std::optional<std::string> value) {
    if (flag.wish == Wish::kRefused) return invalid_argument(fmt::format("{}: {}", flag.name, flag.text));
    if (flag.wish == Wish::kSwitch) translated_.words.emplace_back(flag.text);
    if (flag.wish == Wish::kNoted || flag.wish == Wish::kNotedValue) {
      translated_.notes.push_back(fmt::format("{} {}", flag.name, flag.text));
    }
    if (flag.wish == Wish::kSwitch || flag.wish == Wish::kNoted) return {};
    if (!value && at_ == given_.size()) return invalid_argument(fmt::format("{} needs a value", flag.name));
    if (!value) value = given_[at_++];
    if (flag.wish == Wish::kModel) translated_.words.push_back(*value);
    const bool says_something = flag.nothing.empty() || *value != flag.nothing;
    if (flag.wish == Wish::kTaken && says_something) {
      translated_.words.emplace_back(flag.text);
      translated_.words.push_back(*value);
    }
    return {};
  }

  const std::vector<std::string>& given_;
  size_t at_ = 0;
  ServerWords translated_;
};

}  // namespace

bool is_llama_server(std::string_view program) {
  const size_t slash = program.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? program : program.substr(slash + 1);
  return name == "realizar-server" || name == "llama-server";
}

Result<ServerWords> words_of_llama_server(const std::vector<std::string>& given) {
  return Translator(given).translate();
}

}  // namespace realizar::cli
