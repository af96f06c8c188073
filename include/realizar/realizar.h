/* librealizar in C: a stable interface. Load a model with its tokenizer and chat template, generate text.
 *
 * Every function that can fail gives a null pointer or a negative number; rz_last_error then says why, for the calling
 * thread. A null pointer where a value is needed is such an error. One rz_model is used by one thread at a time, except
 * rz_cancel, which any thread may call while rz_generate, rz_generate_batch, rz_embed or rz_rank runs. A callback may
 * call rz_cancel and what takes a const rz_model; the others fail there with RZ_INVALID_ARGUMENT, and so does rz_free,
 * which then frees nothing. A session (rz_session_open) runs many requests at once, and any thread may use it. */
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

/* How a model is loaded. Set struct_size to sizeof(rz_load_options): fields that are added later keep their defaults
 * for callers that were compiled before. Zeroes and null pointers stand for the defaults. */
typedef struct rz_load_options {
  size_t struct_size;
  const char* backend; /* "auto" (default), "cpu", "cuda" or "reference" */
  const char* kv_type; /* "f32", "f16" (default), "bf16", "q8_0", "fp8", "q4_0" */
  uint32_t n_threads;  /* 0: every core that the process may use */
  uint32_t n_ctx;      /* positions; 0: the model's own, at most 8192 */
  const char* isa;     /* kernels of the CPU: "auto" (default), "portable", "avx2", "avx-vnni", "avx512", "amx", ... */
  const uint32_t* devices; /* n_devices GPUs; none: the first, and as many others as the model needs */
  size_t n_devices;
  const char* split;      /* how several GPUs share the model: "layer" (default) or "tensor" */
  int32_t n_gpu_layers;   /* layers that stay in the GPUs' memory; 0: as many as fit; -1: none */
  uint64_t gpu_memory_mb; /* of each GPU's memory to use; 0: what is free */
  int64_t host_cache_mb;  /* of the host's memory, for cached prefixes that a GPU has no room for; 0: 1024; -1: none */
  const char* choose;     /* who draws tokens: "device" (default), where the GPU can, or "host" */
  int check;              /* 1: compare the logits of a short text with another backend's */
  uint32_t max_seqs;      /* prompts of a batch that run together; 0: 1 */
  uint32_t max_batch_tokens;   /* tokens a step; 0: 512 */
  uint32_t kv_tokens;          /* positions that the cache holds in all; 0: n_ctx for each of max_seqs */
  const char* draft_path;      /* a smaller model with the same vocabulary that guesses, or its name */
  uint32_t n_draft;            /* tokens guessed and verified together; 0: as many as their hits make worth their
                                  time, with draft_path or where the model runs on a CPU */
  uint64_t host_memory_mb;     /* of the host's memory, for layers that find no place on GPUs; 0: without layer_dir no
                                  bound, with it three quarters of what is available */
  const char* layer_dir;       /* a folder on whose disk the layers beyond that are kept; null: nowhere */
  uint32_t max_prefill_tokens; /* tokens of prompts in a step in which others generate; 0: what keeps their pace even */
  uint32_t n_contexts; /* whole contexts that the cache holds where kv_tokens is 0; 0: one for each of max_seqs */
  int no_idle_prefill; /* 1: an idle session does not compute finished answers again as parts of prompts, which
                          it otherwise does with AMX and on GPUs, for the next turn of a chat */
  int global_priority; /* 1: priorities count among all requests */
  int warm_up;         /* 1: run steps of every usual size, so that the first requests take no longer */
  int (*on_progress)(uint64_t done_bytes, uint64_t total_bytes, void* user); /* gives 0 to end with RZ_CANCELLED */
  void* on_progress_user;
  uint32_t n_kept_states;   /* states of recurrent layers that are kept for prompts that begin alike; 0: as many as a
                               gigabyte holds, at least 2 and at most max_seqs + 2 */
  const char* const* loras; /* n_loras adapters of low rank, "[NAME=]PATH[:SCALE]" each, that generations may choose */
  size_t n_loras;
  uint32_t max_loras;       /* adapters that there is room for at a time; 0: n_loras */
  uint32_t max_lora_rank;   /* and their rank; 0: the largest of loras, or 64 where there are none */
  int no_guesses;           /* 1: with n_draft 0 and no draft_path, no tokens are guessed */
  const char* models_store; /* folder of the models that were pulled, for names; null: the user's own */
  const char* const* ends;  /* n_ends tokens, by their names in the vocabulary, that end an answer besides those that
                               the model's files name */
  size_t n_ends;
  const char* const* no_ends; /* n_no_ends tokens that end none, whatever the files say */
  size_t n_no_ends;
  const char* rope_scaling;       /* how rotary positions are stretched beyond what the model was trained for: "model"
                                     (default), as its file says, or instead "none", "linear", "dynamic" or "yarn" */
  double rope_factor;             /* with the last three, which need it: by which the context grows */
  uint32_t rope_original_context; /* the context that grows; 0: what the file says */
} rz_load_options;

