/* librealizar in C: a stable interface. Load a model with its tokenizer and chat template, generate text.
 *
 * Every function that can fail returns a null pointer or a negative number on failure; rz_last_error then gives the
 * reason, for the calling thread. A null pointer for a required value is such an error. An rz_model is used by one
 * thread at a time, except rz_cancel, which any thread may call while rz_generate, rz_generate_batch, rz_embed or
 * rz_rank runs. A callback may call rz_cancel and functions that take a const rz_model; other functions fail there with
 * RZ_INVALID_ARGUMENT, and so does rz_free, which then frees nothing. A session (rz_session_open) runs many requests at
 * once, and any thread may use it. */
#ifndef REALIZAR_H
#define REALIZAR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rz_model rz_model;

/* Codes of rz_last_error_code. */
enum {
  RZ_OK = 0,
  RZ_INVALID_ARGUMENT = 1,
  RZ_NOT_FOUND = 2,
  RZ_FORMAT_ERROR = 3,
  RZ_UNSUPPORTED = 4,
  RZ_CONTEXT_LENGTH_EXCEEDED = 5,
  RZ_RESOURCE_EXHAUSTED = 6,
  RZ_CANCELLED = 7,
  RZ_INTERNAL = 8
};

/* Options for loading a model. Set struct_size to sizeof(rz_load_options): fields that are added later keep their
 * defaults for callers compiled before. Zeroes and null pointers mean the defaults. */
typedef struct rz_load_options {
  size_t struct_size;
  const char* backend; /* "auto" (default), "cpu", "cuda" or "reference" */
  const char* kv_type; /* "f32", "f16" (default), "bf16", "q8_0", "fp8", "q4_0" */
  uint32_t n_threads;  /* 0: every core available to the process */
  uint32_t n_ctx;      /* positions; 0: the model's own, at most 8192 */
  const char* isa;     /* kernels of the CPU: "auto" (default), "portable", "avx2", "avx-vnni", "avx512", "amx", ... */
  const uint32_t* devices; /* n_devices GPUs; none: the first one, and as many others as the model needs */
  size_t n_devices;
  const char* split;           /* how several GPUs share the model: "layer" (default) or "tensor" */
  int32_t n_gpu_layers;        /* layers to keep in the GPUs' memory; 0: as many as fit; -1: none */
  uint64_t gpu_memory_mb;      /* memory to use on each GPU; 0: all that is free */
  int64_t host_cache_mb;       /* host memory for cached prefixes that do not fit on a GPU; 0: 1024; -1: none */
  const char* choose;          /* where tokens are drawn: "device" (default), if the GPU can, or "host" */
  int check;                   /* 1: compare the logits of a short text with another backend's */
  uint32_t max_seqs;           /* prompts of a batch that run at the same time; 0: 1 */
  uint32_t max_batch_tokens;   /* tokens in a step; 0: 512 */
  uint32_t kv_tokens;          /* positions in the cache in total; 0: n_ctx for each of max_seqs */
  const char* draft_path;      /* path or name of a smaller model with the same vocabulary that drafts tokens */
  uint32_t n_draft;            /* speculative tokens verified together; 0: as many as pay off, with draft_path or if
                                  the model runs on a CPU */
  uint64_t host_memory_mb;     /* host memory for layers that do not fit on GPUs; 0: unlimited without layer_dir,
                                  with it three quarters of the available memory */
  const char* layer_dir;       /* a folder on whose disk layers beyond that are stored; null: none */
  uint32_t max_prefill_tokens; /* prompt tokens in a step while others generate; 0: chosen to keep their pace even */
  uint32_t n_contexts;         /* whole contexts in the cache if kv_tokens is 0; 0: one for each of max_seqs */
  int no_idle_prefill; /* 1: an idle session does not recompute finished answers as parts of prompts, which it does
                          otherwise with AMX and on GPUs, for the next turn of a chat */
  int global_priority; /* 1: priorities count among all requests */
  int warm_up;         /* 1: run steps of every usual size, so that the first requests are not slower */
  int (*on_progress)(uint64_t done_bytes, uint64_t total_bytes, void* user); /* return 0 to end with RZ_CANCELLED */
  void* on_progress_user;
  uint32_t n_kept_states;   /* states of recurrent layers kept for prompts with a common beginning; 0: as many as fit
                               in a gigabyte, at least 2 and at most max_seqs + 2 */
  const char* const* loras; /* n_loras low-rank adapters, "[NAME=]PATH[:SCALE]" each, for generations to choose from */
  size_t n_loras;
  uint32_t max_loras;       /* adapters loaded at the same time; 0: n_loras */
  uint32_t max_lora_rank;   /* their maximum rank; 0: the largest of loras, or 64 if there are none */
  int no_guesses;           /* 1: no speculative tokens with n_draft 0 and no draft_path */
  const char* models_store; /* folder of pulled models, to resolve names; null: the user's own */
  const char* const* ends;  /* n_ends additional tokens that end an answer, by their names in the vocabulary */
  size_t n_ends;
  const char* const* no_ends; /* n_no_ends tokens that do not end one, overriding the model's files */
  size_t n_no_ends;
  const char* rope_scaling;       /* how rotary positions are scaled beyond the trained context: "model" (default),
                                     as in its file, or "none", "linear", "dynamic" or "yarn" */
  double rope_factor;             /* for the last three, which need it: factor by which the context grows */
  uint32_t rope_original_context; /* the context before scaling; 0: the file's */
} rz_load_options;

