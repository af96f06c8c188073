#include "server/dialects/ollama/ollama_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "sampling/parameters.h"
#include "server/call/logprobs.h"
#include "server/call/request_context.h"
#include "server/models/stored_messages.h"
#include "text/output/output_format.h"

namespace realizar::server {
namespace {

constexpr double kMaxKeepAliveMs = 1e12;  // some thirty years

struct DurationUnit {
  std::string_view name;
  double ms;
};
// Longer names come before their prefixes.
constexpr DurationUnit kDurationUnits[] = {{"ns", 1e-6}, {"us", 1e-3}, {"µs", 1e-3}, {"ms", 1},
                                           {"s", 1e3},   {"m", 6e4},   {"h", 3.6e6}};

// Go durations: signed sums of numbers with units, "1h30m". A plain number is in seconds.
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

// A limit below 1 means none.
Status read_num_predict(Fields& options, const char* name, OllamaRequest& into) {
  const auto most = options.integer(name, INT32_MIN, INT32_MAX);
  if (!most) return options.status();
  into.generation.has_limit = true;
  into.generation.request.max_tokens = *most < 1 ? std::nullopt : std::optional(static_cast<uint32_t>(*most));
  return {};
}

// The context that the client wants, limited to the model's.
Status read_num_ctx(Fields& options, const char* name, OllamaRequest& into) {
  const auto n_ctx = options.integer(name, INT32_MIN, INT32_MAX);
  into.max_context = static_cast<uint32_t>(std::max<int64_t>(n_ctx.value_or(0), 0));
  return options.status();
}

constexpr Field<OllamaRequest> kOptions[] = {
    {"num_predict", read_num_predict},
    {"stop", by<read_stop>},
    {"num_ctx", read_num_ctx},
    // -1 means the whole prompt, like the largest number.
    {"num_keep", take_whole<-1, INT32_MAX, &OllamaRequest::n_keep>},
};

// Stored parameters that apply to requests, not to loading.
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

// Options of the request override those of the model alias, which override the stored ones.
Result<Json> options_of(Fields& body, const ModelAliasPtr& made, const ServedModel& model) {
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

Status read_format(Fields& body, const char* name, OllamaRequest& into) {
  const Json& format = *body.any(name);
  if (is_empty_text(format)) return {};
  const bool is_any_object = format == "json";
  if (!is_any_object && !format.is_object()) return body.wrong(name, "expected \"json\" or a JSON Schema");
  into.chat.form = {AnswerForm::Kind::kSchema, is_any_object ? R"({"type":"object"})" : dump(format), name};
  return {};
}

// A level sets the length; templates support none above "high".
Status read_think(Fields& body, const char* name, OllamaRequest& into) {
  const Json& think = *body.any(name);
  if (is_empty_text(think)) return {};
  const bool is_level = think == "low" || think == "medium" || think == "high" || think == "max";
  if (!think.is_boolean() && !is_level) {
    return body.wrong(name, "expected a boolean, \"low\", \"medium\", \"high\" or \"max\"");
  }
  const bool is_on = is_level || think.get<bool>();
  if (is_on && !text::marks_reasoning(into.model.output_format)) {
    return invalid_argument(fmt::format("\"{}\" does not support thinking", shown(into.model_name)), name);
  }
  into.chat.template_variables["enable_thinking"] = is_on;
  into.chat.reasoning.enabled = is_on;
  if (is_level) into.chat.reasoning.effort = think == "max" ? "high" : think.get<std::string>();
  return {};
}

Status read_top_logprobs(Fields& body, const char* name, OllamaRequest& into) {
  const auto n_top = body.integer(name, INT32_MIN, INT32_MAX);
  if (!n_top) return body.status();
  if (*n_top < 0 || *n_top > kMaxTopLogprobs) return body.wrong(name, "must be between 0 and 20");
  Request& request = into.generation.request;
  if (request.logprobs) request.n_logprobs = static_cast<uint32_t>(*n_top);
  return {};
}

Status read_keep_alive_field(Fields& body, const char*, OllamaRequest& into) {
  into.keep_alive = read_keep_alive(body);
  if (!into.context.may_set_keep_alive) into.keep_alive.reset();
  return body.status();
}

constexpr auto kOllamaGeneration = &OllamaRequest::generation;

constexpr Field<OllamaRequest> kOllamaFields[] = {
    {"model", take_string<&OllamaRequest::model_name>},
    {"stream", take_flag<kOllamaGeneration, &GenerationFields::stream>},
    {"truncate", take_flag<&OllamaRequest::truncates>},
    {"_debug_render_only", take_flag<&OllamaRequest::renders_only>},
    {"shift", take_flag<&OllamaRequest::shifts>},
    {"keep_alive", read_keep_alive_field},
    {"options", apart},
    {"format", read_format},
    {"logprobs", take_flag<kOllamaGeneration, &GenerationFields::request, &Request::logprobs>},
    {"top_logprobs", read_top_logprobs},
    {"think", read_think},
};

// A random seed is one that is not set.
Status read_options(Fields& body, OllamaRequest& into) {
  RZ_TRY(const Json given, options_of(body, into.made, into.model));
  if (!body.status().ok()) return body.status();
  Fields options(given, "options.");
  RZ_CHECK_OK(read_sampling(options, into));
  const Json* seed = options.any("seed");
  if (seed != nullptr && is_minus_one(*seed)) into.generation.request.sampling.seed = into.unnamed_seed;
  return read_fields(kOptions, options, into);
}

bool is_system(const ChatMessage& message) {
  return message.role == Role::kSystem;
}

Result<ChatMessage> read_ollama_message(Json message, const std::string& where) {
  if (!message.is_object()) return wrong(where, "expected an object");
  const Json role = message.value("role", Json());
  const Status has_text_alone = refuse_images(message, where + ".");
  if (!has_text_alone.ok() && role != "tool") return has_text_alone.error();
  message.erase("images");
  if (message.value("content", Json()).is_null()) message["content"] = "";
  // A role of Granite's templates, which controls thinking and the length of answers.
  const bool is_control = role == "control";
  if (is_control) message["role"] = "user";
  const Json tool_name = message.value("tool_name", Json());
  message.erase("tool_name");
  RZ_TRY(ChatMessage read, read_chat_message(std::move(message), where));
  if (tool_name.is_string()) read.name = tool_name.get<std::string>();
  if (is_control) read.role = Role::kOther;
  if (is_control) read.more["role"] = role;
  if (!has_text_alone.ok()) read.content += (read.content.empty() ? "" : "\n") + note_of_part("image");
  return read;
}

}  // namespace

OllamaRequest::OllamaRequest(const ServedModel& served, const RequestContext& asked) : ChatReading(served, asked) {
  generation.stream = true;
}

std::optional<KeepAlive> read_keep_alive(Fields& body) {
  const Json* wish = body.any("keep_alive");
  if (wish == nullptr || is_empty_text(*wish)) return std::nullopt;
  std::optional<double> ms;
  if (wish->is_number()) ms = wish->get<double>() * 1e3;
  if (wish->is_string()) ms = duration_ms(wish->get_ref<const std::string&>());
  if (!ms) {
    body.fail("keep_alive", "expected seconds, or a duration such as \"5m\"");
    return std::nullopt;
  }
  if (*ms < 0 || *ms > kMaxKeepAliveMs) return KeepAlive{};
  return KeepAlive{std::chrono::milliseconds(static_cast<int64_t>(*ms))};
}

Status read_ollama_request(Fields& body, OllamaRequest& into) {
  RZ_CHECK_OK(read_fields(kOllamaFields, body, into));
  if (into.model_name.empty()) return invalid_argument("model is required", "model");
  into.made = into.context.made->find(tenant_of(into.context.key), into.model_name);
  RZ_CHECK_OK(read_options(body, into));
  return into.finish();
}

KnownFields ollama_fields() {
  return known_in(kOllamaFields);
}

Result<std::vector<ChatMessage>> read_ollama_messages(const Json& messages) {
  std::vector<ChatMessage> read;
  for (size_t i = 0; i < messages.size(); ++i) {
    RZ_TRY(read.emplace_back(), read_ollama_message(messages[i], fmt::format("messages[{}]", i)));
  }
  return read;
}

uint32_t max_ollama_context(const OllamaRequest& request) {
  const uint32_t n_ctx = request.model.loaded->info.n_ctx;
  return request.max_context == 0 ? n_ctx : std::min(n_ctx, request.max_context);
}

Status cut_ollama_prompt(const OllamaRequest& request, const char* field, std::vector<TokenId>& tokens) {
  const uint32_t n_ctx = max_ollama_context(request);
  const size_t most = std::max<uint32_t>(n_ctx, 2) - 1;
  if (tokens.size() <= most || (tokens.size() == n_ctx && !request.truncates)) return {};
  if (!request.truncates) {
    return context_length_exceeded(
        fmt::format("the prompt has {} tokens, the context {}, and truncate is false", tokens.size(), n_ctx), field,
        tokens.size(), n_ctx);
  }
  const size_t n_kept = std::min<size_t>(request.n_keep, most / 2);
  const auto kept = tokens.begin() + static_cast<std::ptrdiff_t>(n_kept);
  tokens.erase(kept, kept + static_cast<std::ptrdiff_t>(tokens.size() - most));
  return {};
}

Result<ChatPrompt> ollama_chat_prompt(const OllamaRequest& request, const text::ChatTemplate* chat_template) {
  const size_t most = std::max<uint32_t>(max_ollama_context(request), 2) - 1;
  const auto fits = [&](const Result<ChatPrompt>& prompt) { return prompt.ok() && prompt->tokens.size() <= most; };
  auto prompt = chat_prompt(request.chat, request.model, chat_template);
  const bool is_wrong = !prompt.ok() && prompt.error().code != ErrorCode::kContextLengthExceeded;
  if (is_wrong || fits(prompt) || !request.truncates) return prompt;

  std::vector<size_t> firsts(request.chat.messages.size());
  std::iota(firsts.begin(), firsts.end(), 0);
  const auto render = [&](size_t first) {
    return chat_prompt(newest_messages(request.chat, first, is_system), request.model, chat_template);
  };
  return fit_newest(firsts, render, fits);
}

}  // namespace realizar::server