/* What a loaded model is. Set struct_size. Strings live as long as the model. */
typedef struct rz_model_info {
  size_t struct_size;
  const char* path;
  const char* name; /* as the file has it; may be "" */
  const char* arch;
  const char* backend;     /* device, kernels, threads */
  const char* gpu_refusal; /* why "auto" did not take the GPU that this machine has; "": it did, or has none */
  const char* check;       /* what the comparison that was asked for gave; "": none was */
  uint32_t n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, n_vocab;
  uint32_t n_ctx, n_ctx_train;
  uint64_t n_params, file_bytes, weight_bytes, kv_bytes;
  int has_chat_template;
  uint64_t scratch_bytes; /* activations, and what else steps compute in */
  float norm_eps;
  int tie_word_embeddings;  /* 1: the embedding is the head */
  double rope_base;         /* of the layers that see the whole context, as the file has it */
  uint32_t n_rope_dims;     /* leading dimensions of a head that are rotated; 0: none */
  float rope_scale;         /* what the rotated lengths are multiplied by */
  const char* quantization; /* "Q4_K_M" where the file names its mixture of types; else the type that most of its bytes
                               have */
} rz_model_info;

/* What a device holds of a model. Later versions may have more fields at the end. For the host's own memory total_bytes
 * and free_bytes are 0, which means unknown. */
typedef struct rz_device {
  const char* name; /* "cuda:0", "cpu" */
  uint64_t weight_bytes, kv_bytes, scratch_bytes;
  uint64_t total_bytes, free_bytes; /* of the device, whoever uses it, once the model was loaded */
} rz_device;

/* How a generation ended. */
enum {
  RZ_FINISH_STOP = 0,      /* an end token, a stop token or a stop string */
  RZ_FINISH_LENGTH = 1,    /* max_tokens */
  RZ_FINISH_CONTEXT = 2,   /* the context is full */
  RZ_FINISH_CANCELLED = 3, /* by rz_cancel, rz_session_cancel or a callback */
  RZ_FINISH_DEADLINE = 4,  /* timeout_ms of rz_request have passed */
  RZ_FINISH_ERROR = 5      /* of a batch: this prompt failed */
};

/* What a generation gave besides its text. Set struct_size. */
typedef struct rz_result {
  size_t struct_size;
  int finish_reason;
  int error_code;                 /* of a batch: this prompt's; RZ_OK */
  uint32_t n_prompt, n_cached;    /* tokens of the prompt, and how many of them came from the cache */
  uint32_t n_generated;           /* tokens */
  uint32_t n_drafted, n_accepted; /* guessed tokens, and how many of them were right */
  double queue_ms, prefill_ms;    /* until the first step, and from there to the first token */
  double first_token_ms;          /* from the call to the first token */
  double decode_ms;               /* from the first token to the last */
  const float* embedding;         /* [n_embedding], for on_end of a request with pooling, while that runs; else null */
  size_t n_embedding;
  uint32_t n_preemptions;  /* times that it was preempted for want of memory */
  double prefix_lookup_ms; /* looking for the prompt's beginning in the cache, before prefill_ms */
} rz_result;

