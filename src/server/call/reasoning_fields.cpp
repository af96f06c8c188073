#include "server/call/reasoning_fields.h"

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/try.h"

namespace realizar::server {
namespace {

Status read_thinking(Fields& body, ReasoningOptions& asked) {
  const Json* thinking = body.object("thinking");
  if (thinking == nullptr) return body.status();
  Fields fields(*thinking, "thinking.");
  const auto type = fields.text("type");
  const bool is_known = !type || *type == "enabled" || *type == "adaptive" || *type == "disabled";
  if (!is_known) fields.fail("type", "expected enabled, adaptive or disabled, actual " + shown(*type));
  if (type) asked.enabled = *type != "disabled";
  const auto budget = fields.integer("budget_tokens", 0, INT32_MAX);
  if (budget && asked.enabled.value_or(true)) asked.budget = budget;
  return fields.status();
}

void take_defaults(const RequestDefaults& defaults, ReasoningOptions& asked) {
  if (asked.asks_nothing()) asked.enabled = defaults.reasoning;
  const bool may_be_bounded = !asked.budget && !asked.effort && asked.enabled.value_or(true);
  if (may_be_bounded && defaults.reasoning_budget) asked.budget = *defaults.reasoning_budget;
}

}  // namespace

Result<ReasoningWish> read_reasoning(Fields& body, const Json* kwargs, std::string_view template_source,
                                     const RequestDefaults& defaults) {
  ReasoningOptions asked;
  RZ_CHECK_OK(read_thinking(body, asked));
  for (const char* name : {"thinking_budget_tokens", "reasoning_budget", "reasoning_budget_tokens",
                           "thinking_token_budget", "thinking_budget"}) {
    if (const auto budget = body.integer(name, -1, INT32_MAX)) asked.budget = budget;
  }
  if (const auto enabled = body.boolean("enable_thinking")) asked.enabled = enabled;
  const Json own = kwargs != nullptr ? kwargs->value("enable_thinking", Json()) : Json();
  if (own.is_boolean()) asked.enabled = own.get<bool>();
  asked.effort = body.text("reasoning_effort");
  if (!body.status().ok()) return body.status().error();
  take_defaults(defaults, asked);
  return reasoning_wish(asked, template_source);
}

}  // namespace realizar::server
