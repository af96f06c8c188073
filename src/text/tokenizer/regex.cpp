#include "text/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/try.h"

namespace realizar::text {
namespace {

constexpr size_t kJitStackBytesMin = 32 * 1024;
constexpr size_t kJitStackBytesMax = 16 * 1024 * 1024;
constexpr uint32_t kHeapLimitKib = 512 * 1024;

// One thread's buffers for matching.
struct MatchState {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kJitStackBytesMin, kJitStackBytesMax, nullptr);

  MatchState() {
    pcre2_jit_stack_assign(context, nullptr, stack);
    pcre2_set_heap_limit(context, kHeapLimitKib);
  }
  MatchState(const MatchState&) = delete;
  MatchState& operator=(const MatchState&) = delete;
  ~MatchState() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
};

MatchState& match_state() {
  thread_local MatchState state;
  return state;
}

std::string compile_error(int code, size_t offset, std::string_view pattern) {
  PCRE2_UCHAR message[256];
  pcre2_get_error_message(code, message, sizeof message);
  return "regular expression '" + std::string(pattern) + "': " + reinterpret_cast<const char*>(message) +
         " at offset " + std::to_string(offset);
}

}  // namespace

struct Regex::Code {
  explicit Code(pcre2_code* c) : code(c) { has_jit = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0; }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }
  pcre2_code* code;
  bool has_jit = false;
};

Result<Regex> Regex::compile(std::string_view pattern) {
  RZ_TRY(const std::string translated, translate_regex(pattern));
  int error = 0;
  size_t offset = 0;
  // Ruby's ^ and $ match at every line; only LF ends a line.
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &offset, context.get());
  if (code == nullptr) return format_error(compile_error(error, offset, translated));
  return Regex(std::make_shared<const Code>(code));
}

std::optional<TextRange> Regex::find(std::string_view subject, size_t from) const {
  MatchState& state = match_state();
  const auto* bytes = reinterpret_cast<PCRE2_SPTR>(subject.data());
  int rc = PCRE2_ERROR_JIT_STACKLIMIT;
  if (code_->has_jit) {
    rc = pcre2_jit_match(code_->code, bytes, subject.size(), from, 0, state.data, state.context);
  }
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {
    rc = pcre2_match(code_->code, bytes, subject.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, state.data,
                     state.context);
  }
  if (rc < 0) return std::nullopt;
  const size_t* offsets = pcre2_get_ovector_pointer(state.data);
  return TextRange{offsets[0], offsets[1]};
}

bool Regex::may_match_empty() const {
  uint32_t may = 1;
  pcre2_pattern_info(code_->code, PCRE2_INFO_MATCHEMPTY, &may);
  return may != 0;
}

}  // namespace realizar::text
