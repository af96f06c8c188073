// librealizar in C++: load a model file with its tokenizer and chat template, generate text.
// One LanguageModel is used by one thread at a time, except cancel(), which any thread may call. A callback may call
// cancel() and const functions of its model. The others give InvalidArgument there, subject "model", and those that
// return nothing do nothing. The model must not be destroyed or assigned to in a callback.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/adapter.h"
#include "realizar/options.h"
#include "realizar/request.h"
#include "realizar/result.h"
#include "realizar/text.h"
#include "realizar/types.h"

namespace realizar {

// What a device holds of a model. For the host's own memory total_bytes and free_bytes are 0, which means unknown.
struct DeviceInfo {
  std::string name;  // "cuda:0", "cpu"
  uint64_t weight_bytes, kv_bytes, scratch_bytes;
  uint64_t total_bytes, free_bytes;  // of the device, whoever uses it
};

struct ModelInfo {
  std::string path, name, arch, backend;  // backend: a description for people
  uint32_t n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, n_vocab, n_ctx, n_ctx_train;
  uint32_t n_ctx_longest = 0;  // that the scaling of its rotations stretches n_ctx_train to
  uint64_t n_params, file_bytes, weight_bytes, kv_bytes;
  uint64_t scratch_bytes;  // activations, and what else steps compute in
  std::vector<DeviceInfo> devices;
  bool has_chat_template;
  std::string gpu_refusal;         // why "auto" did not take the GPU that this machine has; empty: it did, or has none
  std::string check;               // what the comparison that was asked for gave
  bool gives_text = true;          // false: vectors or scores of texts alone
  std::vector<std::string> notes;  // what of the weights could not be kept as another program quantized it
  float norm_eps = 0;
  bool tie_word_embeddings = false;  // the embedding is the head
  // How positions rotate queries and keys in the layers that see the whole context: base and leading dimensions of a
  // head, as the file has them, and what the lengths of both are multiplied by. 0 dimensions: they do not.
  double rope_base = 0;
  uint32_t n_rope_dims = 0;
  float rope_scale = 1;
  // "Q4_K_M" where the file names its mixture of types; else the type that most of its bytes have.
  std::string quantization = {};
};

// One operation of a traced step.
struct TraceEvent {
  std::string name;
  double start_us, duration_us;  // since the load began
  int32_t layer;                 // -1: of none
  bool decode;
  uint64_t step;      // counted from 0 since the trace was cleared
  uint32_t n_tokens;  // that the step computed
};

// Rows that a matrix was multiplied by in a step. `matrix` is the tensor's name in the file, of which a stack (a
// layer's experts) has n_mats; a row has n_cols numbers.
struct MatrixProduct {
  std::string_view matrix;
  uint32_t mat_idx, n_mats, n_cols;
  std::span<const float* const> rows;
};

class LanguageModel {
 public:
  // `model`: a .gguf file, a Hugging Face folder, a .safetensors file beside its config, or the name of a model on this
  // machine, as `realizar list` shows it and `realizar run` takes it; nothing is downloaded. A system message, a
  // beginning of chats and an adapter that come with a model of that name are used. Errors besides those of the file:
  // NotFound, with the names that may be meant and the command that downloads the model.
  static Result<LanguageModel> load(const std::string& model, const LoadOptions& options = {});
  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;
  ~LanguageModel();

  const ModelInfo& info() const;

  // Errors: Unsupported where the model file has no tokenizer.
  Result<std::vector<TokenId>> tokenize(std::string_view text, bool add_special = true,
                                        bool parse_special = false) const;
  Result<std::string> detokenize(std::span<const TokenId> tokens, bool skip_special = true) const;

  // The prompt that asks for the next turn of a conversation: model.chat_prompt({{"user", text}}). What messages say
  // never becomes a special token; bytes that are not UTF-8 become U+FFFD. Errors: Unsupported where the model file has
  // no tokenizer or no chat template, InvalidArgument where the template refuses the messages.
  Result<std::vector<TokenId>> chat_prompt(const std::vector<ChatMessage>& messages) const;

  // Renders templates with tools or variables of their own. `variables_json`: an object with messages and, optionally,
  // tools, add_generation_prompt (default true) and any other variable of the template. Gives the prompt's tokens: what
  // users wrote never becomes a special token.
  Result<std::vector<TokenId>> apply_chat_template(std::string_view variables_json) const;

