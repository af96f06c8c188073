// From a body of Ollama's /api/chat and /api/generate to one of a chat completion, so that both give the same tokens.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "sampling/parameters.h"
#include "server/call/logprobs.h"
#include "server/call/tenant.h"
#include "server/dialects/ollama/ollama.h"
#include "text/output/output_format.h"

namespace realizar::server {
namespace {

constexpr double kMaxKeepAliveMs = 1e12;  // some thirty years

struct DurationUnit {
  std::string_view name;
  double ms;
};
// Longer names stand before those that they begin with.
constexpr DurationUnit kDurationUnits[] = {{"ns", 1e-6}, {"us", 1e-3}, {"µs", 1e-3}, {"ms", 1},
                                           {"s", 1e3},   {"m", 6e4},   {"h", 3.6e6}};

// Go's durations: signed sums of numbers with units, "1h30m". A number alone counts seconds.
std::optional<double> duration_ms(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  double total_ms = 0;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || number < 0 || !std::isfinite(number)) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const auto* unit = std::ranges::find_if(kDurationUnits, [&](const auto& u) { return text.starts_with(u.name); });
    const bool is_bare = text.empty() && total_ms == 0;
    if (unit == std::end(kDurationUnits) && !is_bare) return std::nullopt;
    total_ms += number * (is_bare ? 1e3 : unit->ms);
    if (!is_bare) text.remove_prefix(unit->name.size());
  }
  return is_negative ? -total_ms : total_ms;
}

KeepAlive keep_alive_of(double ms) {
  if (ms < 0 || ms > kMaxKeepAliveMs) return {};
  return {std::chrono::milliseconds(static_cast<int64_t>(ms))};
}

// A random seed is one that nobody names; a limit below 1 is none.
void read_seed_and_limit(Fields& options, Json& chat) {
  if (const auto seed = options.seed("seed"); seed && !is_minus_one(*options.any("seed"))) chat["seed"] = *seed;
  if (const auto n_predict = options.integer("num_predict", INT32_MIN, INT32_MAX)) {
    chat["max_tokens"] = *n_predict < 1 ? -1 : *n_predict;
  }
}

// Every parameter of the sampler chain under its name, or under that of other clients.
void read_sampling_options(Fields& options, Json& chat) {
  for (const SamplingParameter& parameter : kSamplingParameters) {
    if (parameter.name == "seed") continue;
    for (const std::string_view name : {parameter.other_field, parameter.name}) {
      if (name.empty()) continue;
      const std::string field(name);
      const bool is_real = std::holds_alternative<float SamplingParams::*>(parameter.member);
      if (is_real) {
        if (const auto value = options.number(field.c_str())) chat[field] = *value;
      } else if (const auto value = options.integer(field.c_str(), INT32_MIN, INT32_MAX)) {
        chat[field] = *value;
      }
    }
  }
}

void read_options(Fields& options, OllamaRequest& request) {
  read_seed_and_limit(options, request.chat);
  read_sampling_options(options, request.chat);
  if (const Json* stop = options.any("stop")) request.chat["stop"] = *stop;
  const auto n_ctx = options.integer("num_ctx", INT32_MIN, INT32_MAX);
  request.max_context = static_cast<uint32_t>(std::max<int64_t>(n_ctx.value_or(0), 0));
  // -1: all of the prompt.
  const auto n_keep = options.integer("num_keep", -1, INT32_MAX);
  if (n_keep) request.n_keep = *n_keep < 0 ? UINT32_MAX : static_cast<uint32_t>(*n_keep);
}

void read_format(Fields& body, Json& chat) {
  const Json* format = body.any("format");
  if (format == nullptr || is_empty_text(*format)) return;
  if (*format == "json") {
    chat["response_format"] = {{"type", "json_object"}};
  } else if (format->is_object()) {
    chat["response_format"] = {{"type", "json_schema"}, {"json_schema", {{"name", "format"}, {"schema", *format}}}};
  } else {
    body.fail("format", "expected \"json\" or a JSON Schema");
  }
}