/* Properties of a loaded model. Set struct_size. Strings live as long as the model. */
typedef struct rz_model_info {
  size_t struct_size;
  const char* path;
  const char* name; /* from the file; may be "" */
  const char* arch;
  const char* backend;     /* device, kernels, threads */
  const char* gpu_refusal; /* why "auto" did not choose this machine's GPU; "": it did, or there is none */
  const char* check;       /* the result of the comparison, if it was requested; else "" */
  uint32_t n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, n_vocab;
  uint32_t n_ctx, n_ctx_train;
  uint64_t n_params, file_bytes, weight_bytes, kv_bytes;
  int has_chat_template;
  uint64_t scratch_bytes; /* activations and other buffers of steps */
  float norm_eps;
  int tie_word_embeddings;  /* 1: the embedding is the head */
  double rope_base;         /* of the layers that see the whole context, as in the file */
  uint32_t n_rope_dims;     /* leading dimensions of a head that are rotated; 0: none */
  float rope_scale;         /* factor on the rotated lengths */
  const char* quantization; /* "Q4_K_M" if the file names its mixture of types; else the type of most of its bytes */
} rz_model_info;

/* A device's memory for a model. Later versions may have more fields at the end. For the host's own memory total_bytes
 * and free_bytes are 0, which means unknown. */
typedef struct rz_device {
  const char* name; /* "cuda:0", "cpu" */
  uint64_t weight_bytes, kv_bytes, scratch_bytes;
  uint64_t total_bytes, free_bytes; /* of the device, including other users, after loading */
} rz_device;

/* How a generation ended. */
enum {
  RZ_FINISH_STOP = 0,      /* an end token, a stop token or a stop string */
  RZ_FINISH_LENGTH = 1,    /* max_tokens */
  RZ_FINISH_CONTEXT = 2,   /* the context is full */
  RZ_FINISH_CANCELLED = 3, /* by rz_cancel, rz_session_cancel or a callback */
  RZ_FINISH_DEADLINE = 4,  /* timeout_ms of rz_request has passed */
  RZ_FINISH_ERROR = 5      /* in a batch: this prompt failed */
};

