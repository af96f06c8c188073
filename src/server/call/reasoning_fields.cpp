#include "server/call/reasoning_fields.h"

#include "base/printable.h"

namespace realizar::server {
namespace {

Status read_thinking(Fields& fields, ReasoningOptions& into) {
  const auto type = fields.text("type");
  const bool is_known = !type || *type == "enabled" || *type == "adaptive" || *type == "disabled";
  if (!is_known) fields.fail("type", "expected enabled, adaptive or disabled, actual " + shown(*type));
  if (type) into.enabled = *type != "disabled";
  const auto budget = fields.integer("budget_tokens", 0, INT32_MAX);
  if (budget && into.enabled.value_or(true)) into.budget = budget;
  return {};
}

Status read_effort_name(Fields& body, const char* name, ReasoningOptions& into) {
  if (!into.effort) into.effort = body.text(name);
  return body.status();
}

constexpr auto take_budget = take_whole<-1, INT32_MAX, &ReasoningOptions::budget>;

constexpr Field<ReasoningOptions> kReasoningFields[] = {
    {"thinking", of_object<read_thinking>},
    {"thinking_budget_tokens", take_budget},
    {"reasoning_budget", take_budget},
    {"reasoning_budget_tokens", take_budget},
    {"thinking_token_budget", take_budget},
    {"thinking_budget", take_budget},
    {"enable_thinking", take_flag<&ReasoningOptions::enabled>},
    {"reasoning_effort", read_effort_name},
};

}  // namespace

Status read_reasoning(Fields& body, ReasoningOptions& into) {
  return read_fields(kReasoningFields, body, into);
}

KnownFields reasoning_fields() {
  return known_in(kReasoningFields);
}

ReasoningOptions with_defaults(ReasoningOptions asked, const RequestDefaults& defaults) {
  if (asked.asks_nothing()) asked.enabled = defaults.reasoning;
  const bool may_be_bounded = !asked.budget && !asked.effort && asked.enabled.value_or(true);
  if (may_be_bounded && defaults.reasoning_budget) asked.budget = *defaults.reasoning_budget;
  return asked;
}

}  // namespace realizar::server
