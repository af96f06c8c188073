// Shared by the functions of the C interface: the model, errors, conversion of structs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/caught.h"
#include "base/try.h"
#include "realizar/engine.h"
#include "realizar/realizar.h"
#include "realizar/session.h"

struct rz_model {
  realizar::LanguageModel model;
  std::atomic<bool> is_busy{false};  // a call that changes it is running, or it has a session
};

struct rz_session {
  rz_model& model;
  realizar::Session session;
};

namespace realizar::c {

// Remembers the error for the calling thread. Returns -1.
int64_t fail(const Error& error) noexcept;
// fail() for a call that should have returned a model or a session.
std::nullptr_t fail_to_make(const Error& error) noexcept;
// fail() for a call with a null model or session. If that is null because an earlier call failed, the error of that
// call is kept: it gives the reason.
int64_t fail_without(const char* handle) noexcept;
void forget_error() noexcept;
int code_of(const Error& error) noexcept;

// Runs a body that returns a Result of a number, or a Status or nothing, which count as 0; no exception leaves the
// library.
template <class Body>
int64_t counted(const Body& body) {
  forget_error();
  const auto result = caught(body);
  if (!result.ok()) return fail(result.error());
  if constexpr (std::is_same_v<decltype(result), const Status>)
    return 0;
  else
    return *result;
}
// counted() for a call with a model or a session, which `name` describes.
template <class Body>
int64_t counted_with(const void* handle, const char* name, const Body& body) {
  return handle == nullptr ? fail_without(name) : counted(body);
}
// counted() for a body that returns a Result of a new model or session.
template <class Handle, class Body>
Handle* made(const Body& body) {
  forget_error();
  const Result<Handle*> result = caught([&]() -> Result<Handle*> { return body(); });
  return result.ok() ? *result : fail_to_make(result.error());
}

Error null_argument(const char* name);
Error busy_error();
// For a function that a session's callback cannot call, since the session would wait for itself.
Error callback_error();

// counted_with() for functions that change the model: one call at a time, and none from a callback of another call.
template <class Body>
int64_t exclusively(rz_model* model, const Body& body) {
  return counted_with(model, "model", [&]() -> decltype(caught(body)) {
    if (model->is_busy.exchange(true)) return busy_error();
    struct Release {
      std::atomic<bool>& is_busy;
      ~Release() { is_busy = false; }
    } const release{model->is_busy};
    return caught(body);
  });
}

template <class Struct>
Status check_struct(const Struct& given) {
  if (given.struct_size < sizeof(size_t)) return invalid_argument("struct_size is not set", "struct_size");
  return {};
}

// The caller's struct, with zeroes for fields that it does not have.
template <class Struct>
Result<Struct> read_struct(const Struct* given) {
  Struct own{};
  if (given == nullptr) return own;
  RZ_CHECK_OK(check_struct(*given));
  std::memcpy(&own, given, std::min(given->struct_size, sizeof(Struct)));
  return own;
}
// Fills the fields that the caller's struct has.
template <class Struct>
Status write_struct(Struct filled, Struct* to) {
  RZ_CHECK_OK(check_struct(*to));
  filled.struct_size = std::min(to->struct_size, sizeof filled);
  std::memcpy(to, &filled, filled.struct_size);
  return {};
}

int64_t copy_ids(const std::vector<TokenId>& tokens, int32_t* ids, size_t capacity);
// Returns the number of all values. Errors: InvalidArgument if they exceed the capacity.
Result<int64_t> copy_floats(std::span<const float> from, float* to, size_t capacity);
int64_t copy_text(const std::string& from, char* to, size_t capacity);
// Errors: InvalidArgument naming the field, for null pointers.
Result<std::vector<std::string>> to_texts(const char* const* texts, size_t n, const char* field);
std::vector<TokenId> to_tokens(const int32_t* ids, size_t n);

// Zeroes and null pointers mean the defaults. Errors: InvalidArgument naming the field.
Result<LoadOptions> to_load_options(const rz_load_options& given);

// The contents of an rz_request.
struct Asked {
  Request request;
  TextOptions text;
};
// `sampling`: the values of parameters that are not named. Schema and grammar are left to the caller. Errors:
// InvalidArgument naming the field; those of LanguageModel::sequence_breakers.
Result<Asked> read_request(const rz_request& given, const LanguageModel& model, const SamplingParams& sampling);

// Parameters, biases and a chain. `model`: for breakers; may be null. Errors: as above.
Status read_sampling(const rz_request& given, const rz_sampler_chain* chain, const LanguageModel* model,
                     SamplingParams& sampling);

// RZ_POOL_..., or 0. Errors: InvalidArgument; Unsupported if the model gives no vectors.
Result<Pooling> read_pooling(int pooling, const LanguageModel& model);

rz_result to_c_result(const TextGeneration& generation);
// The result of a request that failed.
rz_result to_c_result(const Error& error, size_t n_prompt);

// A token in its C form; the result of `of` is valid until the next call.
class TokenView {
 public:
  rz_token of(const TokenEvent& event, std::string_view text);

 private:
  std::vector<rz_logprob> top_;
};

Status check_prompt(const int32_t* ids, size_t n_ids);

}  // namespace realizar::c