typedef struct rz_logprob {
  int32_t id;
  float logprob; /* natural logarithm */
} rz_logprob;

/* A generated token. The library makes these; later versions may have more fields at the end. */
typedef struct rz_token {
  int32_t id;
  uint32_t index;        /* 0 for the first */
  double ms;             /* since the token before it; of the first: since the call */
  float logprob;         /* NaN where it was not asked for */
  const rz_logprob* top; /* [n_top], likeliest first; valid during the call */
  size_t n_top;
  const char* text; /* [n_text_bytes] that it completed, whole UTF-8 characters; may be none */
  size_t n_text_bytes;
  double device_ms; /* of ms, what the device computed for; the host took the rest */
} rz_token;

/* Called with each token. Gives 0 to stop. */
typedef int (*rz_token_callback)(const rz_token* token, void* user);

/* A sampling parameter by its name ("temperature", "top_k", "top_p", "min_p", "typical_p", "repeat_penalty", ...). */
typedef struct rz_parameter {
  const char* name;
  double value;
} rz_parameter;

/* What is added to a token's logit before the sampler chain; with -INFINITY the token never comes. */
typedef struct rz_logit_bias {
  int32_t id;
  float bias;
} rz_logit_bias;

/* The chain of samplers, and texts beyond which DRY sees no repetition. Null pointers stand for the defaults. */
typedef struct rz_sampler_chain {
  size_t struct_size;
  const char* samplers; /* "top_k;temperature": the samplers to use, in this order, of penalties, dry, top_n_sigma,
                           temperature, top_k, typ_p, top_p, min_p and xtc, which are the default */
  const char* const* dry_breakers; /* [n_dry_breakers]; not null: these, and none where their number is 0 */
  size_t n_dry_breakers;
} rz_sampler_chain;

/* How rz_generate and rz_generate_batch generate text. Zero is no default in the sampling fields, which count as they
 * stand: rz_default_generate_options fills the struct with the model's recommendation. */
typedef struct rz_generate_options {
  size_t struct_size;
  float temperature; /* 0: always the likeliest token */
  int32_t top_k;     /* 0: off */
  float top_p, min_p, typical_p, repeat_penalty, frequency_penalty, presence_penalty;
  int32_t repeat_last_n;
  uint64_t seed;
  uint32_t max_tokens;     /* 0: until a stop or the end of the context, unless has_max_tokens is 1 */
  const char* const* stop; /* n_stop strings that end the text, and are not part of it */
  size_t n_stop;
  const int32_t* stop_tokens; /* n_stop_tokens ids that end it too */
  size_t n_stop_tokens;
  int ignore_eos;             /* 1: the model's own end tokens do not stop */
  int logprobs;               /* 1: each token's log-probability is told */
  uint32_t n_logprobs;        /* and those of the n_logprobs likeliest tokens */
  rz_token_callback on_token; /* null: none; not called in a batch */
  void* on_token_user;
  rz_result* result;              /* where not null: filled by rz_generate */
  const rz_parameter* parameters; /* n_parameters that go before the fields above */
  size_t n_parameters;
  const rz_logit_bias* logit_bias; /* n_logit_bias tokens */
  size_t n_logit_bias;
  const rz_sampler_chain* chain; /* null: the default one */
  const char* lora;              /* the adapter's name; null: none */
  float lora_scale;              /* on what it adds; 0: its own */
  int has_max_tokens;            /* 1: max_tokens counts as it stands; 0 of them: the prompt is read, and that is all */
} rz_generate_options;

