// librealizar in C++: load a model file with its tokenizer and chat template, generate text.
// A LanguageModel is used by one thread at a time, except cancel(), which any thread may call. A callback may call
// cancel() and const functions of its model. Other functions return InvalidArgument there, subject "model", or do
// nothing if they return nothing. The model must not be destroyed or assigned to in a callback.
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

// A device's memory for a model. For the host's own memory total_bytes and free_bytes are 0, which means unknown.
struct DeviceInfo {
  std::string name;  // "cuda:0", "cpu"
  uint64_t weight_bytes, kv_bytes, scratch_bytes;
  uint64_t total_bytes, free_bytes;  // of the device, including other users
};

struct ModelInfo {
  std::string path, name, arch, backend;  // backend: a description for people
  uint32_t n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, n_vocab, n_ctx, n_ctx_train;
  uint32_t n_ctx_longest = 0;  // n_ctx_train extended by the scaling of its rotations
  uint64_t n_params, file_bytes, weight_bytes, kv_bytes;
  uint64_t scratch_bytes;  // activations and other buffers of steps
  std::vector<DeviceInfo> devices;
  bool has_chat_template;
  std::string gpu_refusal;         // why "auto" did not choose this machine's GPU; empty: it did, or there is none
  std::string check;               // the result of the comparison, if it was requested
  bool gives_text = true;          // false: the model only gives vectors or scores
  std::vector<std::string> notes;  // one note for each kind of weight whose quantization could not be kept
  float norm_eps = 0;
  bool tie_word_embeddings = false;  // the embedding is the head
  // Rotary embedding of queries and keys in the layers that see the whole context: base and leading dimensions of a
  // head, as in the file, and the factor on the lengths of both. 0 dimensions: none.
  double rope_base = 0;
  uint32_t n_rope_dims = 0;
  float rope_scale = 1;
  // "Q4_K_M" if the file names its mixture of types; else the type of most of its bytes.
  std::string quantization = {};
};

// One operation of a traced step.
struct TraceEvent {
  std::string name;
  double start_us, duration_us;  // since the load began
  int32_t layer;                 // -1: none
  bool decode;
  uint64_t step;      // counted from 0 since the trace was cleared
  uint32_t n_tokens;  // computed by the step
};

// The rows that a matrix was multiplied by in a step. `matrix` is the tensor's name in the file, of which a stack (a
// layer's experts) has n_mats; a row has n_cols numbers.
struct MatrixProduct {
  std::string_view matrix;
  uint32_t mat_idx, n_mats, n_cols;
  std::span<const float* const> rows;
};

class LanguageModel {
 public:
  // `model`: a .gguf file, a Hugging Face folder, a .safetensors file in a folder with its config, or the name of a
  // model on this machine, as `realizar list` shows it and `realizar run` accepts it; nothing is downloaded. The system
  // message, beginning of chats and adapter that are stored with a named model are used. Errors, besides those of the
  // file: NotFound, with similar names and the command that downloads the model.
  static Result<LanguageModel> load(const std::string& model, const LoadOptions& options = {});
  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;
  ~LanguageModel();

  const ModelInfo& info() const;

  // Errors: Unsupported if the model file has no tokenizer.
  Result<std::vector<TokenId>> tokenize(std::string_view text, bool add_special = true,
                                        bool parse_special = false) const;
  Result<std::string> detokenize(std::span<const TokenId> tokens, bool skip_special = true) const;

  // The prompt for the next turn of a conversation: model.chat_prompt({{"user", text}}). Text in messages never becomes
  // a special token; bytes that are not UTF-8 become U+FFFD. Errors: Unsupported if the model file has no tokenizer or
  // no chat template, InvalidArgument if the template refuses the messages.
  Result<std::vector<TokenId>> chat_prompt(const std::vector<ChatMessage>& messages) const;

  // Renders the template with tools or other variables. `variables_json`: an object with messages and, optionally,
  // tools, add_generation_prompt (default true) and any other variable of the template. Returns the prompt's tokens:
  // text written by users never becomes a special token.
  Result<std::vector<TokenId>> apply_chat_template(std::string_view variables_json) const;

