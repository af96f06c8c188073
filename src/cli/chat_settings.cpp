#include "cli/chat_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>

#include "base/try.h"
#include "sampling/parameters.h"
#include "sampling/sampler.h"

namespace realizar::cli {
namespace {

constexpr std::string_view kNone = "none", kJson = "json", kDefault = "default";

template <class T>
bool parse_number(std::string_view text, T& number) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  number = value;
  return true;
}

// A number, or "none".
template <class T>
bool set_or_none(std::string_view text, std::optional<T>& number) {
  T value = 0;
  if (text != kNone && !parse_number(text, value)) return false;
  number = text == kNone ? std::nullopt : std::optional(value);
  return true;
}

template <class T>
std::string shown_or_none(const std::optional<T>& number) {
  return number ? std::to_string(*number) : std::string(kNone);
}

// A setting that is not a parameter of the sampler chain, or is displayed differently.
struct OwnSetting {
  std::string_view name, expected;
  bool (*set)(AnswerOptions&, std::string_view);  // false: not a valid value
  std::string (*show)(const AnswerOptions&);
};

constexpr OwnSetting kOwnSettings[] = {
    {"format", "json or none",
     [](AnswerOptions& options, std::string_view text) {
       options.form = text == kJson ? std::optional(json_form()) : std::nullopt;
       return text == kJson || text == kNone;
     },
     [](const AnswerOptions& options) {
       if (!options.form) return std::string(kNone);
       if (options.form == json_form()) return std::string(kJson);
       return std::string(options.form->kind == AnswerForm::Kind::kSchema ? "schema" : "grammar");
     }},
    {"seed", "a number", [](AnswerOptions& options, std::string_view text) { return set_or_none(text, options.seed); },
     [](const AnswerOptions& options) { return shown_or_none(options.seed); }},
    {"max_tokens", "a number",
     [](AnswerOptions& options, std::string_view text) { return set_or_none(text, options.max_tokens); },
     [](const AnswerOptions& options) { return shown_or_none(options.max_tokens); }},
    {"reasoning_budget", "a number",
     [](AnswerOptions& options, std::string_view text) {
       const bool is_set = set_or_none(text, options.reasoning.budget);
       return is_set && options.reasoning.budget.value_or(0) >= 0;
     },
     [](const AnswerOptions& options) { return shown_or_none(options.reasoning.budget); }},
    {"reasoning_effort", "a level",
     [](AnswerOptions& options, std::string_view text) {
       options.reasoning.effort = text == kDefault ? std::nullopt : std::optional(std::string(text));
       options.reasoning.enabled.reset();
       return !text.empty();
     },
     [](const AnswerOptions& options) {
       if (options.reasoning.enabled == false) return std::string(kNone);
       return options.reasoning.effort.value_or(std::string(kDefault));
     }},
};

const OwnSetting* find_own(std::string_view name) {
  const auto* found = std::ranges::find(kOwnSettings, name, &OwnSetting::name);
  return found == std::end(kOwnSettings) ? nullptr : found;
}

// Ollama's names. A name without a value uses the typed one.
struct OtherWord {
  std::string_view word, name;
  std::optional<std::string_view> value;
};

constexpr OtherWord kOtherWords[] = {
    {"num_predict", "max_tokens", std::nullopt},
    {"noformat", "format", kNone},
    {"nothink", "reasoning_effort", kNone},
    {"think", "reasoning_effort", std::nullopt},
};

}  // namespace

std::vector<std::string> setting_names() {
  std::vector<std::string> names;
  for (const SamplingParameter& parameter : kSamplingParameters) {
    if (find_own(parameter.name) == nullptr) names.emplace_back(parameter.name);
  }
  for (const OwnSetting& setting : kOwnSettings) names.emplace_back(setting.name);
  return names;
}

std::optional<std::pair<std::string, std::string>> translated_setting(std::string_view word, const std::string& value) {
  const auto* other = std::ranges::find(kOtherWords, word, &OtherWord::word);
  if (other == std::end(kOtherWords)) return std::nullopt;
  const std::string typed = word == "think" && value.empty() ? std::string(kDefault) : value;
  return std::pair(std::string(other->name), other->value ? std::string(*other->value) : typed);
}

std::string settings_text(const AnswerOptions& options) {
  std::ostringstream text;
  for (const SamplingParameter& parameter : kSamplingParameters) {
    if (find_own(parameter.name) != nullptr) continue;
    text << parameter.name << ' ';
    visit_parameter(parameter, options.sampling, [&text](auto value) { text << value; });
    text << '\n';
  }
  for (const OwnSetting& setting : kOwnSettings) text << setting.name << ' ' << setting.show(options) << '\n';
  return text.str();
}

Status change_setting(AnswerOptions& options, const std::string& name, const std::string& value) {
  const OwnSetting* own = find_own(name);
  const SamplingParameter* parameter = find_sampling_parameter(name);
  if (name == "num_ctx") return invalid_argument("num_ctx: the context is set when the chat begins, by --ctx", name);
  if (own == nullptr && parameter == nullptr) {
    return invalid_argument("there is no setting '" + name + "'; /set shows them", name);
  }
  AnswerOptions changed = options;
  const bool is_set = own != nullptr ? own->set(changed, value)
                                     : visit_parameter(*parameter, changed.sampling,
                                                       [&](auto& member) { return parse_number(value, member); });
  if (!is_set) {
    return invalid_argument(
        fmt::format("{}: expected {}, actual '{}'", name, own != nullptr ? own->expected : "a number", value), name);
  }
  // The biases were checked against the vocabulary at the start of the chat, and cannot be set here.
  SamplingParams checked = changed.sampling;
  checked.logit_bias.clear();
  RZ_CHECK_OK(validate(checked, 0));
  options = std::move(changed);
  return {};
}

}  // namespace realizar::cli
