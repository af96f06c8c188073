#include "api/c_support.h"

#include "base/printable.h"

namespace realizar::c {
namespace {

thread_local std::string message_of_last;
thread_local int code_of_last = RZ_OK;
thread_local uint32_t n_prompt_of_last = 0, n_ctx_of_last = 0;
thread_local bool is_handle_missing = false;  // the error explains why a model or a session is null

}  // namespace

int code_of(const Error& error) noexcept {
  return static_cast<int>(error.code) + 1;
}

int64_t fail(const Error& error) noexcept {
  is_handle_missing = false;
  code_of_last = code_of(error);
  n_prompt_of_last = error.n_prompt;
  n_ctx_of_last = error.n_ctx;
  // Without memory for the message, its code is enough. A NUL would cut the message.
  static_cast<void>(caught([&] { message_of_last = printable(error.message); }));
  return -1;
}

std::nullptr_t fail_to_make(const Error& error) noexcept {
  fail(error);
  is_handle_missing = true;
  return nullptr;
}

int64_t fail_without(const char* handle) noexcept {
  if (is_handle_missing) return -1;
  const Status wrong = caught([&]() -> Status { return null_argument(handle); });
  fail_to_make(wrong.error());
  return -1;
}

void forget_error() noexcept {
  is_handle_missing = false;
  message_of_last.clear();
  code_of_last = RZ_OK;
  n_prompt_of_last = n_ctx_of_last = 0;
}

Error null_argument(const char* name) {
  return invalid_argument(std::string(name) + " is null", name);
}

Error busy_error() {
  return invalid_argument(
      "the model is busy with another call or a session: only rz_cancel and what takes a const rz_model can be called "
      "now",
      "model");
}

Error callback_error() {
  return invalid_argument("a callback cannot wait for its own session, or free it", "session");
}

int64_t copy_ids(const std::vector<TokenId>& tokens, int32_t* ids, size_t capacity) {
  for (size_t i = 0; ids != nullptr && i < std::min(capacity, tokens.size()); ++i) ids[i] = to_index(tokens[i]);
  return static_cast<int64_t>(tokens.size());
}

Result<int64_t> copy_floats(std::span<const float> from, float* to, size_t capacity) {
  if (to == nullptr) return null_argument("the buffer");
  if (from.size() > capacity) {
    return invalid_argument(
        "capacity: expected at least " + std::to_string(from.size()) + " floats, actual " + std::to_string(capacity),
        "capacity");
  }
  std::copy(from.begin(), from.end(), to);
  return static_cast<int64_t>(from.size());
}

int64_t copy_text(const std::string& from, char* to, size_t capacity) {
  if (to != nullptr) std::memcpy(to, from.data(), std::min(capacity, from.size()));
  return static_cast<int64_t>(from.size());
}

Result<std::vector<std::string>> to_texts(const char* const* texts, size_t n, const char* field) {
  if (texts == nullptr && n > 0) return null_argument(field);
  std::vector<std::string> list;
  for (const char* text : std::span(texts, n)) {
    if (text == nullptr) return null_argument(field);
    list.emplace_back(text);
  }
  return list;
}

std::vector<TokenId> to_tokens(const int32_t* ids, size_t n) {
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < n; ++i) tokens.push_back(TokenId{ids[i]});
  return tokens;
}

}  // namespace realizar::c

using namespace realizar::c;

const char* rz_last_error(void) {
  return message_of_last.c_str();
}
int rz_last_error_code(void) {
  return code_of_last;
}
uint32_t rz_last_error_n_prompt(void) {
  return n_prompt_of_last;
}
uint32_t rz_last_error_n_ctx(void) {
  return n_ctx_of_last;
}
