#include "cli/server_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>

#include "api/adapter_source.h"
#include "base/try.h"
#include "cli/option_value.h"

namespace realizar::cli {
namespace {

enum class Wish : uint8_t {
  kTaken,       // under the name `text`; a value of `nothing` is the default here too
  kModel,       // its value is the model
  kContext,     // kTaken, and see contexts()
  kSequences,   // the same
  kUnified,     // the same, without a value
  kAlias,       // names of the model, with commas between them; the first in alphabetical order is its id
  kOrigins,     // whose pages may call, with commas between them
  kMetrics,     // /metrics is served, without a value
  kReasoning,   // kTaken, and the template is not told to think
  kSwitch,      // becomes `text`, without a value
  kNoted,       // has no effect; `text` says why
  kNotedValue,  // the same, and it has a value
  kAdapters,    // files with commas between them, each with or without :SCALE
  kUnapplied,   // none of them is that of requests that name none
  kRefused,     // `text` says what to do instead
};

constexpr bool has_value(Wish wish) {
  return wish != Wish::kUnified && wish != Wish::kSwitch && wish != Wish::kNoted && wish != Wish::kMetrics &&
         wish != Wish::kUnapplied;
}

struct ServerFlag {
  std::string_view name;
  Wish wish;
  std::string_view text;
  std::string_view nothing = {};
};

constexpr std::string_view kOwnThreads = "has no effect: threads are placed by realizar itself";
constexpr std::string_view kKernels = "has no effect: kernels are chosen for this processor";
constexpr std::string_view kCache = "has no effect: prefixes are always shared and found again";
constexpr std::string_view kLogs = "has no effect: --access-log FILE logs requests";
constexpr std::string_view kAlways = "is always on";
constexpr std::string_view kNoImages = "has no effect: models read text alone here";
constexpr std::string_view kAsItsFileSays = "a model is used as its file says";
constexpr std::string_view kFiles = "realizar serve --pull hf:OWNER/REPO:QUANTIZATION downloads a model and serves it";
constexpr std::string_view kDraftRuns = "has no effect: the draft model runs as the model does";
constexpr std::string_view kDraftChecks = "has no effect: every guess is checked, and --draft-tokens says how many";
constexpr std::string_view kGpus = "has no effect: layers are placed by --gpu-layers, --device and --split";
constexpr std::string_view kEachRequest = "requests carry it: a field of the body";
constexpr std::string_view kTimeouts = "has no effect: --write-timeout-ms and --idle-timeout-ms are for connections";
constexpr std::string_view kPage = "has no effect: the page has settings of its own";

// All flags of tools/server/README.md in llama.cpp, but those that `realizar serve` has under the same name and
// foreign_words.h under another.
constexpr ServerFlag kFlags[] = {
    {"-m", Wish::kModel, ""},
    {"--model", Wish::kModel, ""},
    {"-c", Wish::kContext, "--ctx", "0"},
    {"--ctx-size", Wish::kContext, "--ctx", "0"},
    {"-np", Wish::kSequences, "--max-seqs", "-1"},
    {"--parallel", Wish::kSequences, "--max-seqs", "-1"},
    {"-kvu", Wish::kUnified, ""},
    {"--kv-unified", Wish::kUnified, ""},
    {"-no-kvu", Wish::kNoted, "has no effect: see --parallel"},
    {"--no-kv-unified", Wish::kNoted, "has no effect: see --parallel"},
    {"-t", Wish::kTaken, "--threads", "-1"},
    {"--threads", Wish::kTaken, "--threads", "-1"},
    {"-n", Wish::kTaken, "--max-tokens", "-1"},
    {"--predict", Wish::kTaken, "--max-tokens", "-1"},
    {"--n-predict", Wish::kTaken, "--max-tokens", "-1"},
    {"-s", Wish::kTaken, "--seed", "-1"},
    {"--seed", Wish::kTaken, "--seed", "-1"},
    {"--temp", Wish::kTaken, "--temperature"},
    {"--temperature", Wish::kTaken, "--temperature"},
    {"--top-nsigma", Wish::kTaken, "--top-n-sigma"},
    {"--typical", Wish::kTaken, "--typical-p"},
    {"--dynatemp-exp", Wish::kTaken, "--dynatemp-exponent"},
    {"--mirostat-lr", Wish::kTaken, "--mirostat-eta"},
    {"--mirostat-ent", Wish::kTaken, "--mirostat-tau"},
    {"--sampling-seq", Wish::kTaken, "--sampler-seq"},
    {"-a", Wish::kAlias, ""},
    {"--alias", Wish::kAlias, ""},
    {"-ub", Wish::kTaken, "--batch-tokens"},
    {"--ubatch-size", Wish::kTaken, "--batch-tokens"},
    {"-ngl", Wish::kTaken, "--gpu-layers", "auto"},
    {"--gpu-layers", Wish::kTaken, "--gpu-layers", "auto"},
    {"--n-gpu-layers", Wish::kTaken, "--gpu-layers", "auto"},
    {"-dev", Wish::kTaken, "--device"},
    {"-sm", Wish::kTaken, "--split"},
    {"--split-mode", Wish::kTaken, "--split"},
    {"-md", Wish::kTaken, "--draft"},
    {"--model-draft", Wish::kTaken, "--draft"},
    {"--spec-draft-model", Wish::kTaken, "--draft"},
    {"--draft", Wish::kTaken, "--draft-tokens"},
    {"--draft-n", Wish::kTaken, "--draft-tokens"},
    {"--draft-max", Wish::kTaken, "--draft-tokens"},
    {"--spec-draft-n-max", Wish::kTaken, "--draft-tokens"},
    {"--cors-origins", Wish::kOrigins, ""},
    {"--metrics", Wish::kMetrics, ""},
    {"-rea", Wish::kReasoning, "--reasoning", "auto"},
    {"--reasoning", Wish::kReasoning, "--reasoning", "auto"},
    {"--chat-template-kwargs", Wish::kReasoning, "--chat-template-kwargs"},
    {"-v", Wish::kSwitch, "--verbose-answers"},
    {"--verbose", Wish::kSwitch, "--verbose-answers"},
    {"--log-verbose", Wish::kSwitch, "--verbose-answers"},
    {"--no-ui", Wish::kSwitch, "--no-page"},
    {"--no-webui", Wish::kSwitch, "--no-page"},
    {"--warmup", Wish::kSwitch, "--warm-up"},
    {"--check-tensors", Wish::kSwitch, "--check"},
    {"--no-warmup", Wish::kNoted, "has no effect: --warm-up alone warms up"},
    {"--slots", Wish::kNoted, kAlways},
    {"--ui", Wish::kNoted, kAlways},
    {"--webui", Wish::kNoted, kAlways},
    {"--rerank", Wish::kNoted, kAlways},
    {"--reranking", Wish::kNoted, kAlways},
    {"--cache-prompt", Wish::kNoted, kAlways},
    {"--repack", Wish::kNoted, kAlways},
    {"--models-autoload", Wish::kNoted, kAlways},
    {"--prefill-assistant", Wish::kNoted, "has no effect: a request asks for it by continue_final_message"},
    {"--no-prefill-assistant", Wish::kNoted, "is always so: a request asks for it by continue_final_message"},
    {"-e", Wish::kNoted, "has no effect: no prompt stands in the command line"},
    {"--escape", Wish::kNoted, "has no effect: no prompt stands in the command line"},
    {"--no-escape", Wish::kNoted, "has no effect: no prompt stands in the command line"},
    {"-sp", Wish::kNoted, "has no effect: special tokens are told with a request's skip_special_tokens: false"},
    {"--special", Wish::kNoted, "has no effect: special tokens are told with a request's skip_special_tokens: false"},
    {"--no-jinja", Wish::kNoted, "has no effect: chat templates are Jinja"},
    {"--skip-chat-parsing", Wish::kRefused, "--reasoning-format none leaves answers as the model wrote them"},
    {"--no-skip-chat-parsing", Wish::kNoted, "is always so"},
    {"--no-context-shift", Wish::kNoted, "is so unless --context-shift asks for it"},
    {"--props", Wish::kRefused, "what a server was started with does not change"},
    {"--no-cache-prompt", Wish::kRefused, "a request that must not use the cache says cache_prompt: false"},
    {"--models-preset", Wish::kRefused, "--models-dir FOLDER serves all models of a folder"},
    {"--lora", Wish::kAdapters, ""},
    {"--lora-scaled", Wish::kAdapters, ""},
    {"--lora-init-without-apply", Wish::kUnapplied, ""},
    {"--control-vector", Wish::kRefused, "control vectors are not supported"},
    {"--control-vector-scaled", Wish::kRefused, "control vectors are not supported"},
    {"--control-vector-layer-range", Wish::kRefused, "control vectors are not supported"},
    {"--override-kv", Wish::kRefused, kAsItsFileSays},
    {"--override-tensor", Wish::kRefused, "layers are placed by --gpu-layers"},
    {"-ot", Wish::kRefused, "layers are placed by --gpu-layers"},
    {"--rope-scale", Wish::kTaken, "--rope-factor"},
    {"--rope-freq-base", Wish::kRefused, kAsItsFileSays},
    {"--rope-freq-scale", Wish::kRefused, kAsItsFileSays},
    {"--yarn-orig-ctx", Wish::kTaken, "--rope-original-context"},
    {"--yarn-ext-factor", Wish::kRefused, kAsItsFileSays},
    {"--yarn-attn-factor", Wish::kRefused, kAsItsFileSays},
    {"--yarn-beta-slow", Wish::kRefused, kAsItsFileSays},
    {"--yarn-beta-fast", Wish::kRefused, kAsItsFileSays},
    {"--embd-normalize", Wish::kRefused, "vectors have the length 1"},
    {"--rpc", Wish::kRefused, "other machines cannot help: every layer is computed here"},
    {"--api-prefix", Wish::kRefused, "a proxy can take a prefix away (docs/deploy.md)"},
    {"--path", Wish::kRefused, "no files are served: let a proxy do that"},
    {"--tools", Wish::kRefused, "tools are run by clients"},
    {"--mmproj", Wish::kRefused, "images are not supported: models read text alone here"},
    {"-mm", Wish::kRefused, "images are not supported: models read text alone here"},
    {"-mmu", Wish::kRefused, "images are not supported: models read text alone here"},
    {"--mmproj-url", Wish::kRefused, "images are not supported: models read text alone here"},
    {"-tk", Wish::kRefused, "speech is not supported"},
    {"--talker-model", Wish::kRefused, "speech is not supported"},
    {"-c2w", Wish::kRefused, "speech is not supported"},
    {"--code2wav-model", Wish::kRefused, "speech is not supported"},
    {"-mv", Wish::kRefused, "speech is not supported"},
    {"--model-vocoder", Wish::kRefused, "speech is not supported"},
    {"--tts-use-guide-tokens", Wish::kRefused, "speech is not supported"},
    {"-dr", Wish::kRefused, kFiles},
    {"--docker-repo", Wish::kRefused, kFiles},
    {"-hfv", Wish::kRefused, kFiles},
    {"-hfrv", Wish::kRefused, kFiles},
    {"--hf-repo-v", Wish::kRefused, kFiles},
    {"-hffv", Wish::kRefused, kFiles},
    {"--hf-file-v", Wish::kRefused, kFiles},
    {"-hfd", Wish::kRefused, kFiles},
    {"-hfrd", Wish::kRefused, kFiles},
    {"--hf-repo-draft", Wish::kRefused, kFiles},
    {"--spec-draft-hf", Wish::kRefused, kFiles},
    {"--fim-qwen-1.5b-default", Wish::kRefused, kFiles},
    {"--fim-qwen-3b-default", Wish::kRefused, kFiles},
    {"--fim-qwen-7b-default", Wish::kRefused, kFiles},
    {"--fim-qwen-7b-spec", Wish::kRefused, kFiles},
    {"--fim-qwen-14b-spec", Wish::kRefused, kFiles},
    {"--fim-qwen-30b-default", Wish::kRefused, kFiles},
    {"--gpt-oss-20b-default", Wish::kRefused, kFiles},
    {"--gpt-oss-120b-default", Wish::kRefused, kFiles},
    {"--embd-gemma-default", Wish::kRefused, kFiles},
    {"--vision-gemma-4b-default", Wish::kRefused, kFiles},
    {"--vision-gemma-12b-default", Wish::kRefused, kFiles},
    {"-cl", Wish::kRefused, "there is no cache of models: --models-dir FOLDER serves all models of a folder"},
    {"--cache-list", Wish::kRefused, "there is no cache of models: --models-dir FOLDER serves all models of a folder"},
    {"--list-devices", Wish::kRefused, "realizar devices lists them"},
    {"--completion-bash", Wish::kRefused, "share/bash-completion/completions has it, for realizar"},
    {"--ignore-eos", Wish::kRefused, kEachRequest},
    {"--adaptive-target", Wish::kRefused, "this sampler is not built"},
    {"--adaptive-decay", Wish::kRefused, "this sampler is not built"},
    {"-l", Wish::kRefused, "--logit-bias ID=VALUE"},
    {"--grammar", Wish::kRefused, kEachRequest},
    {"--grammar-file", Wish::kRefused, kEachRequest},
    {"-j", Wish::kRefused, kEachRequest},
    {"--json-schema", Wish::kRefused, kEachRequest},
    {"-jf", Wish::kRefused, kEachRequest},
    {"--json-schema-file", Wish::kRefused, kEachRequest},
    {"-r", Wish::kRefused, "requests carry it, in the field stop"},
    {"--reverse-prompt", Wish::kRefused, "requests carry it, in the field stop"},
    {"--reasoning-effort", Wish::kRefused, kEachRequest},
    {"--reasoning-budget-message", Wish::kRefused, "reasoning ends as the model's own marks say"},
    {"--spm-infill", Wish::kRefused, "gaps are asked for in the order that the model was trained with"},
    {"-lcs", Wish::kRefused, "guesses come from the text so far, or from a model: --draft-tokens, --model-draft"},
    {"--lookup-cache-static", Wish::kRefused,
     "guesses come from the text so far, or from a model: --draft-tokens, --model-draft"},
    {"-lcd", Wish::kRefused, "guesses come from the text so far, or from a model: --draft-tokens, --model-draft"},
    {"--lookup-cache-dynamic", Wish::kRefused,
     "guesses come from the text so far, or from a model: --draft-tokens, --model-draft"},
    {"-hft", Wish::kNotedValue, "has no effect: nothing is downloaded"},
    {"--hf-token", Wish::kNotedValue, "has no effect: nothing is downloaded"},
    {"-C", Wish::kNotedValue, kOwnThreads},
    {"--cpu-mask", Wish::kNotedValue, kOwnThreads},
    {"-Cr", Wish::kNotedValue, kOwnThreads},
    {"--cpu-range", Wish::kNotedValue, kOwnThreads},
    {"--cpu-strict", Wish::kNotedValue, kOwnThreads},
    {"--prio", Wish::kNotedValue, kOwnThreads},
    {"--poll", Wish::kNotedValue, kOwnThreads},
    {"-Cb", Wish::kNotedValue, kOwnThreads},
    {"--cpu-mask-batch", Wish::kNotedValue, kOwnThreads},
    {"-Crb", Wish::kNotedValue, kOwnThreads},
    {"--cpu-range-batch", Wish::kNotedValue, kOwnThreads},
    {"--cpu-strict-batch", Wish::kNotedValue, kOwnThreads},
    {"--prio-batch", Wish::kNotedValue, kOwnThreads},
    {"--poll-batch", Wish::kNotedValue, kOwnThreads},
    {"--numa", Wish::kNotedValue, kOwnThreads},
    {"--threads-http", Wish::kNotedValue, kOwnThreads},
    {"--no-repack", Wish::kNoted, kKernels},
    {"-nr", Wish::kNoted, kKernels},
    {"--no-host", Wish::kNoted, kKernels},
    {"--op-offload", Wish::kNoted, kKernels},
    {"--no-op-offload", Wish::kNoted, kKernels},
    {"-bs", Wish::kNoted, "has no effect: --choose says where tokens are drawn"},
    {"--backend-sampling", Wish::kNoted, "has no effect: --choose says where tokens are drawn"},
    {"--backend_sampling", Wish::kNoted, "has no effect: --choose says where tokens are drawn"},
    {"--mmap", Wish::kNoted, "has no effect: weights are read into memory once"},
    {"-dio", Wish::kNoted, "has no effect: weights are read into memory once"},
    {"--direct-io", Wish::kNoted, "has no effect: weights are read into memory once"},
    {"-ndio", Wish::kNoted, "has no effect: weights are read into memory once"},
    {"--no-direct-io", Wish::kNoted, "has no effect: weights are read into memory once"},
    {"-kvo", Wish::kNoted, kGpus},
    {"--kv-offload", Wish::kNoted, kGpus},
    {"-nkvo", Wish::kNoted, kGpus},
    {"--no-kv-offload", Wish::kNoted, kGpus},
    {"-cmoe", Wish::kNoted, kGpus},
    {"--cpu-moe", Wish::kNoted, kGpus},
    {"-ncmoe", Wish::kNotedValue, kGpus},
    {"--n-cpu-moe", Wish::kNotedValue, kGpus},
    {"-ts", Wish::kNotedValue, kGpus},
    {"--tensor-split", Wish::kNotedValue, kGpus},
    {"-mg", Wish::kNotedValue, kGpus},
    {"--main-gpu", Wish::kNotedValue, kGpus},
    {"-fit", Wish::kNotedValue, kGpus},
    {"--fit", Wish::kNotedValue, kGpus},
    {"-fitt", Wish::kNotedValue, kGpus},
    {"--fit-target", Wish::kNotedValue, kGpus},
    {"-fitc", Wish::kNotedValue, kGpus},
    {"--fit-ctx", Wish::kNotedValue, kGpus},
    {"--perf", Wish::kNoted, "is always on: answers have timings where timings_per_token asks for them"},
    {"--no-perf", Wish::kNoted, "has no effect: times are always taken"},
    {"--swa-full", Wish::kNoted, kCache},
    {"--cache-idle-slots", Wish::kNoted, kCache},
    {"--no-cache-idle-slots", Wish::kNoted, kCache},
    {"-dt", Wish::kNotedValue, kCache},
    {"--defrag-thold", Wish::kNotedValue, kCache},
    {"--cache-reuse", Wish::kNotedValue, kCache},
    {"-sps", Wish::kNotedValue, kCache},
    {"--slot-prompt-similarity", Wish::kNotedValue, kCache},
    {"--slot-cache-key-similarity", Wish::kNotedValue, kCache},
    {"--slot-cache-key-min-prefix", Wish::kNotedValue, kCache},
    {"-cram", Wish::kNotedValue, kCache},
    {"--cache-ram", Wish::kNotedValue, kCache},
    {"-ctxcp", Wish::kNotedValue, kCache},
    {"--ctx-checkpoints", Wish::kNotedValue, kCache},
    {"--swa-checkpoints", Wish::kNotedValue, kCache},
    {"-cms", Wish::kNotedValue, kCache},
    {"--checkpoint-min-step", Wish::kNotedValue, kCache},
    {"--keep", Wish::kNotedValue, "has no effect: requests carry it, in the field n_keep"},
    {"--log-disable", Wish::kNoted, kLogs},
    {"--log-prefix", Wish::kNoted, kLogs},
    {"--no-log-prefix", Wish::kNoted, kLogs},
    {"--log-timestamps", Wish::kNoted, kLogs},
    {"--no-log-timestamps", Wish::kNoted, kLogs},
    {"-lv", Wish::kNotedValue, kLogs},
    {"--verbosity", Wish::kNotedValue, kLogs},
    {"--log-verbosity", Wish::kNotedValue, kLogs},
    {"--log-file", Wish::kNotedValue, kLogs},
    {"--log-colors", Wish::kNotedValue, kLogs},
    {"--offline", Wish::kNoted, "is always so: nothing is downloaded"},
    {"-nocb", Wish::kNoted, "has no effect: requests always run together"},
    {"--no-cont-batching", Wish::kNoted, "has no effect: requests always run together"},
    {"--reuse-port", Wish::kNoted, "has no effect: a port has one server"},
    {"--mmproj-auto", Wish::kNoted, kNoImages},
    {"--no-mmproj", Wish::kNoted, kNoImages},
    {"--no-mmproj-auto", Wish::kNoted, kNoImages},
    {"--mmproj-offload", Wish::kNoted, kNoImages},
    {"--no-mmproj-offload", Wish::kNoted, kNoImages},
    {"--image-min-tokens", Wish::kNotedValue, kNoImages},
    {"--image-max-tokens", Wish::kNotedValue, kNoImages},
    {"--media-path", Wish::kNotedValue, kNoImages},
    {"--webui-config", Wish::kNotedValue, kPage},
    {"--ui-config", Wish::kNotedValue, kPage},
    {"--webui-config-file", Wish::kNotedValue, kPage},
    {"--ui-config-file", Wish::kNotedValue, kPage},
    {"--webui-mcp-proxy", Wish::kNoted, kPage},
    {"--no-webui-mcp-proxy", Wish::kNoted, kPage},
    {"--ui-mcp-proxy", Wish::kNoted, kPage},
    {"--no-ui-mcp-proxy", Wish::kNoted, kPage},
    {"-to", Wish::kNotedValue, kTimeouts},
    {"--timeout", Wish::kNotedValue, kTimeouts},
    {"-ctkd", Wish::kNotedValue, kDraftRuns},
    {"--cache-type-k-draft", Wish::kNotedValue, kDraftRuns},
    {"--spec-draft-type-k", Wish::kNotedValue, kDraftRuns},
    {"-ctvd", Wish::kNotedValue, kDraftRuns},
    {"--cache-type-v-draft", Wish::kNotedValue, kDraftRuns},
    {"--spec-draft-type-v", Wish::kNotedValue, kDraftRuns},
    {"-td", Wish::kNotedValue, kDraftRuns},
    {"--threads-draft", Wish::kNotedValue, kDraftRuns},
    {"--spec-draft-threads", Wish::kNotedValue, kDraftRuns},
    {"-devd", Wish::kNotedValue, kDraftRuns},
    {"--device-draft", Wish::kNotedValue, kDraftRuns},
    {"--spec-draft-device", Wish::kNotedValue, kDraftRuns},
    {"-ngld", Wish::kNotedValue, kDraftRuns},
    {"--gpu-layers-draft", Wish::kNotedValue, kDraftRuns},
    {"--n-gpu-layers-draft", Wish::kNotedValue, kDraftRuns},
    {"--spec-draft-ngl", Wish::kNotedValue, kDraftRuns},
    {"-tbd", Wish::kNotedValue, kDraftRuns},
    {"-Cd", Wish::kNotedValue, kDraftRuns},
    {"-Crd", Wish::kNotedValue, kDraftRuns},
    {"-Cbd", Wish::kNotedValue, kDraftRuns},
    {"-otd", Wish::kNotedValue, kDraftRuns},
    {"-ncmoed", Wish::kNotedValue, kDraftRuns},
    {"-cmoed", Wish::kNoted, kDraftRuns},
    {"--cpu-moe-draft", Wish::kNoted, kDraftRuns},
    {"--spec-draft-cpu-moe", Wish::kNoted, kDraftRuns},
    {"--spec-draft-backend-sampling", Wish::kNoted, kDraftRuns},
    {"--no-spec-draft-backend-sampling", Wish::kNoted, kDraftRuns},
    {"--draft-min", Wish::kNotedValue, kDraftChecks},
    {"--draft-n-min", Wish::kNotedValue, kDraftChecks},
    {"--spec-draft-n-min", Wish::kNotedValue, kDraftChecks},
    {"--draft-p-min", Wish::kNotedValue, kDraftChecks},
    {"--spec-draft-p-min", Wish::kNotedValue, kDraftChecks},
    {"--draft-p-split", Wish::kNotedValue, kDraftChecks},
    {"--spec-draft-p-split", Wish::kNotedValue, kDraftChecks},
    {"--spec-type", Wish::kNotedValue, kDraftChecks},
    {"--spec-default", Wish::kNoted, kDraftChecks},
};

// Flags of the draft model, each with a value, of which there are many.
constexpr ServerFlag kOfDrafts{"", Wish::kNotedValue, kDraftRuns};

const ServerFlag* find_flag(std::string_view name) {
  const auto* found = std::ranges::find(kFlags, name, &ServerFlag::name);
  if (found != std::end(kFlags)) return found;
  const bool is_of_drafts = name.starts_with("--spec-draft-") || name.starts_with("--spec-ngram-") ||
                            (name.starts_with("--") && name.ends_with("-draft"));
  return is_of_drafts ? &kOfDrafts : nullptr;
}

class Translator {
 public:
  explicit Translator(const std::vector<std::string>& given) : given_(given) { translated_.words = {"serve"}; }

