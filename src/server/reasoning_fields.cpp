#include "server/reasoning_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/printable.h"
#include "base/try.h"

namespace realizar::server {
namespace {

struct Effort {
  std::string_view name;
  std::string_view nearest;  // of the three that every template with efforts knows
  int64_t budget;            // of a template that knows none; -1: no bound
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

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

const Effort* find_effort(std::string_view name) {
  const auto found = std::ranges::find(kEfforts, name, &Effort::name);
  return found == kEfforts.end() ? nullptr : &*found;
}

// What the request itself says.
struct Asked {
  std::optional<bool> enabled;
  std::optional<std::string> effort;
  std::optional<int64_t> budget;  // -1: no bound
};

Status read_thinking(Fields& body, Asked& asked) {
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

Result<Asked> read_asked(Fields& body, const Json* kwargs) {
  Asked asked;
  RZ_CHECK_OK(read_thinking(body, asked));
  for (const char* name : {"thinking_budget_tokens", "reasoning_budget", "reasoning_budget_tokens",
                           "thinking_token_budget", "thinking_budget"}) {
    if (const auto budget = body.integer(name, -1, INT32_MAX)) asked.budget = budget;
  }
  if (const auto enabled = body.boolean("enable_thinking")) asked.enabled = enabled;
  const Json own = kwargs != nullptr ? kwargs->value("enable_thinking", Json()) : Json();
  if (own.is_boolean()) asked.enabled = own.get<bool>();
  asked.effort = body.text("reasoning_effort");
  if (asked.effort && !asked.enabled && find_effort(*asked.effort) != nullptr) asked.enabled = *asked.effort != "none";
  if (asked.budget == 0) asked.enabled = false;
  if (!body.status().ok()) return body.status().error();
  return asked;
}

// The effort as the template's own source spells it, else the nearest that all spell.
std::string effort_for(const std::string& effort, std::string_view template_source) {
  const Effort* known = find_effort(effort);
  const bool is_spelled =
      contains(template_source, "'" + effort + "'") || contains(template_source, "\"" + effort + "\"");
  return known == nullptr || is_spelled ? effort : std::string(known->nearest);
}

}  // namespace

Result<ReasoningWish> read_reasoning(Fields& body, const Json* kwargs, std::string_view template_source) {
  RZ_TRY(const Asked asked, read_asked(body, kwargs));
  const bool knows_efforts = contains(template_source, "reasoning_effort");
  const bool has_switch =
      contains(template_source, "enable_thinking") || contains(template_source, "thinking is defined");
  ReasoningWish wish;
  int64_t budget = asked.budget.value_or(-1);
  if (asked.enabled) {
    wish.variables["enable_thinking"] = *asked.enabled;
    wish.variables["thinking"] = *asked.enabled;
    if (!*asked.enabled) budget = has_switch ? -1 : 0;
  }
  if (asked.effort) {
    const Effort* effort = find_effort(*asked.effort);
    if (effort == nullptr && !knows_efforts) {
      return wrong("reasoning_effort",
                   "expected none, minimal, low, medium, high, xhigh or max, actual " + shown(*asked.effort));
    }
    wish.variables["reasoning_effort"] = effort_for(*asked.effort, template_source);
    if (!knows_efforts && !asked.budget && asked.enabled.value_or(true)) budget = effort->budget;
  }
  if (budget < 0) return wish;
  wish.budget = static_cast<uint32_t>(budget);
  wish.variables["thinking_budget"] = budget;
  return wish;
}

}  // namespace realizar::server
