#include "cli/serving_defaults.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/loaded_model.h"
#include "base/try.h"
#include "server/http/json.h"
#include "text/named_templates.h"

namespace realizar::cli {
namespace {

Result<std::optional<uint32_t>> bound_of(const char* flag, const std::optional<int32_t>& given) {
  if (!given || *given == -1) return std::optional<uint32_t>();
  if (*given < 0) return invalid_argument(fmt::format("{} {}: expected 0 or more, or -1 for no bound", flag, *given));
  return std::optional(static_cast<uint32_t>(*given));
}

// The template with that name; other text is the template itself.
Result<std::string> template_source(const std::string& given, const std::string& file) {
  if (!given.empty() && !file.empty()) {
    return invalid_argument("--chat-template and --chat-template-file say the same: give one");
  }
  if (!file.empty()) return read_text(file);
  if (const auto named = text::find_named_template(given)) return std::string(*named);
  const bool is_name = given.find_first_of(" {\n") == std::string::npos;
  if (!given.empty() && is_name) {
    return invalid_argument(
        fmt::format("--chat-template {}: expected a template, or one of {}", given, text::template_names()));
  }
  return given;
}

Result<std::string> variables_of(const std::string& text) {
  if (text.empty()) return std::string("{}");
  const auto json = server::parse_json(text);
  const bool is_plain = json.ok() && json->is_object() && !json->contains("messages") && !json->contains("tools");
  if (is_plain) return text;
  return invalid_argument("--chat-template-kwargs: expected a JSON object, without messages and tools");
}

}  // namespace

void ServingDefaults::add_to(Flags flags) {
  flags = flags.group("Defaults of requests").advanced();
  flags.option("-n,--max-tokens", max_tokens_,
               "Generate at most N tokens for any request, and N where it names no number; -1: no bound",
               {.range = {-1, INT32_MAX}});
  flags.flag(
      "--context-shift", context_shift_,
      "Let an answer whose context is full go on without its oldest tokens, as long as the model was trained for");
  flags.flag("--verbose-answers", verbose_,
             "Tell the rendered prompt and the settings in answers of chats, as `__verbose`");
  flags.option("--chat-template", template_,
               "Chat template in place of the model's: Jinja, or the name of a usual one (chatml, llama3, ...)",
               {.shown_as = "TEMPLATE"});
  flags.option("--chat-template-file", template_file_, "The same from a file", {.takes = kFile});
  flags.option("--chat-template-kwargs", template_variables_, "Variables of the chat template, as a JSON object",
               {.shown_as = "JSON"});
  flags.option("--reasoning", reasoning_,
               "on: models think before they answer; off: they do not; auto: as the template has it",
               {.one_of = {"auto", "on", "off"}, .has_default = true});
  flags.option("--reasoning-budget", reasoning_budget_, "Let a model think for at most N tokens; -1: no bound",
               {.range = {-1, INT32_MAX}});
  flags.option("--reasoning-format", reasoning_format_,
               "auto and deepseek: reasoning is a separate field; none: it stays in the answer as written by the model",
               {.one_of = {"auto", "deepseek", "deepseek-legacy", "none"}, .has_default = true});
  flags.option("--pooling", pooling_,
               "Make vectors from the mean of all hidden states, from the last or the first one (cls), or one for each "
               "token (none); default: the model's own",
               {.one_of = {"mean", "last", "cls", "none"}});
  sampling_.add_to(flags);
}

namespace {

std::optional<Pooling> pooling_of(const std::string& name) {
  if (name == "mean") return Pooling::kMean;
  if (name == "last") return Pooling::kLast;
  if (name == "cls") return Pooling::kFirst;
  return name == "none" ? std::optional(Pooling::kAll) : std::nullopt;
}

}  // namespace

Status ServingDefaults::put_into(server::ServerOptions& options) const {
  if (const std::string complaint = sampling_.complaint(); !complaint.empty()) return invalid_argument(complaint);
  server::RequestDefaults& defaults = options.defaults;
  defaults.seed = sampling_.seed();
  RZ_TRY(defaults.max_tokens, bound_of("--max-tokens", max_tokens_));
  RZ_TRY(defaults.reasoning_budget, bound_of("--reasoning-budget", reasoning_budget_));
  if (reasoning_ != "auto") defaults.reasoning = reasoning_ == "on";
  defaults.context_shift = context_shift_;
  defaults.verbose = verbose_;
  defaults.pooling = pooling_of(pooling_);
  defaults.reasoning_in_content = reasoning_format_ == "none";
  RZ_TRY(defaults.template_variables, variables_of(template_variables_));
  RZ_TRY(const std::string source, template_source(template_, template_file_));
  if (!source.empty()) {
    const auto parsed = text::ChatTemplate::parse(source);
    if (!parsed.ok()) return parsed.error();
  }
  options.adapt = [source, sampling = sampling_](LoadedModel& model) -> Status {
    SamplingParams& params = model.generation_config.sampling;
    RZ_CHECK_OK(sampling.put_over(params));
    if (const auto texts = sampling.breakers(); texts && model.breakers != nullptr) {
      RZ_TRY(params.dry_breakers, model.breakers->of(*texts));
    }
    return source.empty() ? Status() : model.use_template(source);
  };
  return {};
}

}  // namespace realizar::cli
