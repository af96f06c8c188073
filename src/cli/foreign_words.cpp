#include "cli/foreign_words.h"

#include <algorithm>
#include <span>

namespace realizar::cli {
namespace {

struct Row {
  ForeignKind kind;
  CalledAs called_as;
  std::string_view text;
  std::string_view names;  // separated by spaces; names that end in "=" take a value
  std::string_view values = {};
};

// The first row with a name wins. llama-server's flags are all of tools/server/README.md in llama.cpp, except those
// that `realizar serve` has under the same name.
std::span<const Row> rows() {
  using enum ForeignKind;
  using enum CalledAs;
  constexpr std::string_view kAlwaysOn = "is always on";
  constexpr std::string_view kNoImages = "images are not supported: models only read text here";
  static constexpr Row kRows[] = {
      {kRenamed, kBoth, "--gpu-layers", "-ngl= --n-gpu-layers=", "auto"},
      {kRenamed, kBoth, "--seed", "-s=", "-1"},
      {kRenamed, kBoth, "--batch-tokens", "-ub= --ubatch-size="},
      {kRenamed, kBoth, "--draft", "-md= --model-draft="},
      {kRenamed, kBoth, "--draft-tokens", "--draft-max="},
      {kRenamed, kBoth, "--top-n-sigma", "--top-nsigma="},
      {kRenamed, kBoth, "--typical-p", "--typical="},
      {kRenamed, kBoth, "--dynatemp-exponent", "--dynatemp-exp="},
      {kRenamed, kBoth, "--mirostat-eta", "--mirostat-lr="},
      {kRenamed, kBoth, "--mirostat-tau", "--mirostat-ent="},
      {kRenamed, kBoth, "--sampler-seq", "--sampling-seq="},
      {kRenamed, kBoth, "--rope-factor", "--rope-scale="},
      {kRenamed, kBoth, "--rope-original-context", "--yarn-orig-ctx="},
      {kRenamed, kBoth, "--no-page", "--no-webui"},
      {kRefused, kBoth, kNoImages, "--mmproj="},

      {kRenamed, kRealizar, "--ctx", "--ctx-size="},
      {kRenamed, kRealizar, "--max-seqs", "-np= --parallel="},
      {kRenamed, kRealizar, "--max-tokens", "--predict= --n-predict="},
      {kRenamed, kRealizar, "--kv-type", "-ctk= -ctv= --cache-type-k= --cache-type-v="},
      {kRenamed, kRealizar, "--system", "-sys= --system-prompt="},
      {kRenamed, kRealizar, "--stop", "-r= --reverse-prompt="},
      {kRenamed, kRealizar, "--schema", "-j= --json-schema= -jf= --json-schema-file="},
      {kRenamed, kRealizar, "--grammar", "--grammar-file="},
      {kRenamed, kRealizar, "--tls-cert", "--ssl-cert-file="},
      {kRenamed, kRealizar, "--tls-key", "--ssl-key-file="},
      {kRenamed, kRealizar, "--api-keys", "--api-key-file="},
      {kRenamed, kRealizar, "--raw", "-no-cnv --no-conversation"},
      {kRenamed, kRealizar, "--stats", "--verbose"},
      {kRenamed, kRealizar, "--no-reasoning", "--no-think"},
      {kRenamed, kRealizar, "--hide-reasoning", "--hidethinking"},
      {kNoted, kRealizar,
       "has no effect: the template decides whether a model thinks, unless --no-reasoning or --reasoning-effort is "
       "given",
       "--think", "true|false|low|medium|high"},
      {kRenamed, kRealizar, "inspect", "info"},
      {kRenamed, kRealizar, "serve", "server start"},
      {kRenamed, kRealizar, "run", "generate cli"},
      {kRenamed, kRealizar, "pull", "download"},
      {kRenamed, kRealizar, "list", "ls"},
      {kRenamed, kRealizar, "rm", "delete remove"},
      {kNoted, kRealizar, kAlwaysOn, "--jinja -cb --cont-batching --metrics --embedding --embeddings"},
      {kNoted, kRealizar, kAlwaysOn, "-fa --flash-attn", "on|off|auto|0|1"},
      {kNoted, kRealizar,
       "has no effect: weights are read into memory once, in the order in which this processor uses them",
       "--mlock --no-mmap"},
      {kNoted, kRealizar, "has no effect: a prompt is answered once, and without a prompt a chat begins",
       "-cnv --conversation -i --interactive -st --single-turn"},
      {kNoted, kRealizar, "has no effect: only --batch-tokens sets how many tokens a step computes",
       "-b= --batch-size="},
      {kNoted, kRealizar, "has no effect: --threads is for prompts and answers alike", "-tb= --threads-batch="},
      {kRefused, kRealizar, "name the model as realizar run hf:OWNER/REPOSITORY[:QUANTIZATION or FILE]",
       "-hf -hfr --hf-repo -hff --hf-file"},
      {kRefused, kRealizar, "name the model by its URL: realizar run https://HOST/FILE.gguf", "-mu --model-url"},
      {kRefused, kRealizar, "realizar run takes it; requests to realizar serve say it in the field `response_format`",
       "--format"},
      {kRefused, kRealizar, "realizar run takes it; requests to realizar serve have it in the field `response_format`",
       "--schema"},
      {kRefused, kRealizar, "realizar run takes it; requests to realizar serve have it in the field `grammar`",
       "--grammar"},
      {kRefused, kRealizar, "models are downloaded here and not published", "push"},

      {kModel, kServer, "", "-m= --model="},
      {kContext, kServer, "--ctx", "-c= --ctx-size=", "0"},
      {kSequences, kServer, "--max-seqs", "-np= --parallel=", "-1"},
      {kUnified, kServer, "", "-kvu --kv-unified"},
      {kAlias, kServer, "", "-a= --alias="},
      {kOrigins, kServer, "", "--cors-origins="},
      {kMetrics, kServer, "", "--metrics"},
      {kReasoning, kServer, "--reasoning", "-rea= --reasoning=", "auto"},
      {kReasoning, kServer, "--chat-template-kwargs", "--chat-template-kwargs="},
      {kAdapters, kServer, "", "--lora= --lora-scaled="},
      {kUnapplied, kServer, "", "--lora-init-without-apply"},
      {kRenamed, kServer, "--gpu-layers", "--gpu-layers=", "auto"},
      {kRenamed, kServer, "--seed", "--seed=", "-1"},
      {kRenamed, kServer, "--threads", "-t= --threads=", "-1"},
      {kRenamed, kServer, "--max-tokens", "-n= --predict= --n-predict=", "-1"},
      {kRenamed, kServer, "--temperature", "--temp= --temperature="},
      {kRenamed, kServer, "--device", "-dev="},
      {kRenamed, kServer, "--split", "-sm= --split-mode="},
      {kRenamed, kServer, "--draft", "--spec-draft-model="},
      {kRenamed, kServer, "--draft-tokens", "--draft= --draft-n= --spec-draft-n-max="},
      {kRenamed, kServer, "--verbose-answers", "-v --verbose --log-verbose"},
      {kRenamed, kServer, "--no-page", "--no-ui"},
      {kRenamed, kServer, "--warm-up", "--warmup"},
      {kRenamed, kServer, "--check", "--check-tensors"},

      {kNoted, kServer, kAlwaysOn,
       "--slots --ui --webui --rerank --reranking --cache-prompt --repack --models-autoload"},
      {kNoted, kServer, "is always on: answers have timings where timings_per_token asks for them", "--perf"},
      {kNoted, kServer, "is always so", "--no-skip-chat-parsing"},
      {kNoted, kServer, "is always so: a request asks for it by continue_final_message", "--no-prefill-assistant"},
      {kNoted, kServer, "is always so: nothing is downloaded", "--offline"},
      {kNoted, kServer, "is so unless --context-shift asks for it", "--no-context-shift"},
      {kNoted, kServer, "has no effect: see --parallel", "-no-kvu --no-kv-unified"},
      {kNoted, kServer, "has no effect: only --warm-up warms up", "--no-warmup"},
      {kNoted, kServer, "has no effect: a request asks for it by continue_final_message", "--prefill-assistant"},
      {kNoted, kServer, "has no effect: the command line contains no prompt", "-e --escape --no-escape"},
      {kNoted, kServer, "has no effect: a request's skip_special_tokens: false shows special tokens", "-sp --special"},
      {kNoted, kServer, "has no effect: chat templates are Jinja", "--no-jinja"},
      {kNoted, kServer, "has no effect: nothing is downloaded", "-hft= --hf-token="},
      {kNoted, kServer, "has no effect: threads are placed by realizar itself",
       "-C= --cpu-mask= -Cr= --cpu-range= --cpu-strict= --prio= --poll= -Cb= --cpu-mask-batch= -Crb= "
       "--cpu-range-batch= --cpu-strict-batch= --prio-batch= --poll-batch= --numa= --threads-http="},
      {kNoted, kServer, "has no effect: kernels are chosen for this processor",
       "--no-repack -nr --no-host --op-offload --no-op-offload"},
      {kNoted, kServer, "has no effect: --choose sets where tokens are chosen",
       "-bs --backend-sampling --backend_sampling"},
      {kNoted, kServer, "has no effect: weights are read into memory once",
       "--mmap -dio --direct-io -ndio --no-direct-io"},
      {kNoted, kServer, "has no effect: layers are placed by --gpu-layers, --device and --split",
       "-kvo --kv-offload -nkvo --no-kv-offload -cmoe --cpu-moe -ncmoe= --n-cpu-moe= -ts= --tensor-split= -mg= "
       "--main-gpu= -fit= --fit= -fitt= --fit-target= -fitc= --fit-ctx="},
      {kNoted, kServer, "has no effect: times are always taken", "--no-perf"},
      {kNoted, kServer, "has no effect: prefixes are always shared and found again",
       "--swa-full --cache-idle-slots --no-cache-idle-slots -dt= --defrag-thold= --cache-reuse= -sps= "
       "--slot-prompt-similarity= --slot-cache-key-similarity= --slot-cache-key-min-prefix= -cram= --cache-ram= "
       "-ctxcp= "
       "--ctx-checkpoints= --swa-checkpoints= -cms= --checkpoint-min-step="},
      {kNoted, kServer, "has no effect: requests carry it, in the field n_keep", "--keep="},
      {kNoted, kServer, "has no effect: --access-log FILE logs requests",
       "--log-disable --log-prefix --no-log-prefix --log-timestamps --no-log-timestamps -lv= --verbosity= "
       "--log-verbosity= --log-file= --log-colors="},
      {kNoted, kServer, "has no effect: requests always run together", "-nocb --no-cont-batching"},
      {kNoted, kServer, "has no effect: a port has one server", "--reuse-port"},
      {kNoted, kServer, "has no effect: models only read text here",
       "--mmproj-auto --no-mmproj --no-mmproj-auto --mmproj-offload --no-mmproj-offload --image-min-tokens= "
       "--image-max-tokens= --media-path="},
      {kNoted, kServer, "has no effect: the page has settings of its own",
       "--webui-config= --ui-config= --webui-config-file= --ui-config-file= --webui-mcp-proxy --no-webui-mcp-proxy "
       "--ui-mcp-proxy --no-ui-mcp-proxy"},
      {kNoted, kServer, "has no effect: --write-timeout-ms and --idle-timeout-ms are for connections",
       "-to= --timeout="},
      {kNoted, kServer, "has no effect: every proposed token is checked, and --draft-tokens sets how many",
       "--draft-min= --draft-n-min= --spec-draft-n-min= --draft-p-min= --spec-draft-p-min= --draft-p-split= "
       "--spec-draft-p-split= --spec-type= --spec-default"},

      {kRefused, kServer, kNoImages, "-mm -mmu --mmproj-url"},
      {kRefused, kServer, "--reasoning-format none leaves answers as the model wrote them", "--skip-chat-parsing"},
      {kRefused, kServer, "what a server was started with does not change", "--props"},
      {kRefused, kServer, "a request that must not use the cache sets cache_prompt: false", "--no-cache-prompt"},
      {kRefused, kServer, "--models-dir FOLDER serves all models of a folder", "--models-preset"},
      {kRefused, kServer, "there is no cache of models: --models-dir FOLDER serves all models of a folder",
       "-cl --cache-list"},
      {kRefused, kServer, "control vectors are not supported",
       "--control-vector --control-vector-scaled --control-vector-layer-range"},
      {kRefused, kServer, "a model is used with its file's settings",
       "--override-kv --rope-freq-base --rope-freq-scale --yarn-ext-factor --yarn-attn-factor --yarn-beta-slow "
       "--yarn-beta-fast"},
      {kRefused, kServer, "layers are placed by --gpu-layers", "--override-tensor -ot"},
      {kRefused, kServer, "vectors have the length 1", "--embd-normalize"},
      {kRefused, kServer, "other machines cannot help: every layer is computed here", "--rpc"},
      {kRefused, kServer, "a proxy can take a prefix away (docs/deploy.md)", "--api-prefix"},
      {kRefused, kServer, "no files are served: let a proxy do that", "--path"},
      {kRefused, kServer, "tools are run by clients", "--tools"},
      {kRefused, kServer, "speech is not supported",
       "-tk --talker-model -c2w --code2wav-model -mv --model-vocoder --tts-use-guide-tokens"},
      {kRefused, kServer, "realizar serve --pull hf:OWNER/REPO:QUANTIZATION downloads a model and serves it",
       "-dr --docker-repo -hfv -hfrv --hf-repo-v -hffv --hf-file-v -hfd -hfrd --hf-repo-draft --spec-draft-hf "
       "--fim-qwen-1.5b-default --fim-qwen-3b-default --fim-qwen-7b-default --fim-qwen-7b-spec --fim-qwen-14b-spec "
       "--fim-qwen-30b-default --gpt-oss-20b-default --gpt-oss-120b-default --embd-gemma-default "
       "--vision-gemma-4b-default --vision-gemma-12b-default"},
      {kRefused, kServer, "realizar devices lists them", "--list-devices"},
      {kRefused, kServer, "share/bash-completion/completions has it, for realizar", "--completion-bash"},
      {kRefused, kServer, "requests carry it: a field of the body",
       "--ignore-eos --grammar --grammar-file -j --json-schema -jf --json-schema-file --reasoning-effort"},
      {kRefused, kServer, "requests carry it, in the field stop", "-r --reverse-prompt"},
      {kRefused, kServer, "this sampler is not built", "--adaptive-target --adaptive-decay"},
      {kRefused, kServer, "--logit-bias ID=VALUE", "-l"},
      {kRefused, kServer, "reasoning ends as the model's own marks say", "--reasoning-budget-message"},
      {kRefused, kServer, "gaps are asked for in the order that the model was trained with", "--spm-infill"},
      {kRefused, kServer, "proposed tokens come from the text so far, or from a model: --draft-tokens, --model-draft",
       "-lcs --lookup-cache-static -lcd --lookup-cache-dynamic"},

      {kNoted, kServer, "has no effect: the draft model runs as the model does",
       "-ctkd= -ctvd= -td= -devd= -ngld= -tbd= -Cd= -Crd= -Cbd= -otd= -ncmoed= -cmoed --cpu-moe-draft "
       "--spec-draft-cpu-moe --spec-draft-backend-sampling --no-spec-draft-backend-sampling --spec-draft-*= "
       "--spec-ngram-*= --*-draft="},
  };
  return kRows;
}

// `listed`: a name, or one with "*" in place of any letters.
bool is_name(std::string_view name, std::string_view listed) {
  const size_t star = listed.find('*');
  if (star == std::string_view::npos) return name == listed;
  return name.size() >= listed.size() - 1 && name.starts_with(listed.substr(0, star)) &&
         name.ends_with(listed.substr(star + 1));
}

}  // namespace

std::optional<ForeignWord> find_foreign_word(std::string_view name, CalledAs called_as) {
  for (const Row& row : rows()) {
    if ((static_cast<uint8_t>(row.called_as) & static_cast<uint8_t>(called_as)) == 0) continue;
    for (std::string_view rest = row.names; !rest.empty();) {
      std::string_view listed = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(listed.size() + 1, rest.size()));
      const bool has_value = listed.ends_with('=');
      if (has_value) listed.remove_suffix(1);
      if (is_name(name, listed)) return ForeignWord{row.kind, row.text, row.values, has_value};
    }
  }
  return std::nullopt;
}

}  // namespace realizar::cli