  // Errors: InvalidArgument.
  Result<ServerWords> translate() {
    while (at_ < given_.size()) {
      const std::string& word = given_[at_++];
      const size_t sign = word.find('=');
      const std::string name = word.substr(0, sign);
      const ServerFlag* flag = word.starts_with('-') ? find_flag(name) : nullptr;
      if (flag == nullptr) {
        translated_.words.push_back(word);
        has_key_ = has_key_ || name == "--api-key" || name == "--api-key-file" || name == "--api-keys";
        continue;
      }
      std::optional<std::string> value;
      if (sign != std::string::npos) value = word.substr(sign + 1);
      RZ_CHECK_OK(take(*flag, name, std::move(value)));
    }
    RZ_CHECK_OK(contexts());
    RZ_CHECK_OK(default_adapter());
    finish();
    return std::move(translated_);
  }

 private:
  Status take(const ServerFlag& flag, std::string_view name, std::optional<std::string> value) {
    if (flag.wish == Wish::kRefused) return invalid_argument(fmt::format("{}: {}", name, flag.text));
    if (flag.wish == Wish::kSwitch) translated_.words.emplace_back(flag.text);
    if (flag.wish == Wish::kNoted || flag.wish == Wish::kNotedValue) {
      translated_.notes.push_back(fmt::format("{} {}", name, flag.text));
    }
    if (flag.wish == Wish::kUnified) is_unified_ = true;
    if (flag.wish == Wish::kMetrics) has_metrics_ = true;
    if (flag.wish == Wish::kUnapplied) applies_adapters_ = false;
    if (!has_value(flag.wish)) return {};
    if (!value && at_ == given_.size()) return invalid_argument(fmt::format("{} needs a value", name));
    if (!value) value = given_[at_++];
    if (flag.wish == Wish::kModel) model_ = *value;
    if (flag.wish == Wish::kAlias) aliases_ = *value;
    if (flag.wish == Wish::kOrigins) origins_ = values_of(*value);
    if (flag.wish == Wish::kAdapters) return add_adapters(name, *value);
    const bool says_something = flag.nothing.empty() || *value != flag.nothing;
    if (flag.wish == Wish::kContext && says_something) context_ = *value;
    if (flag.wish == Wish::kSequences && says_something) sequences_ = *value;
    if ((flag.wish == Wish::kTaken || flag.wish == Wish::kReasoning) && says_something) add(flag.text, *value);
    if (flag.wish == Wish::kReasoning && says_something) says_reasoning_ = true;
    return {};
  }