  // The model's own recommended sampling (generation_config.json or GGUF general.sampling.*) over the defaults.
  SamplingParams default_sampling() const;
  // Texts that end an answer, where settings beside the model's file name some.
  const std::vector<std::string>& default_stop() const;

  // What SamplingParams::dry_breakers takes: texts of 1 to 40 bytes, 64 at most. Errors: InvalidArgument, and
  // Unsupported where the model file has no tokenizer.
  Result<std::shared_ptr<const SequenceBreakers>> sequence_breakers(std::span<const std::string> texts) const;

  Result<Generation> generate(const Request& request, const TokenCallback& on_token = {});
  // Runs the requests, up to max_seqs of them in one batch. Each gives the tokens that it gives alone.
  Result<std::vector<Generation>> generate_all(std::span<const Request> requests);
  Result<TextGeneration> generate_text(const Request& request, const TextOptions& text = {},
                                       const TextCallback& on_text = {});

  // Runs the requests, up to max_seqs of them in one batch, and tells each one's end as soon as it comes: in any order,
  // and an error ends its own request alone. Errors: Unsupported where the model file has no tokenizer.
  Status generate_texts(std::span<const Request> requests, const TextOptions& text, const TextEndCallback& on_end);

  // What the model makes of a text where a vector is asked for; kRank: it scores how well a text answers another.
  Pooling pooling() const;
  // The texts' vectors, as many as fit together in a step; each is the one that its text gives alone. Errors:
  // Unsupported where the model gives scores, or its file has no tokenizer; ContextLengthExceeded, by the text's place.
  Result<std::vector<std::vector<float>>> embed(std::span<const std::string> texts);
  // How well each document answers the query, from 0 to 1. Errors: Unsupported where the model gives no such scores;
  // the others as embed's.
  Result<std::vector<float>> rank(std::string_view query, std::span<const std::string> documents);
  // The prompt of such a pair, for a request with Pooling::kRank, and what the scores that it gives say: from 0 to 1.
  // Errors of the prompt: as rank's.
  Result<std::vector<TokenId>> rank_prompt(std::string_view query, std::string_view document) const;
  static float relevance(std::span<const float> scores);

  // Logits of the last n_last tokens, [n_last, n_vocab]; the first n_prompt tokens are run as a prompt, the others one
  // at a time. `kv`, where not null, gets what the cache then holds of all tokens.
  Result<std::vector<float>> logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last,
                                    KvNumbers* kv = nullptr);

  // Adapters, between requests; LoadOptions::adapters says how many there is room for. Errors of load_adapter:
  // NotFound, FormatError and Unsupported (the file, by what is wrong with it), InvalidArgument (the name is taken),
  // ResourceExhausted (no place is left).
  Status load_adapter(const AdapterSource& source);
  // NotFound where no adapter has that name, as use_adapter.
  Status unload_adapter(std::string_view name);
  // The adapter of requests that name none, and its scale where it is not to be its own; "": none.
  Status use_adapter(std::string_view name, std::optional<float> scale = std::nullopt);
  std::vector<AdapterInfo> adapters() const;  // in the order in which they were loaded

  // Stops a running generate from another thread; it returns with kCancelled. A call before generate has begun, or
  // after it has returned, has no effect.
  void cancel();
  // Between requests: there is an answer that the next turn of its chat would have to compute again as a part of its
  // prompt. idle_step does some of that now, for about 50 ms or 64 tokens; a request that comes goes first. Errors:
  // Internal, after which there is nothing left to do.
  bool has_idle_work() const;
  Status idle_step();
  // Forgets cached prefixes; `wipe`: and zeroes what prompts and answers have left in memory.
  void clear_cache(bool wipe = false);

  // Records the time of every operation of the steps that follow; off at first, and free then.
  void set_trace(bool on);
  // What was recorded since the last clear.
  Trace trace() const;
  // How traced steps differ from others; empty: not at all.
  std::string trace_note() const;
  std::vector<TraceEvent> trace_events() const;
  // Tells of every product of the steps that follow, while they wait; an empty callback: of none. Errors: Unsupported
  // on a GPU.
  Status watch_products(std::function<void(const MatrixProduct&)> callback);
  void clear_trace();

  struct Impl;

 private:
  explicit LanguageModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The release, e.g. "0.1.0".
const char* version();

}  // namespace realizar
