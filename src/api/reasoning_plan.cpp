#include "api/reasoning_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "api/language_model.h"
#include "api/reasoning_budget.h"
#include "base/printable.h"
#include "base/try.h"
#include "text/answer.h"

namespace realizar {
namespace {

struct Effort {
  std::string_view name;
  std::string_view nearest;  // one of the three that every template with efforts supports
  int64_t budget;            // for a template that supports none; -1: unlimited
};

constexpr std::array<Effort, 7> kEfforts = {{
    {"none", "low", 0},
    {"minimal", "low", 512},
    {"low", "low", 1024},
    {"medium", "medium", 8192},
    {"high", "high", 24576},
    {"xhigh", "high", -1},
    {"max", "high", -1},
}};

bool has_word(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

const Effort* find_effort(std::string_view name) {
  const auto found = std::ranges::find(kEfforts, name, &Effort::name);
  return found == kEfforts.end() ? nullptr : &*found;
}

// The effort if the template's source mentions it, else the nearest that all templates support.
std::string effort_for(const std::string& effort, std::string_view template_source) {
  const Effort* known = find_effort(effort);
  const bool is_spelled =
      has_word(template_source, "'" + effort + "'") || has_word(template_source, "\"" + effort + "\"");
  return known == nullptr || is_spelled ? effort : std::string(known->nearest);
}

// Whether the model is to think, if the options decide it directly or indirectly.
std::optional<bool> is_enabled(const ReasoningOptions& options) {
  if (options.budget == 0) return false;
  const bool has_known_effort = options.effort && find_effort(*options.effort) != nullptr;
  if (!options.enabled && has_known_effort) return *options.effort != "none";
  return options.enabled;
}

}  // namespace

Result<ReasoningWish> reasoning_wish(const ReasoningOptions& options, std::string_view template_source) {
  if (options.budget && (*options.budget < -1 || *options.budget > INT32_MAX)) {
    return invalid_argument(fmt::format("reasoning_budget: expected tokens, or -1, actual {}", *options.budget),
                            "reasoning_budget");
  }
  const bool knows_efforts = has_word(template_source, "reasoning_effort");
  const bool has_switch =
      has_word(template_source, "enable_thinking") || has_word(template_source, "thinking is defined");
  const std::optional<bool> enabled = is_enabled(options);
  ReasoningWish wish;
  int64_t budget = options.budget.value_or(-1);
  if (enabled) {
    wish.variables["enable_thinking"] = *enabled;
    wish.variables["thinking"] = *enabled;
    if (!*enabled) budget = has_switch ? -1 : 0;
  }
  if (options.effort) {
    const Effort* effort = find_effort(*options.effort);
    if (effort == nullptr && !knows_efforts) {
      return invalid_argument(
          fmt::format("reasoning_effort: expected none, minimal, low, medium, high, xhigh or max, actual {}",
                      shown(*options.effort)),
          "reasoning_effort");
    }
    wish.variables["reasoning_effort"] = effort_for(*options.effort, template_source);
    if (!knows_efforts && !options.budget && enabled.value_or(true)) budget = effort->budget;
  }
  if (budget < 0) return wish;
  wish.budget = static_cast<uint32_t>(budget);
  wish.variables["thinking_budget"] = budget;
  return wish;
}

Result<ReasoningPlan> plan_reasoning(const LanguageModel& model, const ReasoningOptions& options) {
  const LoadedModel& loaded = *LanguageModel::Impl::of(model).loaded;
  RZ_TRY(const ReasoningWish wish, reasoning_wish(options, loaded.output_source));
  return ReasoningPlan{wish.variables.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), wish.budget};
}

Result<std::shared_ptr<TokenConstraint>> reasoning_constraint(const LanguageModel& model, uint32_t budget,
                                                              std::span<const TokenId> prompt,
                                                              std::shared_ptr<TokenConstraint> inner) {
  const LoadedModel& loaded = *LanguageModel::Impl::of(model).loaded;
  RZ_CHECK_OK(loaded.require_tokenizer());
  text::AnswerOptions parts;
  text::detect_parts(parts, *loaded.tokenizer, loaded.output_format, prompt);
  return with_reasoning_budget(std::move(inner), *parts.format, *loaded.tokenizer, {budget, parts.starts_in_reasoning});
}

}  // namespace realizar