/* The result of a generation, without its text. Set struct_size. */
typedef struct rz_result {
  size_t struct_size;
  int finish_reason;
  int error_code;                 /* in a batch: this prompt's; else RZ_OK */
  uint32_t n_prompt, n_cached;    /* tokens of the prompt, and how many of them came from the cache */
  uint32_t n_generated;           /* tokens */
  uint32_t n_drafted, n_accepted; /* speculative tokens, and how many of them were right */
  double queue_ms, prefill_ms;    /* until the first step, and from there to the first token */
  double first_token_ms;          /* from the call to the first token */
  double decode_ms;               /* from the first token to the last */
  const float* embedding;         /* [n_embedding], for on_end of a request with pooling, while that runs; else null */
  size_t n_embedding;
  uint32_t n_preemptions;  /* times that it was preempted for lack of memory */
  double prefix_lookup_ms; /* lookup of the prompt's beginning in the cache, before prefill_ms */
} rz_result;

typedef struct rz_logprob {
  int32_t id;
  float logprob; /* natural logarithm */
} rz_logprob;

/* A generated token. The library makes these; later versions may have more fields at the end. */
typedef struct rz_token {
  int32_t id;
  uint32_t index;        /* 0 for the first */
  double ms;             /* since the token before it; for the first: since the call */
  float logprob;         /* NaN unless requested */
  const rz_logprob* top; /* [n_top], likeliest first; valid during the call */
  size_t n_top;
  const char* text; /* [n_text_bytes]: the text that it completed, in whole UTF-8 characters; may be empty */
  size_t n_text_bytes;
  double device_ms; /* the device's part of ms; the rest is the host's */
} rz_token;

/* Called with each token. Return 0 to stop. */
typedef int (*rz_token_callback)(const rz_token* token, void* user);

/* A sampling parameter by its name ("temperature", "top_k", "top_p", "min_p", "typical_p", "repeat_penalty", ...). */
typedef struct rz_parameter {
  const char* name;
  double value;
} rz_parameter;

/* Added to a token's logit before the sampler chain; -INFINITY excludes the token. */
typedef struct rz_logit_bias {
  int32_t id;
  float bias;
} rz_logit_bias;

/* The sampler chain, and texts that end DRY's repetitions. Null pointers mean the defaults. */
typedef struct rz_sampler_chain {
  size_t struct_size;
  const char* samplers;            /* "top_k;temperature": the samplers to use, in this order, out of penalties, dry,
                                      top_n_sigma, temperature, top_k, typ_p, top_p, min_p and xtc; the default is all
                                      of them */
  const char* const* dry_breakers; /* [n_dry_breakers]; if not null: these, so none if n_dry_breakers is 0 */
  size_t n_dry_breakers;
} rz_sampler_chain;

/* Options for rz_generate and rz_generate_batch. In the sampling fields zero does not mean the default:
 * rz_default_generate_options fills the struct with the model's recommendations. */
typedef struct rz_generate_options {
  size_t struct_size;
  float temperature; /* 0: always the likeliest token */
  int32_t top_k;     /* 0: off */
  float top_p, min_p, typical_p, repeat_penalty, frequency_penalty, presence_penalty;
  int32_t repeat_last_n;
  uint64_t seed;
  uint32_t max_tokens;     /* 0: until a stop or the end of the context, unless has_max_tokens is 1 */
  const char* const* stop; /* n_stop strings that end the text, without being part of it */
  size_t n_stop;
  const int32_t* stop_tokens; /* n_stop_tokens ids that also end it */
  size_t n_stop_tokens;
  int ignore_eos;             /* 1: the model's own end tokens do not stop */
  int logprobs;               /* 1: report each token's log-probability */
  uint32_t n_logprobs;        /* and those of this many likeliest tokens */
  rz_token_callback on_token; /* null: none; not called in a batch */
  void* on_token_user;
  rz_result* result;              /* if not null: filled by rz_generate */
  const rz_parameter* parameters; /* n_parameters that override the fields above */
  size_t n_parameters;
  const rz_logit_bias* logit_bias; /* n_logit_bias tokens */
  size_t n_logit_bias;
  const rz_sampler_chain* chain; /* null: the default one */
  const char* lora;              /* the adapter's name; null: none */
  float lora_scale;              /* its scale; 0: its own default */
  int has_max_tokens;            /* 1: max_tokens applies even if it is 0, when only the prompt is read */
} rz_generate_options;