/* One turn of a conversation. role: "system", "user", "assistant", or another that the model's template knows. */
typedef struct rz_message {
  const char* role;
  const char* content;
} rz_message;

/* Called with each piece of text, whole UTF-8 characters, not terminated. Gives 0 to stop. */
typedef int (*rz_text_callback)(const char* text, size_t n_bytes, void* user);

const char* rz_version(void);
/* The message and the code of the calling thread's last call; "" and RZ_OK where it did not fail. A call with a null
 * model or session leaves the error of the rz_load or rz_session_open that gave the null pointer, if that was the call
 * before it. The text is valid until the thread's next call. */
const char* rz_last_error(void);
int rz_last_error_code(void);
/* Tokens of the prompt and of the context where the code is RZ_CONTEXT_LENGTH_EXCEEDED; else 0. */
uint32_t rz_last_error_n_prompt(void);
uint32_t rz_last_error_n_ctx(void);

/* `model`: a file or folder, or the name of a model on this machine, as `realizar list` shows it and `realizar run`
 * takes it; nothing is downloaded, which rz_pull does. `options` may be null. Free with rz_free. */
rz_model* rz_load(const char* model, const rz_load_options* options);
/* Where a call runs or a session is open, the model stays, and rz_last_error says so. */
void rz_free(rz_model* model);

/* How a model is downloaded. Set struct_size: zeroes and null pointers stand for the defaults. */
typedef struct rz_pull_options {
  size_t struct_size;
  const char* models_store; /* folder of the models that were pulled; null: the user's own */
  const char* file;         /* of a repository of Hugging Face the one GGUF file that this matches: `*` stands for any
                               characters, `?` and `[...]` for one, upper and lower case are the same; null: what the
                               name says */
  int only_if_missing;      /* 1: a model that is on this machine is taken as it is, and no server is asked */
  const char* mirror;       /* server that is asked in place of huggingface.co (or HF_ENDPOINT) or Ollama's registry */
  const char* token;        /* for Hugging Face, or for the mirror; null: HF_TOKEN, or the one that Hugging Face's
                               programs keep, of which a mirror gets neither */
  const char* ca_file;      /* certificates (PEM) that are trusted; null: SSL_CERT_FILE, or the system's */
  /* Called on the caller's thread, ten times a second or more often: with the file that comes, "" while servers are
   * asked, and bytes of all files. Gives 0 to end with RZ_CANCELLED. */
  int (*on_progress)(const char* file, uint64_t done_bytes, uint64_t total_bytes, void* user);
  void* on_progress_user;
} rz_pull_options;
/* Downloads what this machine lacks of a model, as `realizar pull` does: "qwen3:1.7b", "hf:OWNER/REPO[:QUANTIZATION or
 * FILE]", "ollama:NAME[:TAG]" or "https://HOST/FILE.gguf". What was interrupted is resumed. Writes the name that
 * rz_load takes for it, at most `capacity` bytes without a terminator, and gives the number of all its bytes, which is
 * seldom above 300. `options` may be null. libcurl and libcrypto are opened when they are first needed, and
 * RZ_UNSUPPORTED says which of them this machine lacks. */
int64_t rz_pull(const char* name, const rz_pull_options* options, char* full_name, size_t capacity);

/* Loads an adapter, "[NAME=]PATH[:SCALE]", into the room of max_loras, and unloads the one of that name. Negative on
 * failure, as below. */
int rz_load_lora(rz_model* model, const char* lora);
int rz_unload_lora(rz_model* model, const char* name);

/* Fills `info`, whose struct_size is set. Negative on failure. */
int rz_get_info(const rz_model* model, rz_model_info* info);
/* Calls on_device with each device that the model runs on; `device` is valid during the call. Gives their number. */
int64_t rz_devices(const rz_model* model, void (*on_device)(const rz_device* device, void* user), void* user);
/* Negative on failure. */
int64_t rz_n_vocab(const rz_model* model);
int64_t rz_n_ctx(const rz_model* model);