  void add(std::string_view flag, std::string value) {
    translated_.words.emplace_back(flag);
    translated_.words.push_back(std::move(value));
  }

  Status add_adapters(std::string_view flag, const std::string& files) {
    for (const std::string& file : values_of(files)) {
      const auto source = parse_adapter(file);
      if (!source.ok()) return invalid_argument(fmt::format("{} {}: expected FILE or FILE:SCALE", flag, files));
      adapters_.push_back(source->name);
      add("--lora", fmt::format("{}={}:{}", source->name, source->path, source->scale));
    }
    return {};
  }

  // llama-server adds up what all its adapters add, unless a request says otherwise.
  Status default_adapter() {
    if (!applies_adapters_ || adapters_.empty()) return {};
    if (adapters_.size() > 1) {
      return invalid_argument(
          "--lora: a request has one adapter here: with --lora-init-without-apply each chooses one, by `lora` or by "
          "its "
          "model's name");
    }
    add("--lora-default", adapters_.front());
    return {};
  }

  // What llama-server does unless it is told otherwise: it has metrics where it is asked for them, it loads no model at
  // the start where it is given none, pages that have a key may come from anywhere, and models think that can.
  void finish() {
    add_model();
    translated_.words.emplace_back("--llama-answers");
    if (!has_metrics_) translated_.words.emplace_back("--no-metrics");
    if (!says_reasoning_) add("--chat-template-kwargs", R"({"enable_thinking": true})");
    if (!origins_ && has_key_) origins_ = {"*"};
    for (const std::string& origin : origins_.value_or(std::vector<std::string>())) add_origin(origin);
  }