/* One turn of a conversation. role: "system", "user", "assistant", or another that the model's template supports. */
typedef struct rz_message {
  const char* role;
  const char* content;
} rz_message;

/* Called with each piece of text, in whole UTF-8 characters, not terminated. Return 0 to stop. */
typedef int (*rz_text_callback)(const char* text, size_t n_bytes, void* user);

const char* rz_version(void);
/* The message and the code of the calling thread's last call; "" and RZ_OK if it did not fail. A call with a null model
 * or session keeps the error of the rz_load or rz_session_open that returned the null pointer, if that was the call
 * before it. The text is valid until the thread's next call. */
const char* rz_last_error(void);
int rz_last_error_code(void);
/* Tokens of the prompt and of the context if the code is RZ_CONTEXT_LENGTH_EXCEEDED; else 0. */
uint32_t rz_last_error_n_prompt(void);
uint32_t rz_last_error_n_ctx(void);

/* `model`: a file or folder, or the name of a model on this machine, as `realizar list` shows it and `realizar run`
 * accepts it; nothing is downloaded (see rz_pull). `options` may be null. Free with rz_free. */
rz_model* rz_load(const char* model, const rz_load_options* options);
/* While a call is running or a session is open, the model is not freed, and rz_last_error says so. */
void rz_free(rz_model* model);

/* Options for a download. Set struct_size: zeroes and null pointers mean the defaults. */
typedef struct rz_pull_options {
  size_t struct_size;
  const char* models_store; /* folder of pulled models; null: the user's own */
  const char* file;         /* a pattern for the one GGUF file of a Hugging Face repository: `*` matches any
                               characters, `?` and `[...]` one, ignoring case; null: decided by the name */
  int only_if_missing;      /* 1: a model that exists on this machine is used as it is, without contacting a server */
  const char* mirror;       /* a server to use instead of huggingface.co (or HF_ENDPOINT) or Ollama's registry */
  const char* token;        /* for Hugging Face, or for the mirror; null: HF_TOKEN, or the one stored by Hugging
                               Face's tools; a mirror gets neither */
  const char* ca_file;      /* trusted certificates (PEM); null: SSL_CERT_FILE, or the system's */
  /* Called on the caller's thread at least ten times a second, with the current file, "" while servers are contacted,
   * and the bytes of all files. Return 0 to end with RZ_CANCELLED. */
  int (*on_progress)(const char* file, uint64_t done_bytes, uint64_t total_bytes, void* user);
  void* on_progress_user;
} rz_pull_options;
/* Downloads the missing parts of a model, like `realizar pull`: "qwen3:1.7b", "hf:OWNER/REPO[:QUANTIZATION or FILE]",
 * "ollama:NAME[:TAG]" or "https://HOST/FILE.gguf". An interrupted download is resumed. Writes the name for rz_load, at
 * most `capacity` bytes without a terminator, and returns the full number of bytes, which is rarely above 300.
 * `options` may be null. libcurl and libcrypto are opened on first use; if one is missing, the error is RZ_UNSUPPORTED
 * and names it. */
int64_t rz_pull(const char* name, const rz_pull_options* options, char* full_name, size_t capacity);

/* Loads an adapter, "[NAME=]PATH[:SCALE]", within max_loras; unloads the adapter with that name. Negative on failure,
 * as below. */
int rz_load_lora(rz_model* model, const char* lora);
int rz_unload_lora(rz_model* model, const char* name);

/* Fills `info`, whose struct_size must be set. Negative on failure. */
int rz_get_info(const rz_model* model, rz_model_info* info);
/* Calls on_device with each device that the model runs on; `device` is valid during the call. Returns their number. */
int64_t rz_devices(const rz_model* model, void (*on_device)(const rz_device* device, void* user), void* user);
/* Negative on failure. */
int64_t rz_n_vocab(const rz_model* model);
int64_t rz_n_ctx(const rz_model* model);

