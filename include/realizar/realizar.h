/* librealizar in C: a stable interface. Load a model with its tokenizer and chat template, generate text.
 *
 * Every function that can fail gives a null pointer or a negative number; rz_last_error then says why, for the calling
 * thread. A null pointer where a value is needed is such an error. One rz_model is used by one thread at a time, except
 * rz_cancel, which any thread may call while rz_generate runs. */
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
  const char* kv_type; /* "f32", "f16" (default), "bf16", "q8_0", "fp8" */
  uint32_t n_threads;  /* 0: every core that the process may use */
  uint32_t n_ctx;      /* positions; 0: the model's own, at most 8192 */
} rz_load_options;

/* How text is generated; get the model's recommendation from rz_default_generate_options. */
typedef struct rz_generate_options {
  size_t struct_size;
  float temperature; /* 0: always the likeliest token */
  int32_t top_k;     /* 0: off */
  float top_p, min_p, typical_p, repeat_penalty, frequency_penalty, presence_penalty;
  int32_t repeat_last_n;
  uint64_t seed;
  uint32_t max_tokens;     /* 0: until a stop or the end of the context */
  const char* const* stop; /* n_stop strings that end the text, and are not part of it */
  size_t n_stop;
} rz_generate_options;

/* One turn of a conversation. role: "system", "user", "assistant", or another that the model's template knows. */
typedef struct rz_message {
  const char* role;
  const char* content;
} rz_message;

/* Called with each piece of text, whole UTF-8 characters, not terminated. Gives 0 to stop. */
typedef int (*rz_text_callback)(const char* text, size_t n_bytes, void* user);

const char* rz_version(void);
/* Of the calling thread's last failed call; "" and RZ_OK where none failed. Valid until its next call. */
const char* rz_last_error(void);
int rz_last_error_code(void);

/* `options` may be null. Free with rz_free. */
rz_model* rz_load(const char* path, const rz_load_options* options);
void rz_free(rz_model* model);

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
/* For templates with tools or variables of their own. `variables_json`: {"messages": [{"role": "user", "content":
 * "..."}], ...}; ids as rz_tokenize. */
int64_t rz_apply_chat_template(const rz_model* model, const char* variables_json, int32_t* ids, size_t capacity);

/* Fills `options`, whose struct_size is set. Negative on failure. */
int rz_default_generate_options(const rz_model* model, rz_generate_options* options);
/* Gives the number of generated tokens. */
int64_t rz_generate(rz_model* model, const int32_t* prompt, size_t n_prompt, const rz_generate_options* options,
                    rz_text_callback on_text, void* user);
/* Ends a running rz_generate within a step. */
void rz_cancel(rz_model* model);

#ifdef __cplusplus
}
#endif

#endif