/* Writes at most `capacity` ids and gives the number of all: call again with more room where it is larger. */
int64_t rz_tokenize(const rz_model* model, const char* text, int add_special, int parse_special, int32_t* ids,
                    size_t capacity);
/* Writes at most `capacity` bytes, no terminator, and gives the number of all. */
int64_t rz_detokenize(const rz_model* model, const int32_t* ids, size_t n_ids, char* text, size_t capacity);
/* The prompt that asks for the next turn of a conversation; ids as rz_tokenize. What messages say never becomes a
 * special token; bytes that are not UTF-8 become U+FFFD. */
int64_t rz_chat_prompt(const rz_model* model, const rz_message* messages, size_t n_messages, int32_t* ids,
                       size_t capacity);
/* Renders templates with tools or variables of their own. `variables_json`: {"messages": [{"role": "user", "content":
 * "..."}], ...}; ids as rz_tokenize. */
int64_t rz_apply_chat_template(const rz_model* model, const char* variables_json, int32_t* ids, size_t capacity);

/* How long a model is to think before it answers. Set struct_size: zeroes and null pointers stand for what the model
 * does by itself. */
typedef struct rz_reasoning {
  size_t struct_size;
  int enabled;        /* 1: it thinks; -1: it answers at once */
  const char* effort; /* "none", "minimal", "low", "medium", "high", "xhigh", "max", or what the template reads */
  uint32_t budget;    /* tokens; 0: none is given */
} rz_reasoning;
/* What that means for this model's chat template: writes the variables that rz_apply_chat_template takes beside the
 * messages, a JSON object of at most `capacity` bytes without a terminator, and gives the number of all its bytes.
 * `budget`: for reasoning_budget of rz_request; -1: none is wanted. */
int64_t rz_plan_reasoning(const rz_model* model, const rz_reasoning* asked, char* variables_json, size_t capacity,
                          int64_t* budget);

/* Fills `options`, whose struct_size is set. Negative on failure. */
int rz_default_generate_options(const rz_model* model, rz_generate_options* options);
/* Gives the number of generated tokens. */
int64_t rz_generate(rz_model* model, const int32_t* prompt, size_t n_prompt, const rz_generate_options* options,
                    rz_text_callback on_text, void* user);
/* Ends a running rz_generate or rz_generate_batch within a step, and a running rz_embed or rz_rank with RZ_CANCELLED.
 */
void rz_cancel(rz_model* model);

typedef struct rz_prompt {
  const int32_t* ids;
  size_t n_ids;
} rz_prompt;

/* One prompt's end: its index, its text (not terminated), how it ended. Where finish_reason is RZ_FINISH_ERROR, `text`
 * is the error's message. All is valid during the call. */
typedef void (*rz_result_callback)(size_t prompt_idx, const char* text, size_t n_bytes, const rz_result* result,
                                   void* user);
/* Answers several prompts, up to max_seqs of them together, each as rz_generate would alone; tells the end of each as
 * soon as it comes. An error of one prompt ends that prompt alone. Gives the number of those without an error. */
int64_t rz_generate_batch(rz_model* model, const rz_prompt* prompts, size_t n_prompts,
                          const rz_generate_options* options, rz_result_callback on_result, void* user);

typedef struct rz_session rz_session;

/* How the hidden states of a text become one vector. */
enum {
  RZ_POOL_LAST = 1,
  RZ_POOL_MEAN = 2,
  RZ_POOL_MODEL = 3, /* as the model's file says, for which it was trained; where it says nothing, the last one */
  RZ_POOL_RANK = 4   /* of a reranker and a prompt of rz_rank_prompt: one number, how well the document answers */
};

/* Values of must_call. */
enum {
  RZ_CALL_FREELY = 0, /* the model calls tools or answers */
  RZ_CALL_SOME = 1,   /* one tool or several */
  RZ_CALL_ONE = 2
};