/* Writes at most `capacity` ids and returns the full number: if that is larger, call again with more room. */
int64_t rz_tokenize(const rz_model* model, const char* text, int add_special, int parse_special, int32_t* ids,
                    size_t capacity);
/* Writes at most `capacity` bytes, without a terminator, and returns the full number. */
int64_t rz_detokenize(const rz_model* model, const int32_t* ids, size_t n_ids, char* text, size_t capacity);
/* The prompt for the next turn of a conversation; ids as in rz_tokenize. Text in messages never becomes a special
 * token; bytes that are not UTF-8 become U+FFFD. */
int64_t rz_chat_prompt(const rz_model* model, const rz_message* messages, size_t n_messages, int32_t* ids,
                       size_t capacity);
/* Renders the template with tools or other variables. `variables_json`: {"messages": [{"role": "user", "content":
 * "..."}], ...}; ids as rz_tokenize. */
int64_t rz_apply_chat_template(const rz_model* model, const char* variables_json, int32_t* ids, size_t capacity);

/* How long a model thinks before it answers. Set struct_size: zeroes and null pointers mean the model's own
 * defaults. */
typedef struct rz_reasoning {
  size_t struct_size;
  int enabled;        /* 1: it thinks; -1: it answers immediately */
  const char* effort; /* "none", "minimal", "low", "medium", "high", "xhigh", "max", or another value that the
                         template supports */
  uint32_t budget;    /* tokens; 0: not set */
} rz_reasoning;
/* Translates that for this model's chat template: writes variables for rz_apply_chat_template, in addition to the
 * messages, as a JSON object of at most `capacity` bytes without a terminator, and returns the full number of bytes.
 * `budget`: for reasoning_budget of rz_request; -1: none. */
int64_t rz_plan_reasoning(const rz_model* model, const rz_reasoning* asked, char* variables_json, size_t capacity,
                          int64_t* budget);

/* Fills `options`, whose struct_size must be set. Negative on failure. */
int rz_default_generate_options(const rz_model* model, rz_generate_options* options);
/* Returns the number of generated tokens. */
int64_t rz_generate(rz_model* model, const int32_t* prompt, size_t n_prompt, const rz_generate_options* options,
                    rz_text_callback on_text, void* user);
/* Ends a running rz_generate or rz_generate_batch within a step, and a running rz_embed or rz_rank with RZ_CANCELLED.
 */
void rz_cancel(rz_model* model);

typedef struct rz_prompt {
  const int32_t* ids;
  size_t n_ids;
} rz_prompt;

/* Called at the end of one prompt, with its index, its text (not terminated), and how it ended. If finish_reason is
 * RZ_FINISH_ERROR, `text` is the error's message. All arguments are valid during the call. */
typedef void (*rz_result_callback)(size_t prompt_idx, const char* text, size_t n_bytes, const rz_result* result,
                                   void* user);
/* Answers several prompts, up to max_seqs of them at the same time, each with the same result as rz_generate, and
 * reports the end of each as soon as it is known. An error ends only its own prompt. Returns the number of prompts
 * without an error. */
int64_t rz_generate_batch(rz_model* model, const rz_prompt* prompts, size_t n_prompts,
                          const rz_generate_options* options, rz_result_callback on_result, void* user);

typedef struct rz_session rz_session;

/* How the hidden states of a text become one vector. */
enum {
  RZ_POOL_LAST = 1,
  RZ_POOL_MEAN = 2,
  RZ_POOL_MODEL = 3, /* as in the model's file; if it does not say, the last one */
  RZ_POOL_RANK = 4   /* for a reranker and a prompt of rz_rank_prompt: one number, how well the document answers */
};

/* Values of must_call. */
enum {
  RZ_CALL_FREELY = 0, /* the model calls tools or answers */
  RZ_CALL_SOME = 1,   /* one tool or several */
  RZ_CALL_ONE = 2
};

