#include "formats/module_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

namespace realizar {
namespace {

constexpr uint32_t kMaxSteps = 1'000'000, kMaxHeapKib = 16 * 1024;

template <class T, void (*free)(T*)>
using Owned = std::unique_ptr<T, decltype([](T* owned) { free(owned); })>;

PCRE2_SPTR as_units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

pcre2_code* compiled(std::string_view pattern, int& error, size_t& offset) {
  return pcre2_compile(as_units(pattern), pattern.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error,
                       &offset, nullptr);
}

}  // namespace

struct ModulePattern::Code {
  explicit Code(pcre2_code* compiled_code) : code(compiled_code) {}
  Owned<pcre2_code, pcre2_code_free> code;
};

Result<ModulePattern> ModulePattern::of_end(std::string_view pattern) {
  int error = 0;
  size_t offset = 0;
  // The pattern alone must be one: what stands around it could close a bracket that the pattern opens.
  const Owned<pcre2_code, pcre2_code_free> alone(compiled(pattern, error, offset));
  if (alone == nullptr) {
    PCRE2_UCHAR message[256];
    pcre2_get_error_message(error, message, sizeof message);
    return format_error(fmt::format("regular expression '{}': {} at offset {}", pattern.substr(0, 100),
                                    reinterpret_cast<const char*>(message), offset));
  }
  pcre2_code* code = compiled(fmt::format("(.*\\.)?({})$", pattern), error, offset);
  if (code == nullptr) {
    return format_error(fmt::format("regular expression '{}': it stands alone only", pattern.substr(0, 100)));
  }
  return ModulePattern(std::string(pattern), std::make_shared<const Code>(code));
}

Result<bool> ModulePattern::matches(std::string_view name) const {
  const Owned<pcre2_match_data, pcre2_match_data_free> data(pcre2_match_data_create(1, nullptr));
  const Owned<pcre2_match_context, pcre2_match_context_free> context(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context.get(), kMaxSteps);
  pcre2_set_heap_limit(context.get(), kMaxHeapKib);
  const int found =
      pcre2_match(code_->code.get(), as_units(name), name.size(), 0, PCRE2_ANCHORED, data.get(), context.get());
  if (found >= 0) return true;
  if (found == PCRE2_ERROR_NOMATCH) return false;
  return unsupported(fmt::format("regular expression '{}': '{}' takes more than {} steps", pattern_.substr(0, 100),
                                 name.substr(0, 100), kMaxSteps));
}

}  // namespace realizar