/* What a request of a session asks for. Set struct_size: zeroes and null pointers stand for the defaults, in every
 * field. */
typedef struct rz_request {
  size_t struct_size;
  const int32_t* ids; /* [n_ids]: the prompt */
  size_t n_ids;
  const rz_parameter* parameters; /* n_parameters; those that are not named are as the model recommends */
  size_t n_parameters;
  uint32_t max_tokens;     /* 0: until a stop or the end of the context, unless has_max_tokens is 1 */
  const char* const* stop; /* n_stop strings that end the text, and are not part of it */
  size_t n_stop;
  const int32_t* stop_tokens; /* n_stop_tokens ids that end it too */
  size_t n_stop_tokens;
  int ignore_eos;          /* 1: the model's own end tokens do not stop */
  int logprobs;            /* 1: each token's log-probability is told */
  uint32_t n_logprobs;     /* the likeliest tokens of which it is told too */
  int split_reasoning;     /* 1: reasoning is told from the answer, where the model's chat template marks it */
  const char* tools_json;  /* a JSON array of tools, whose calls are told from the answer; null: calls stay text */
  const char* json_schema; /* the answer is a document of it; null: it has any form */
  const char* gbnf;        /* or follows this grammar */
  int32_t priority;        /* the smaller goes first */
  uint32_t timeout_ms;     /* from submit to the end; 0: none */
  const rz_logit_bias* logit_bias; /* n_logit_bias tokens */
  size_t n_logit_bias;
  uint64_t tenant;     /* requests of one tenant share its turn where requests compete */
  uint64_t cache_salt; /* requests share cached prefixes only with those of the same salt */
  int relaxed_schema;  /* 1: what no grammar can hold of json_schema is left out, instead of refused */
  int must_call;       /* RZ_CALL_SOME, RZ_CALL_ONE: after its reasoning the answer calls tools of tools_json */
  int pooling;         /* RZ_POOL_...: the prompt's vector is made, and no text; on_end has it. 0: text is generated */
  const rz_sampler_chain* chain; /* null: the default one */
  int has_reasoning_budget;      /* 1: after reasoning_budget tokens of reasoning the mark that ends it is forced, */
  uint32_t reasoning_budget; /* and the answer goes on; where the model's chat template marks no reasoning: nothing */
  const char* lora;          /* the adapter's name; null: none */
  float lora_scale;          /* on what it adds; 0: its own */
  int has_max_tokens;        /* 1: max_tokens counts as it stands; 0 of them: the prompt is read, and that is all */
  int has_seed;              /* 1: the seed is this one, and not that of the parameters, which hold 53 bits of one */
  uint64_t seed;
} rz_request;

/* Kinds of a part. */
enum { RZ_REASONING = 0, RZ_CONTENT = 1, RZ_CALL_BEGIN = 2, RZ_CALL_ARGUMENTS = 3, RZ_CALL_END = 4 };

/* A piece of an answer. The library makes these; later versions may have more fields at the end. */
typedef struct rz_part {
  int kind;
  size_t call_idx;  /* of a call's parts: 0, 1, 2 in order */
  const char* text; /* [n_bytes], not terminated: text, a call's name, or a piece of its arguments' JSON */
  size_t n_bytes;
  const rz_token* token; /* the token that completed it; null for further parts of the same token */
} rz_part;

/* Called with each part. Gives 0 to stop. All is valid during the call. */
typedef int (*rz_part_callback)(const rz_part* part, void* user);
/* Called once, with the whole content. Where finish_reason is RZ_FINISH_ERROR, `text` is the error's message. */
typedef void (*rz_end_callback)(const char* text, size_t n_bytes, const rz_result* result, void* user);