/* A request to a session. Set struct_size: zeroes and null pointers mean the defaults, in every field. */
typedef struct rz_request {
  size_t struct_size;
  const int32_t* ids; /* [n_ids]: the prompt */
  size_t n_ids;
  const rz_parameter* parameters; /* n_parameters; others have the model's recommended values */
  size_t n_parameters;
  uint32_t max_tokens;     /* 0: until a stop or the end of the context, unless has_max_tokens is 1 */
  const char* const* stop; /* n_stop strings that end the text, without being part of it */
  size_t n_stop;
  const int32_t* stop_tokens; /* n_stop_tokens ids that also end it */
  size_t n_stop_tokens;
  int ignore_eos;          /* 1: the model's own end tokens do not stop */
  int logprobs;            /* 1: report each token's log-probability */
  uint32_t n_logprobs;     /* and those of this many likeliest tokens */
  int split_reasoning;     /* 1: separate reasoning from the answer, if the model's chat template marks it */
  const char* tools_json;  /* a JSON array of tools, whose calls are separated from the answer; null: calls stay in
                              the text */
  const char* json_schema; /* the answer matches it; null: any form */
  const char* gbnf;        /* alternatively, the answer follows this grammar */
  int32_t priority;        /* smaller values go first */
  uint32_t timeout_ms;     /* from submit to the end; 0: none */
  const rz_logit_bias* logit_bias; /* n_logit_bias tokens */
  size_t n_logit_bias;
  uint64_t tenant;     /* the requests of one tenant get one tenant's share */
  uint64_t cache_salt; /* requests share cached prefixes only with those that have the same salt */
  int relaxed_schema;  /* 1: drop the parts of json_schema that no grammar can enforce, instead of refusing it */
  int must_call;       /* RZ_CALL_SOME or RZ_CALL_ONE: after its reasoning the answer must call tools of tools_json */
  int pooling;         /* RZ_POOL_...: compute the prompt's vector, for on_end, instead of text. 0: generate text */
  const rz_sampler_chain* chain; /* null: the default one */
  int has_reasoning_budget;      /* 1: after reasoning_budget tokens of reasoning the mark that ends it is forced, */
  uint32_t reasoning_budget; /* and the answer continues; no effect if the model's chat template marks no reasoning */
  const char* lora;          /* the adapter's name; null: none */
  float lora_scale;          /* its scale; 0: its own default */
  int has_max_tokens;        /* 1: max_tokens applies even if it is 0, when only the prompt is read */
  int has_seed;              /* 1: use this seed instead of the one in the parameters, which only holds 53 bits */
  uint64_t seed;
} rz_request;

/* Kinds of a part. */
enum { RZ_REASONING = 0, RZ_CONTENT = 1, RZ_CALL_BEGIN = 2, RZ_CALL_ARGUMENTS = 3, RZ_CALL_END = 4 };

/* A piece of an answer. The library makes these; later versions may have more fields at the end. */
typedef struct rz_part {
  int kind;
  size_t call_idx;  /* for a call's parts: 0, 1, 2 in order */
  const char* text; /* [n_bytes], not terminated: text, a call's name, or a piece of its arguments' JSON */
  size_t n_bytes;
  const rz_token* token; /* the token that completed it; null for further parts of the same token */
} rz_part;

/* Called with each part. Return 0 to stop. All arguments are valid during the call. */
typedef int (*rz_part_callback)(const rz_part* part, void* user);
/* Called once, with the whole content. If finish_reason is RZ_FINISH_ERROR, `text` is the error's message. */
typedef void (*rz_end_callback)(const char* text, size_t n_bytes, const rz_result* result, void* user);

/* The session holds the model until rz_session_free: until then functions that take a const rz_model may be called,
 * from any thread, and the model's other functions fail. `max_queue`: requests that may wait while max_seqs run; 0:
 * 256. */
rz_session* rz_session_open(rz_model* model, uint32_t max_queue);
/* Cancels running requests, and returns once every end was reported. In a callback of the session it does nothing, and
 * rz_last_error says so. */
