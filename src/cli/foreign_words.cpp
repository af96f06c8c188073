#include "cli/foreign_words.h"

#include <algorithm>
#include <iterator>

namespace realizar::cli {
namespace {

constexpr auto kRenamed = ForeignKind::kRenamed;
constexpr auto kNoted = ForeignKind::kNoted;
constexpr auto kRefused = ForeignKind::kRefused;

constexpr std::string_view kNamesTheModel = "name the model as realizar run hf:OWNER/REPOSITORY[:QUANTIZATION or FILE]";
constexpr std::string_view kAlwaysOn = "is always on";
constexpr std::string_view kReadIntoMemory =
    "has no effect: weights are read into memory once, in the order in which this processor uses them";
constexpr std::string_view kChats = "has no effect: a prompt is answered once, and without a prompt a chat begins";
constexpr std::string_view kBatches = "has no effect: --batch-tokens alone says how many tokens a step computes";

constexpr ForeignWord kFlags[] = {
    {"-ngl", kRenamed, "--gpu-layers"},
    {"--n-gpu-layers", kRenamed, "--gpu-layers"},
    {"--ctx-size", kRenamed, "--ctx"},
    {"-ctk", kRenamed, "--kv-type"},
    {"-ctv", kRenamed, "--kv-type"},
    {"--cache-type-k", kRenamed, "--kv-type"},
    {"--cache-type-v", kRenamed, "--kv-type"},
    {"-ub", kRenamed, "--batch-tokens"},
    {"--ubatch-size", kRenamed, "--batch-tokens"},
    {"-np", kRenamed, "--max-seqs"},
    {"--parallel", kRenamed, "--max-seqs"},
    {"--n-predict", kRenamed, "--max-tokens"},
    {"--predict", kRenamed, "--max-tokens"},
    {"-sys", kRenamed, "--system"},
    {"--system-prompt", kRenamed, "--system"},
    {"-s", kRenamed, "--seed"},
    {"-r", kRenamed, "--stop"},
    {"--reverse-prompt", kRenamed, "--stop"},
    {"-md", kRenamed, "--draft"},
    {"--model-draft", kRenamed, "--draft"},
    {"--draft-max", kRenamed, "--draft-tokens"},
    {"-no-cnv", kRenamed, "--raw"},
    {"--no-conversation", kRenamed, "--raw"},
    {"--typical", kRenamed, "--typical-p"},
    {"--top-nsigma", kRenamed, "--top-n-sigma"},
    {"--dynatemp-exp", kRenamed, "--dynatemp-exponent"},
    {"--mirostat-lr", kRenamed, "--mirostat-eta"},
    {"--mirostat-ent", kRenamed, "--mirostat-tau"},
    {"--sampling-seq", kRenamed, "--sampler-seq"},
    {"--verbose", kRenamed, "--stats"},
    {"--no-think", kRenamed, "--no-reasoning"},
    {"--no-webui", kRenamed, "--no-page"},
    {"--ssl-cert-file", kRenamed, "--tls-cert"},
    {"--ssl-key-file", kRenamed, "--tls-key"},
    {"--api-key-file", kRenamed, "--api-keys"},
    {"--rope-scale", kRenamed, "--rope-factor"},
    {"--yarn-orig-ctx", kRenamed, "--rope-original-context"},
    {"-fa", kNoted, kAlwaysOn, "on|off|auto|0|1"},
    {"--flash-attn", kNoted, kAlwaysOn, "on|off|auto|0|1"},
    {"--jinja", kNoted, kAlwaysOn},
    {"-cb", kNoted, kAlwaysOn},
    {"--cont-batching", kNoted, kAlwaysOn},
    {"--metrics", kNoted, kAlwaysOn},
    {"--embedding", kNoted, kAlwaysOn},
    {"--embeddings", kNoted, kAlwaysOn},
    {"--mlock", kNoted, kReadIntoMemory},
    {"--no-mmap", kNoted, kReadIntoMemory},
    {"-cnv", kNoted, kChats},
    {"--conversation", kNoted, kChats},
    {"-i", kNoted, kChats},
    {"--interactive", kNoted, kChats},
    {"-st", kNoted, kChats},
    {"--single-turn", kNoted, kChats},
    {"-b", kNoted, kBatches, "*"},
    {"--batch-size", kNoted, kBatches, "*"},
    {"-tb", kNoted, "has no effect: --threads is for prompts and answers alike", "*"},
    {"--threads-batch", kNoted, "has no effect: --threads is for prompts and answers alike", "*"},
    {"-hf", kRefused, kNamesTheModel},
    {"-hfr", kRefused, kNamesTheModel},
    {"--hf-repo", kRefused, kNamesTheModel},
    {"-hff", kRefused, kNamesTheModel},
    {"--hf-file", kRefused, kNamesTheModel},
    {"-mu", kRefused, "name the model by its URL: realizar run https://HOST/FILE.gguf"},
    {"--model-url", kRefused, "name the model by its URL: realizar run https://HOST/FILE.gguf"},
    {"--mmproj", kRefused, "images are not supported: models read text alone here"},
    {"--json-schema", kRenamed, "--schema"},
    {"-j", kRenamed, "--schema"},
    {"--json-schema-file", kRenamed, "--schema"},
    {"-jf", kRenamed, "--schema"},
    {"--grammar-file", kRenamed, "--grammar"},
    {"--format", kRefused, "realizar run takes it; requests to realizar serve say it in the field `response_format`"},
    {"--schema", kRefused, "realizar run takes it; requests to realizar serve have it in the field `response_format`"},
    {"--grammar", kRefused, "realizar run takes it; requests to realizar serve have it in the field `grammar`"},
};

constexpr ForeignWord kCommands[] = {
    {"info", kRenamed, "inspect"},
    {"server", kRenamed, "serve"},
    {"start", kRenamed, "serve"},
    {"generate", kRenamed, "run"},
    {"cli", kRenamed, "run"},
    {"push", kRefused, "models are downloaded here and not published"},
    {"download", kRenamed, "pull"},
    {"create", kRefused, "realizar run FILE takes a model's file as it is; realizar cp gives a model another name"},
    {"ls", kRenamed, "list"},
    {"delete", kRenamed, "rm"},
    {"remove", kRenamed, "rm"},
    {"ps", kRefused, "ask a running server what it has loaded: curl http://127.0.0.1:8080/v1/models"},
    {"stop", kRefused, "Ctrl-C or SIGTERM ends a server"},
};

template <size_t n>
const ForeignWord* find_in(const ForeignWord (&words)[n], std::string_view name) {
  const auto* found =
      std::find_if(std::begin(words), std::end(words), [&](const ForeignWord& word) { return word.name == name; });
  return found == std::end(words) ? nullptr : found;
}

}  // namespace

const ForeignWord* find_foreign_flag(std::string_view name) {
  return find_in(kFlags, name);
}
const ForeignWord* find_foreign_command(std::string_view name) {
  return find_in(kCommands, name);
}

}  // namespace realizar::cli