/* The session has the model until rz_session_free: meanwhile what takes a const rz_model may be called, from any
 * thread, and the other functions of the model fail. `max_queue`: requests that may wait while max_seqs run;
 * 0: 256. */
rz_session* rz_session_open(rz_model* model, uint32_t max_queue);
/* Cancels what runs, and returns once every end was told. In a callback of the session it stays, and rz_last_error says
 * so. */
void rz_session_free(rz_session* session);
/* Begins a request and gives its number, which is positive. Any thread, callbacks too. The callbacks, which may be
 * null, are called on the session's thread, on_end perhaps before this returns, and not at all where this fails. */
int64_t rz_session_submit(rz_session* session, const rz_request* request, rz_part_callback on_part,
                          rz_end_callback on_end, void* user);
/* What rz_session_respond may be told. Set struct_size: zeroes and null pointers stand for the defaults. */
typedef struct rz_respond_options {
  size_t struct_size;
  const char* model_name; /* as answers have it; null: the name of the model's file */
  uint64_t tenant;        /* requests of one tenant share its turn where requests compete */
  uint32_t timeout_ms;    /* the most that any request of the body may take; 0: what the body says */
  const char* lora;       /* the adapter's name, where the body names none; null: none */
  float lora_scale;       /* on what it adds; 0: its own */
} rz_respond_options;

/* The head of an answer, as HTTP would have it. Later versions may have more fields at the end. */
typedef struct rz_response {
  int status;
  const char* content_type;
} rz_response;
/* Called with bytes of the answer: all of it at once, or, of a stream, with none when it begins and then with events as
 * they come. Gives 0 to stop. All is valid during the call. */
typedef int (*rz_response_callback)(const rz_response* response, const char* bytes, size_t n_bytes, void* user);

/* Answers a body as `realizar serve` answers a POST to that path, with the same bytes: "/v1/chat/completions",
 * "/v1/completions", "/v1/embeddings", "/v1/rerank", "/v1/responses", "/v1/messages", "/tokenize" and the others that a
 * model answers, but for Ollama's. Nothing is stored, and the body's `model` counts for nothing. Gives the number of
 * the request, which rz_session_cancel takes.
 *
 * The callbacks, which may be null, are called on the session's thread: on_bytes; on_result with the end of each of the
 * body's choices, without a text; and on_end once, with the end of the first one. Where the body is refused or an
 * answer fails, on_bytes has the error as the path's API spells it, and on_end its message, with RZ_FINISH_ERROR and
 * error_code. Fails for a path that is none of these. */
int64_t rz_session_respond(rz_session* session, const char* path, const char* body, size_t n_bytes,
                           const rz_respond_options* options, rz_response_callback on_bytes,
                           rz_result_callback on_result, rz_end_callback on_end, void* user);
/* Ends a request within a step, with RZ_FINISH_CANCELLED; nothing where it is over. Any thread. */
int rz_session_cancel(rz_session* session, int64_t request);
/* Returns once no request is open. Negative on failure: in a callback of the session. */
int rz_session_wait(rz_session* session);
/* rz_clear_cache with `wipe`, rz_logits and rz_set_trace of a model that has a session: between two steps of the
 * requests that run. Any thread; not in a callback. rz_trace and its like may be called meanwhile. */
int rz_session_clear_cache(rz_session* session);
int64_t rz_session_logits(rz_session* session, const int32_t* ids, size_t n_ids, uint32_t n_prompt, uint32_t n_last,
                          float* logits, size_t capacity);
int rz_session_set_trace(rz_session* session, int on);

/* The logits of the last n_last of the tokens, [n_last, n_vocab]; the first n_prompt tokens are run as a prompt, the
 * others one at a time. `capacity`: floats that `logits` has room for. Gives the number of floats. */
int64_t rz_logits(rz_model* model, const int32_t* ids, size_t n_ids, uint32_t n_prompt, uint32_t n_last, float* logits,
                  size_t capacity);