void rz_session_free(rz_session* session);
/* Begins a request and returns its number, which is positive. Any thread, including callbacks. The callbacks, which may
 * be null, are called on the session's thread, on_end perhaps before this returns, and not at all if this fails. */
int64_t rz_session_submit(rz_session* session, const rz_request* request, rz_part_callback on_part,
                          rz_end_callback on_end, void* user);
/* Options for rz_session_respond. Set struct_size: zeroes and null pointers mean the defaults. */
typedef struct rz_respond_options {
  size_t struct_size;
  const char* model_name; /* the model's name in answers; null: the name of its file */
  uint64_t tenant;        /* the requests of one tenant get one tenant's share */
  uint32_t timeout_ms;    /* the limit for any request of the body; 0: as in the body */
  const char* lora;       /* the adapter's name if the body names none; null: none */
  float lora_scale;       /* its scale; 0: its own default */
} rz_respond_options;

/* The head of an answer, as in HTTP. Later versions may have more fields at the end. */
typedef struct rz_response {
  int status;
  const char* content_type;
} rz_response;
/* Called with bytes of the answer: all of them at once, or, for a stream, with none at the beginning and then with
 * events as they come. Return 0 to stop. All arguments are valid during the call. */
typedef int (*rz_response_callback)(const rz_response* response, const char* bytes, size_t n_bytes, void* user);

/* Answers a body as `realizar serve` answers a POST to that path, with the same bytes: "/v1/chat/completions",
 * "/v1/completions", "/v1/embeddings", "/v1/rerank", "/v1/responses", "/v1/messages", "/tokenize" and the other paths
 * that a model answers, except Ollama's. Nothing is stored, and the body's `model` is ignored. Returns the number of
 * the request, for rz_session_cancel.
 *
 * The callbacks, which may be null, are called on the session's thread: on_bytes; on_result with the end of each of
 * the body's choices, without a text; and on_end once, with the end of the first one. If the body is refused or an
 * answer fails, on_bytes gets the error in the form of the path's API, and on_end its message, with RZ_FINISH_ERROR and
 * error_code. Fails for any other path. */
int64_t rz_session_respond(rz_session* session, const char* path, const char* body, size_t n_bytes,
                           const rz_respond_options* options, rz_response_callback on_bytes,
                           rz_result_callback on_result, rz_end_callback on_end, void* user);
/* Ends a request within a step, with RZ_FINISH_CANCELLED; no effect if it has ended. Any thread. */
int rz_session_cancel(rz_session* session, int64_t request);
/* Returns once no request is open. Negative on failure: in a callback of the session. */
int rz_session_wait(rz_session* session);
/* rz_clear_cache with `wipe`, rz_logits and rz_set_trace for a model that has a session; they run between two steps
 * of the running requests. Any thread; not in a callback. rz_trace and similar functions may be called at the same
 * time. */
int rz_session_clear_cache(rz_session* session);
int64_t rz_session_logits(rz_session* session, const int32_t* ids, size_t n_ids, uint32_t n_prompt, uint32_t n_last,
                          float* logits, size_t capacity);
int rz_session_set_trace(rz_session* session, int on);

/* The logits of the last n_last of the tokens, [n_last, n_vocab]; the first n_prompt tokens are run as a prompt, the
 * others one at a time. `capacity`: floats that fit in `logits`. Returns the number of floats. */
int64_t rz_logits(rz_model* model, const int32_t* ids, size_t n_ids, uint32_t n_prompt, uint32_t n_last, float* logits,
                  size_t capacity);
/* A vector of d_model numbers, of length 1. `capacity`: floats that fit in `vector`. Returns d_model. */
int64_t rz_embed(rz_model* model, const int32_t* ids, size_t n_ids, int pooling, float* vector, size_t capacity);

/* The prompt with which a reranker judges how well a document answers a query; ids as in rz_tokenize. */
int64_t rz_rank_prompt(const rz_model* model, const char* query, const char* document, int32_t* ids, size_t capacity);
/* How well each of n_documents answers the query, from 0 to 1, in order. `capacity`: floats that fit in `relevances`.
 * Returns n_documents. */
