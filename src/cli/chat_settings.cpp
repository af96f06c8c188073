#include "cli/chat_settings.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <sstream>
#include <vector>

#include "sampling/sampler.h"

namespace realizar::cli {
namespace {

constexpr const char* kNoLimit = "none";

struct Setting {
  const char* name;
  std::function<bool(AnswerOptions&, std::string_view)> set;  // false: that is no such number
  std::function<void(const AnswerOptions&, std::ostream&)> show;
};

template <class T>
bool parse_number(std::string_view text, T& number) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  number = value;
  return true;
}

template <class T>
Setting sampling_setting(const char* name, T SamplingParams::*member) {
  return {name,
          [=](AnswerOptions& options, std::string_view value) { return parse_number(value, options.sampling.*member); },
          [=](const AnswerOptions& options, std::ostream& out) { out << options.sampling.*member; }};
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

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = {
      sampling_setting("temperature", &SamplingParams::temperature),
      sampling_setting("top_k", &SamplingParams::top_k),
      sampling_setting("typical_p", &SamplingParams::typical_p),
      sampling_setting("top_p", &SamplingParams::top_p),
      sampling_setting("min_p", &SamplingParams::min_p),
      sampling_setting("repeat_penalty", &SamplingParams::repeat_penalty),
      sampling_setting("repeat_last_n", &SamplingParams::repeat_last_n),
      sampling_setting("frequency_penalty", &SamplingParams::frequency_penalty),
      sampling_setting("presence_penalty", &SamplingParams::presence_penalty),
      sampling_setting("seed", &SamplingParams::seed),
      {"max_tokens", set_max_tokens, show_max_tokens},
  };
  return all;
}

}  // namespace

std::string settings_text(const AnswerOptions& options) {
  std::ostringstream text;
  for (const Setting& setting : settings()) {
    text << setting.name << ' ';
    setting.show(options, text);
    text << '\n';
  }
  return text.str();
}

Status change_setting(AnswerOptions& options, const std::string& name, const std::string& value) {
  for (const Setting& setting : settings()) {
    if (setting.name != name) continue;
    AnswerOptions changed = options;
    if (!setting.set(changed, value)) {
      return invalid_argument(fmt::format("{}: expected a number, actual '{}'", name, value), name);
    }
    // The biases were checked against the vocabulary when the chat began, and cannot be set here.
    SamplingParams checked = changed.sampling;
    checked.logit_bias.clear();
    RZ_CHECK_OK(validate(checked, 0));
    options = std::move(changed);
    return {};
  }
  return invalid_argument("there is no setting '" + name + "'; /set shows them", name);
}

}  // namespace realizar::cli