  // The model's recommended sampling parameters (generation_config.json or GGUF general.sampling.*) on top of the
  // defaults.
  SamplingParams default_sampling() const;
  // Stop strings from settings stored with the model's file, if any.
  const std::vector<std::string>& default_stop() const;

  // A value for SamplingParams::dry_breakers: texts of 1 to 40 bytes, at most 64. Errors: InvalidArgument, and
  // Unsupported if the model file has no tokenizer.
  Result<std::shared_ptr<const SequenceBreakers>> sequence_breakers(std::span<const std::string> texts) const;

  Result<Generation> generate(const Request& request, const TokenCallback& on_token = {});
  // Runs the requests, up to max_seqs of them in one batch. Each gives the same tokens as by itself.
  Result<std::vector<Generation>> generate_all(std::span<const Request> requests);
  Result<TextGeneration> generate_text(const Request& request, const TextOptions& text = {},
                                       const TextCallback& on_text = {});

  // Runs the requests, up to max_seqs of them in one batch, and reports each one's end as soon as it is known: in any
  // order; an error ends only its own request. Errors: Unsupported if the model file has no tokenizer.
  Status generate_texts(std::span<const Request> requests, const TextOptions& text, const TextEndCallback& on_end);

  // How the model turns a text into a vector; kRank: it scores how well a text answers another.
  Pooling pooling() const;
  // The texts' vectors, computed in steps of as many texts as fit; each vector is the same as for its text by itself.
  // Errors: Unsupported if the model gives scores, or its file has no tokenizer; ContextLengthExceeded, with the text's
  // index.
  Result<std::vector<std::vector<float>>> embed(std::span<const std::string> texts);
  // How well each document answers the query, from 0 to 1. Errors: Unsupported if the model gives no such scores;
  // otherwise as embed.
  Result<std::vector<float>> rank(std::string_view query, std::span<const std::string> documents);
  // The prompt of such a pair, for a request with Pooling::kRank, and the relevance that its scores mean, from 0 to 1.
  // Errors of the prompt: as rank.
  Result<std::vector<TokenId>> rank_prompt(std::string_view query, std::string_view document) const;
  static float relevance(std::span<const float> scores);

  // Logits of the last n_last tokens, [n_last, n_vocab]; the first n_prompt tokens are run as a prompt, the others one
  // at a time. `kv`, unless null, receives the cache's content for all tokens.
  Result<std::vector<float>> logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last,
                                    KvNumbers* kv = nullptr);

  // Adapters can change between requests; LoadOptions::adapters sets the number of slots. Errors of load_adapter:
  // NotFound, FormatError and Unsupported (problems of the file), InvalidArgument (the name is taken),
  // ResourceExhausted (no free slot).
  Status load_adapter(const AdapterSource& source);
  // NotFound if no adapter has that name, also for use_adapter.
  Status unload_adapter(std::string_view name);
  // Sets the adapter for requests that name none, with a scale that overrides its own if given; "": none.
  Status use_adapter(std::string_view name, std::optional<float> scale = std::nullopt);
  std::vector<AdapterInfo> adapters() const;  // in loading order

  // Stops a running generate from another thread; it returns with kCancelled. A call before generate has begun, or
  // after it has returned, has no effect.
  void cancel();
  // Between requests: whether there is an answer that the next turn of its chat would have to recompute as a part of
  // its prompt. idle_step does some of that work now, for about 50 ms or 64 tokens; a new request goes first. Errors:
  // Internal, after which no work is left.
  bool has_idle_work() const;
  Status idle_step();
  // Forgets cached prefixes; `wipe`: also zeroes the data that prompts and answers have left in memory.
  void clear_cache(bool wipe = false);

  // Records the time of every operation of the following steps; off by default, and without cost then.
  void set_trace(bool on);
  // Everything recorded since the last clear.
  Trace trace() const;
  // How traced steps differ from others; empty: they do not.
  std::string trace_note() const;
  std::vector<TraceEvent> trace_events() const;
  // Reports every product of the following steps, which wait for the callback; an empty callback: none. Errors:
  // Unsupported on a GPU.
  Status watch_products(std::function<void(const MatrixProduct&)> callback);
  void clear_trace();

  struct Impl;

 private:
  explicit LanguageModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The version, e.g. "0.1.0".
const char* version();

}  // namespace realizar