/* A vector of d_model numbers, of the length 1. `capacity`: floats that `vector` has room for. Gives d_model. */
int64_t rz_embed(rz_model* model, const int32_t* ids, size_t n_ids, int pooling, float* vector, size_t capacity);

/* The prompt by which a reranker tells how well a document answers a query; ids as rz_tokenize. */
int64_t rz_rank_prompt(const rz_model* model, const char* query, const char* document, int32_t* ids, size_t capacity);
/* How well each of n_documents answers the query, from 0 to 1, in their order. `capacity`: floats that `relevances` has
 * room for. Gives n_documents. */
int64_t rz_rank(rz_model* model, const char* query, const char* const* documents, size_t n_documents, float* relevances,
                size_t capacity);

/* Draws tokens from logits that the caller has, as rz_generate would; a sampler is used by one thread at a time. */
typedef struct rz_sampler rz_sampler;
/* Set struct_size: zeroes and null pointers stand for the defaults, in every field but n_vocab. */
typedef struct rz_sampler_options {
  size_t struct_size;
  uint32_t n_vocab;               /* numbers of a row of logits */
  const rz_parameter* parameters; /* n_parameters; the temperature 0 always draws the likeliest token */
  size_t n_parameters;
  const rz_logit_bias* logit_bias; /* n_logit_bias tokens */
  size_t n_logit_bias;
  const rz_sampler_chain* chain; /* null: the default one; dry_breakers want `model` */
  const rz_model* model;         /* parameters that are not named are as it recommends; null: as most models do */
  int has_seed;                  /* 1: the seed is this one, and not that of the parameters */
  uint64_t seed;
} rz_sampler_options;
/* Free with rz_sampler_free. Null on failure. */
rz_sampler* rz_sampler_new(const rz_sampler_options* options);
/* Gives the id of the token that is drawn from logits[n_vocab]. `history`: n_history ids of prompt and output so far,
 * which penalties see; their number is the position that the draw is keyed by beside the seed. */
int64_t rz_sample(rz_sampler* sampler, const float* logits, size_t n_logits, const int32_t* history, size_t n_history);
/* Forgets the draws, for another text. */
int rz_sampler_reset(rz_sampler* sampler);
void rz_sampler_free(rz_sampler* sampler);

/* Forgets cached prefixes. `wipe` 1: what prompts left in memory is zeroed too. */
int rz_clear_cache(rz_model* model, int wipe);

/* Records the time of every operation of the steps that follow; off at first, and free then. */
int rz_set_trace(rz_model* model, int on);
/* An operation of one phase: all its runs since the last clear. Later versions may have more fields at the end. */
typedef struct rz_trace_row {
  const char* op;
  int is_decode;
  uint64_t count;
  double total_ms, bytes, flops;
} rz_trace_row;
/* Calls on_row with each; `row` is valid during the call. Gives the number of rows. */
int64_t rz_trace(const rz_model* model, void (*on_row)(const rz_trace_row* row, void* user), void* user);
/* All operations of a phase. n_tokens: that came of its steps, read of prompts or generated; n_computed: with wrong
 * guesses. */
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
  int32_t layer;                /* -1: of none */
  double start_us, duration_us; /* since the load began */
  uint64_t step;                /* counted from 0 since the trace was cleared */
  uint32_t n_tokens;            /* that the step computed */
} rz_trace_event;
/* Calls on_event with each, in their order; `event` is valid during the call. Gives their number. */
int64_t rz_trace_events(const rz_model* model, void (*on_event)(const rz_trace_event* event, void* user), void* user);
/* How traced steps differ from others: at most `capacity` bytes, no terminator; gives the number of all. 0: not at all.
 */
int64_t rz_trace_note(const rz_model* model, char* note, size_t capacity);
/* Forgets what was recorded. Any thread, also while the model has a session. */
int rz_clear_trace(rz_model* model);

#ifdef __cplusplus
}
#endif

#endif