  void add_model() {
    std::vector<std::string> names = values_of(aliases_);
    std::ranges::sort(names);
    if (!model_.empty()) translated_.words.push_back(names.empty() ? model_ : names.front() + "=" + model_);
    if (!names.empty()) add("--alias", aliases_);
    if (model_.empty()) translated_.words.emplace_back("--no-preload");
  }

  void add_origin(const std::string& origin) {
    if (origin != "localhost") return add("--cors-origin", origin);
    for (const char* scheme : {"http://", "https://"}) {
      for (const char* host : {"localhost", "127.0.0.1", "[::1]"}) {
        add("--cors-origin", std::string(scheme) + host);
        add("--cors-origin", std::string(scheme) + host + ":*");
      }
    }
  }

  static std::vector<std::string> values_of(const std::string& text) {
    std::vector<std::string> values;
    std::istringstream stream(text);
    for (std::string value; std::getline(stream, value, ',');) {
      if (!value.empty()) values.push_back(value);
    }
    return values;
  }

  // llama-server's context is one for all sequences: each has its part of it, or, where it is unified or their number
  // is not said, as much as is left.
  Status contexts() {
    uint32_t n_ctx = 0, n_seqs = 1;
    if (!context_.empty() && !read_value(context_, n_ctx).empty()) {
      return invalid_argument(fmt::format("--ctx-size {}: expected a whole number", context_));
    }
    const bool is_number = sequences_.empty() || (read_value(sequences_, n_seqs).empty() && n_seqs > 0);
    if (!is_number) return invalid_argument(fmt::format("--parallel {}: expected 1 or more", sequences_));
    if (!sequences_.empty()) translated_.words.insert(translated_.words.end(), {"--max-seqs", sequences_});
    if (n_ctx == 0) return {};
    const uint32_t own = is_unified_ ? n_ctx : std::max(1u, n_ctx / n_seqs);
    translated_.words.insert(translated_.words.end(),
                             {"--ctx", std::to_string(own), "--kv-tokens", std::to_string(n_ctx)});
    return {};
  }

  const std::vector<std::string>& given_;
  std::string context_, sequences_, model_, aliases_;
  std::optional<std::vector<std::string>> origins_;
  std::vector<std::string> adapters_;
  bool is_unified_ = false, applies_adapters_ = true;
  bool has_metrics_ = false, has_key_ = false, says_reasoning_ = false;
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