int64_t rz_rank(rz_model* model, const char* query, const char* const* documents, size_t n_documents, float* relevances,
                size_t capacity);

/* Draws tokens from the caller's own logits, like rz_generate; a sampler is used by one thread at a time. */
typedef struct rz_sampler rz_sampler;
/* Set struct_size: zeroes and null pointers mean the defaults, in every field except n_vocab. */
typedef struct rz_sampler_options {
  size_t struct_size;
  uint32_t n_vocab;               /* length of a row of logits */
  const rz_parameter* parameters; /* n_parameters; temperature 0 always draws the likeliest token */
  size_t n_parameters;
  const rz_logit_bias* logit_bias; /* n_logit_bias tokens */
  size_t n_logit_bias;
  const rz_sampler_chain* chain; /* null: the default one; dry_breakers need `model` */
  const rz_model* model;         /* other parameters have its recommended values; null: the usual values */
  int has_seed;                  /* 1: use this seed instead of the one in the parameters */
  uint64_t seed;
} rz_sampler_options;
/* Free with rz_sampler_free. Null on failure. */
rz_sampler* rz_sampler_new(const rz_sampler_options* options);
/* Returns the id of a token drawn from logits[n_vocab]. `history`: n_history ids of prompt and output so far, for
 * penalties; their number is the position that keys the draw, along with the seed. */
int64_t rz_sample(rz_sampler* sampler, const float* logits, size_t n_logits, const int32_t* history, size_t n_history);
/* Forgets the draws, to start another text. */
int rz_sampler_reset(rz_sampler* sampler);
void rz_sampler_free(rz_sampler* sampler);

/* Forgets cached prefixes. `wipe` 1: also zeroes the data that prompts have left in memory. */
int rz_clear_cache(rz_model* model, int wipe);

/* Records the time of every operation of the following steps; off by default, and without cost then. */
int rz_set_trace(rz_model* model, int on);
/* All runs of an operation in one phase since the last clear. Later versions may have more fields at the end. */
typedef struct rz_trace_row {
  const char* op;
  int is_decode;
  uint64_t count;
  double total_ms, bytes, flops;
} rz_trace_row;
/* Calls on_row with each; `row` is valid during the call. Returns the number of rows. */
int64_t rz_trace(const rz_model* model, void (*on_row)(const rz_trace_row* row, void* user), void* user);
/* All operations of a phase. n_tokens: prompt tokens read or tokens generated in its steps; n_computed: including wrong
 * speculative tokens. */
typedef struct rz_trace_phase {
  uint64_t n_steps, n_tokens;
  double total_ms;
  uint64_t n_computed;
} rz_trace_phase;
/* Set struct_size. */
typedef struct rz_trace_totals {
  size_t struct_size;
  rz_trace_phase prefill, decode, both;
} rz_trace_totals;
int rz_get_trace_totals(const rz_model* model, rz_trace_totals* totals);
/* One operation of a traced step. Later versions may have more fields at the end. */
typedef struct rz_trace_event {
  const char* op;
  int is_decode;
  int32_t layer;                /* -1: none */
  double start_us, duration_us; /* since the load began */
  uint64_t step;                /* counted from 0 since the trace was cleared */
  uint32_t n_tokens;            /* computed by the step */
} rz_trace_event;
/* Calls on_event with each, in order; `event` is valid during the call. Returns their number. */
int64_t rz_trace_events(const rz_model* model, void (*on_event)(const rz_trace_event* event, void* user), void* user);
/* How traced steps differ from others: at most `capacity` bytes, without a terminator; returns the full number. 0: they
 * do not. */
int64_t rz_trace_note(const rz_model* model, char* note, size_t capacity);
/* Forgets all recordings. Any thread, also while the model has a session. */
int rz_clear_trace(rz_model* model);

#ifdef __cplusplus
}
#endif

#endif
