#include "cli/chat_settings.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "base/try.h"
#include "sampling/parameters.h"
#include "sampling/sampler.h"

namespace realizar::cli {
namespace {

constexpr const char* kMaxTokens = "max_tokens";
constexpr const char* kNoLimit = "none";

template <class T>
bool parse_number(std::string_view text, T& number) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  number = value;
  return true;
}

bool set_max_tokens(AnswerOptions& options, std::string_view value) {
  uint32_t n = 0;
  if (value == kNoLimit) {
    options.max_tokens.reset();
    return true;
  }
  if (!parse_number(value, n)) return false;
  options.max_tokens = n;
  return true;
}

void show_max_tokens(const AnswerOptions& options, std::ostream& out) {
  if (options.max_tokens) {
    out << *options.max_tokens;
  } else {
    out << kNoLimit;
  }
}

// `name` is a setting's. False where the value is no such number.
bool set(AnswerOptions& options, const std::string& name, std::string_view value) {
  if (name == kMaxTokens) return set_max_tokens(options, value);
  const SamplingParameter* parameter = find_sampling_parameter(name);
  return visit_parameter(*parameter, options.sampling, [value](auto& member) { return parse_number(value, member); });
}

}  // namespace

std::string settings_text(const AnswerOptions& options) {
  std::ostringstream text;
  for (const SamplingParameter& parameter : kSamplingParameters) {
    text << parameter.name << ' ';
    visit_parameter(parameter, options.sampling, [&text](auto value) { text << value; });
    text << '\n';
  }
  text << kMaxTokens << ' ';
  show_max_tokens(options, text);
  text << '\n';
  return text.str();
}

Status change_setting(AnswerOptions& options, const std::string& name, const std::string& value) {
  if (name != kMaxTokens && find_sampling_parameter(name) == nullptr) {
    return invalid_argument("there is no setting '" + name + "'; /set shows them", name);
  }
  AnswerOptions changed = options;
  if (!set(changed, name, value)) {
    return invalid_argument(fmt::format("{}: expected a number, actual '{}'", name, value), name);
  }
  // The biases were checked against the vocabulary when the chat began, and cannot be set here.
  SamplingParams checked = changed.sampling;
  checked.logit_bias.clear();
  RZ_CHECK_OK(validate(checked, 0));
  options = std::move(changed);
  return {};
}

}  // namespace realizar::cli
