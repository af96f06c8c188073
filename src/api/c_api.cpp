#include "realizar/realizar.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "base/caught.h"
#include "base/printable.h"
#include "realizar/engine.h"

struct rz_model {
  realizar::LanguageModel model;
};

namespace realizar {
namespace {

thread_local std::string last_message;
thread_local int last_code = RZ_OK;

int64_t fail(const Error& error) noexcept {
  last_code = static_cast<int>(error.code) + 1;
  // Without memory for the message its code says enough. A NUL would cut it.
  static_cast<void>(caught([&] { last_message = printable(error.message); }));
  return -1;
}

// Runs `body`; no exception leaves the library.
template <class Body>
auto guarded(const Body& body, decltype(body()) on_failure) -> decltype(body()) {
  last_message.clear();
  last_code = RZ_OK;
  auto result = caught([&]() -> Result<decltype(body())> { return body(); });
  if (result.ok()) return std::move(*result);
  fail(result.error());
  return on_failure;
}

Error null_argument(const char* name) {
  return invalid_argument(std::string(name) + " is null", name);
}

// The caller's struct, with zeroes for the fields that it does not know.
template <class Options>
Result<Options> read_options(const Options* given) {
  Options options{};
  if (given == nullptr) return options;
  if (given->struct_size < sizeof(size_t)) return invalid_argument("struct_size is not set", "struct_size");
  std::memcpy(&options, given, std::min(given->struct_size, sizeof(Options)));
  return options;
}

int64_t copy_ids(const std::vector<TokenId>& tokens, int32_t* ids, size_t capacity) {
  for (size_t i = 0; ids != nullptr && i < std::min(capacity, tokens.size()); ++i) ids[i] = to_index(tokens[i]);
  return static_cast<int64_t>(tokens.size());
}

std::vector<TokenId> to_tokens(const int32_t* ids, size_t n) {
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < n; ++i) tokens.push_back(TokenId{ids[i]});
  return tokens;
}

SamplingParams to_sampling(const rz_generate_options& o) {
  SamplingParams s;
  s.temperature = o.temperature;
  s.top_k = o.top_k;
  s.typical_p = o.typical_p;
  s.top_p = o.top_p;
  s.min_p = o.min_p;
  s.repeat_penalty = o.repeat_penalty;
  s.repeat_last_n = o.repeat_last_n;
  s.frequency_penalty = o.frequency_penalty;
  s.presence_penalty = o.presence_penalty;
  s.seed = o.seed;
  return s;
}

rz_generate_options to_options(const SamplingParams& s) {
  rz_generate_options o{};
  o.temperature = s.temperature;
  o.top_k = s.top_k;
  o.typical_p = s.typical_p;
  o.top_p = s.top_p;
  o.min_p = s.min_p;
  o.repeat_penalty = s.repeat_penalty;
  o.repeat_last_n = s.repeat_last_n;
  o.frequency_penalty = s.frequency_penalty;
  o.presence_penalty = s.presence_penalty;
  o.seed = s.seed;
  return o;
}

}  // namespace
}  // namespace realizar

using namespace realizar;

const char* rz_version(void) {
  return version();
}
const char* rz_last_error(void) {
  return last_message.c_str();
}
int rz_last_error_code(void) {
  return last_code;
}

rz_model* rz_load(const char* path, const rz_load_options* options) {
  return guarded(
      [&]() -> rz_model* {
        if (path == nullptr) return fail(null_argument("path")), nullptr;
        const auto given = read_options(options);
        if (!given.ok()) return fail(given.error()), nullptr;
        LoadOptions load;
        if (given->backend != nullptr) load.backend = given->backend;
        if (given->kv_type != nullptr) load.kv_type = given->kv_type;
        load.n_threads = given->n_threads;
        load.n_ctx = given->n_ctx;
        auto model = LanguageModel::load(path, load);
        if (!model.ok()) return fail(model.error()), nullptr;
        return new rz_model{std::move(*model)};
      },
      nullptr);
}

void rz_free(rz_model* model) {
  delete model;
}

int64_t rz_n_vocab(const rz_model* model) {
  return model != nullptr ? int64_t{model->model.info().n_vocab} : fail(null_argument("model"));
}

int64_t rz_n_ctx(const rz_model* model) {
  return model != nullptr ? int64_t{model->model.info().n_ctx} : fail(null_argument("model"));
}