// A level says how long; templates know none above "high".
Status read_think(Fields& body, const ServedModel& model, OllamaRequest& request) {
  const Json* think = body.any("think");
  if (think == nullptr || is_empty_text(*think)) return {};
  const bool is_level = *think == "low" || *think == "medium" || *think == "high" || *think == "max";
  if (!think->is_boolean() && !is_level) {
    return invalid_argument("think: expected a boolean, \"low\", \"medium\", \"high\" or \"max\"", "think");
  }
  const bool is_on = is_level || think->get<bool>();
  if (is_on && !text::marks_reasoning(model.output_format)) {
    return invalid_argument(fmt::format("\"{}\" does not support thinking", shown(request.model)), "think");
  }
  request.chat["chat_template_kwargs"] = {{"enable_thinking", is_on}};
  if (is_level) request.chat["reasoning_effort"] = *think == "max" ? Json("high") : *think;
  return {};
}

void read_ollama_logprobs(Fields& body, Json& chat) {
  const auto logprobs = body.boolean("logprobs");
  const auto n_top = body.integer("top_logprobs", INT32_MIN, INT32_MAX);
  if (n_top && (*n_top < 0 || *n_top > kMaxTopLogprobs)) body.fail("top_logprobs", "must be between 0 and 20");
  chat["logprobs"] = logprobs.value_or(false);
  if (n_top && logprobs.value_or(false)) chat["top_logprobs"] = *n_top;
}

// Those of a stored model's parameters that loading it does not take.
Result<Json> stored_options(const ServedModel& model) {
  Json options = Json::object();
  if (model.texts == nullptr || model.texts->parameters.empty()) return options;
  RZ_TRY(const Json parameters, parse_json(model.texts->parameters));
  if (!parameters.is_object()) return options;
  for (const char* name : {"num_predict", "num_keep", "seed"}) {
    const Json value = parameters.value(name, Json());
    if (value.is_number_integer()) options[name] = value;
  }
  return options;
}

// The request's own stand before those of the made model, which stand before the stored one's.
Result<Json> options_of(Fields& body, const MadeModelPtr& made, const ServedModel& model) {
  RZ_TRY(Json options, stored_options(model));
  if (made != nullptr) {
    RZ_TRY(const Json own, parse_json(made->parameters));
    options.update(own);
  }
  if (const Json* own = body.object("options")) {
    for (const auto& [name, value] : own->items()) {
      if (!value.is_null()) options[name] = value;
    }
  }
  return options;
}

}  // namespace

std::optional<KeepAlive> read_keep_alive(Fields& body) {
  const Json* wish = body.any("keep_alive");
  if (wish == nullptr || is_empty_text(*wish)) return std::nullopt;
  std::optional<double> ms;
  if (wish->is_number()) ms = wish->get<double>() * 1e3;
  if (wish->is_string()) ms = duration_ms(wish->get_ref<const std::string&>());
  if (ms) return keep_alive_of(*ms);
  body.fail("keep_alive", "expected seconds, or a duration such as \"5m\"");
  return std::nullopt;
}

Result<OllamaRequest> read_ollama_request(Fields& body, const ServedModel& model, const RequestContext& context) {
  OllamaRequest request;
  request.model = body.text("model").value_or("");
  if (request.model.empty()) return invalid_argument("model is required", "model");
  request.made = context.made->find(tenant_of(context.key), request.model);
  request.chat = Json::object();
  request.stream = body.boolean("stream").value_or(true);
  request.truncates = body.boolean("truncate").value_or(true);
  request.renders_only = body.boolean("_debug_render_only").value_or(false);
  request.shifts = body.boolean("shift").value_or(false);
  request.keep_alive = read_keep_alive(body);
  if (!context.may_set_keep_alive) request.keep_alive.reset();
  RZ_TRY(const Json given, options_of(body, request.made, model));
  Fields options(given, "options.");
  read_options(options, request);
  if (!options.status().ok()) return options.status().error();
  read_format(body, request.chat);
  read_ollama_logprobs(body, request.chat);
  if (!body.status().ok()) return body.status().error();
  RZ_CHECK_OK(read_think(body, model, request));
  return request;
}

}  // namespace realizar::server