int64_t rz_tokenize(const rz_model* model, const char* text, int add_special, int parse_special, int32_t* ids,
                    size_t capacity) {
  return guarded(
      [&]() -> int64_t {
        if (model == nullptr || text == nullptr) return fail(null_argument(model == nullptr ? "model" : "text"));
        const auto tokens = model->model.tokenize(text, add_special != 0, parse_special != 0);
        return tokens.ok() ? copy_ids(*tokens, ids, capacity) : fail(tokens.error());
      },
      -1);
}

int64_t rz_detokenize(const rz_model* model, const int32_t* ids, size_t n_ids, char* text, size_t capacity) {
  return guarded(
      [&]() -> int64_t {
        if (model == nullptr || (ids == nullptr && n_ids > 0))
          return fail(null_argument(model == nullptr ? "model" : "ids"));
        const auto result = model->model.detokenize(to_tokens(ids, n_ids));
        if (!result.ok()) return fail(result.error());
        if (text != nullptr) std::memcpy(text, result->data(), std::min(capacity, result->size()));
        return static_cast<int64_t>(result->size());
      },
      -1);
}

int64_t rz_chat_prompt(const rz_model* model, const rz_message* messages, size_t n_messages, int32_t* ids,
                       size_t capacity) {
  return guarded(
      [&]() -> int64_t {
        if (model == nullptr || (messages == nullptr && n_messages > 0)) {
          return fail(null_argument(model == nullptr ? "model" : "messages"));
        }
        std::vector<ChatMessage> list;
        for (const rz_message& message : std::span(messages, n_messages)) {
          if (message.role == nullptr) return fail(null_argument("role"));
          if (message.content == nullptr) return fail(null_argument("content"));
          list.push_back({message.role, message.content});
        }
        const auto tokens = model->model.chat_prompt(list);
        return tokens.ok() ? copy_ids(*tokens, ids, capacity) : fail(tokens.error());
      },
      -1);
}

int64_t rz_apply_chat_template(const rz_model* model, const char* variables_json, int32_t* ids, size_t capacity) {
  return guarded(
      [&]() -> int64_t {
        if (model == nullptr || variables_json == nullptr) {
          return fail(null_argument(model == nullptr ? "model" : "variables_json"));
        }
        const auto tokens = model->model.apply_chat_template(variables_json);
        return tokens.ok() ? copy_ids(*tokens, ids, capacity) : fail(tokens.error());
      },
      -1);
}

int rz_default_generate_options(const rz_model* model, rz_generate_options* options) {
  return guarded(
      [&]() -> int {
        if (model == nullptr || options == nullptr) {
          fail(null_argument(model == nullptr ? "model" : "options"));
          return -1;
        }
        if (const auto given = read_options(options); !given.ok()) {
          fail(given.error());
          return -1;
        }
        rz_generate_options filled = to_options(model->model.default_sampling());
        filled.struct_size = std::min(options->struct_size, sizeof filled);
        std::memcpy(options, &filled, filled.struct_size);
        return 0;
      },
      -1);
}

int64_t rz_generate(rz_model* model, const int32_t* prompt, size_t n_prompt, const rz_generate_options* options,
                    rz_text_callback on_text, void* user) {
  return guarded(
      [&]() -> int64_t {
        if (model == nullptr || (prompt == nullptr && n_prompt > 0)) {
          return fail(null_argument(model == nullptr ? "model" : "prompt"));
        }
        Request request;
        TextOptions text;
        request.prompt = to_tokens(prompt, n_prompt);
        request.sampling = model->model.default_sampling();
        if (options != nullptr) {
          const auto given = read_options(options);
          if (!given.ok()) return fail(given.error());
          request.sampling = to_sampling(*given);
          if (given->max_tokens > 0) request.max_tokens = given->max_tokens;
          for (size_t i = 0; given->stop != nullptr && i < given->n_stop; ++i) text.stop.emplace_back(given->stop[i]);
        }
        const auto result = model->model.generate_text(request, text, [&](const TextEvent& event) {
          return on_text == nullptr || event.text.empty() || on_text(event.text.data(), event.text.size(), user) != 0;
        });
        return result.ok() ? static_cast<int64_t>(result->tokens.size()) : fail(result.error());
      },
      -1);
}

void rz_cancel(rz_model* model) {
  if (model != nullptr) model->model.cancel();
}
