#include <fmt/format.h>

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "api/text_assets.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_flags.h"
#include "cli/user_json.h"
#include "text/chat_template.h"
#include "text/template_output.h"

namespace realizar::cli {
namespace {

struct TemplateArgs {
  std::string model, template_file, input = "-", now;
  bool explain = false;
  StoreFlags store;
};

// ISO 8601 without a zone, read as UTC: "2026-07-26" or "2026-07-26T12:00:00".
Result<int64_t> parse_time(const std::string& text) {
  if (text.empty()) return static_cast<int64_t>(std::time(nullptr));
  std::tm fields{};
  const char* end = strptime(text.c_str(), "%Y-%m-%d", &fields);
  if (end != nullptr && *end != '\0') end = strptime(end, "T%H:%M:%S", &fields);
  if (end == nullptr || (*end != '\0' && std::string_view(end) != "Z")) {
    return invalid_argument("--now " + text + ": must be a time like 2026-07-26T12:00:00", "now");
  }
  return static_cast<int64_t>(timegm(&fields));
}

Result<ChatTemplateSource> template_source(const TemplateArgs& args) {
  if (!args.template_file.empty()) {
    RZ_TRY(std::string source, read_text(args.template_file));
    return ChatTemplateSource{std::move(source), "", "", "", {}};
  }
  RZ_TRY(const FoundModel found, args.store.find(args.model));
  RZ_TRY(TextAssets assets, open_text_assets(found.path));
  if (!assets.chat_template) return not_found(args.model + " has no chat template", args.model);
  return std::move(*assets.chat_template);
}

Result<nlohmann::ordered_json> request_variables(const TemplateArgs& args, const ChatTemplateSource& source) {
  RZ_TRY(const std::string text, read_text(args.input));
  const std::string where = source_name(args.input);
  RZ_TRY(auto variables, parse_json_text(text, where));
  if (!variables.is_object()) {
    return format_error(fmt::format("{}: expected a JSON object, actual {}", where, variables.type_name()), where);
  }
  if (!variables.contains("bos_token")) variables["bos_token"] = source.bos_token;
  if (!variables.contains("eos_token")) variables["eos_token"] = source.eos_token;
  return variables;
}

Result<std::string> rendered(const TemplateArgs& args) {
  RZ_TRY(const int64_t now_unix_s, parse_time(args.now));
  RZ_TRY(const ChatTemplateSource source, template_source(args));
  RZ_TRY(const auto variables, request_variables(args, source));
  const auto tools = variables.find("tools");
  const bool has_tools = tools != variables.end() && tools->is_array() && !tools->empty();
  const std::string& chosen = source.source_for(has_tools);
  if (chosen.empty() && !has_tools && !source.tool_source.empty()) {
    return not_found(args.model + " has a chat template for requests with tools alone", args.model);
  }
  RZ_TRY(const auto chat_template, text::ChatTemplate::parse(chosen));
  RZ_TRY(const auto pieces, chat_template.render(variables, now_unix_s));
  std::string prompt;
  for (const text::PromptPiece& piece : pieces) prompt += piece.text;
  return prompt;
}

std::string use_text(const char* use, const ChatTemplateSource& source, std::string_view first,
                     std::string_view otherwise) {
  const NamedTemplate* named = find_template(source.all, first);
  const bool is_first = named != nullptr;
  if (!is_first) named = find_template(source.all, otherwise);
  if (named == nullptr) return fmt::format("{:<14}none: the model has no template for them\n", use);
  const std::string why = is_first ? "" : fmt::format("; there is no '{}'", first);
  return fmt::format("{:<14}{} ({}){}\n", use, printable(named->name), printable(named->where), why);
}

Result<std::string> traits_text(const std::string& use, const std::string& source) {
  RZ_TRY(const auto chat_template, text::ChatTemplate::parse(source));
  std::string text = fmt::format("\nWhat the template {} can take:\n", use);
  for (const auto& [name, value] : listed(chat_template.traits())) text += fmt::format("  {:<22}{}\n", name, value);
  text += "How the model writes its answers:\n";
  for (const auto& [name, value] : text::listed(chat_template.output_format())) {
    text += fmt::format("  {:<22}{}\n", name, value);
  }
  return text;
}

// The templates, their uses and origins, and what they support.
Result<std::string> explained(const TemplateArgs& args) {
  RZ_TRY(const ChatTemplateSource source, template_source(args));
  if (!args.template_file.empty()) {
    RZ_TRY(const std::string traits, traits_text("of all requests", source.source));
    return fmt::format("all requests  {}\n{}", printable(args.template_file), traits);
  }
  std::string text = use_text("without tools", source, kDefaultTemplate, kDefaultTemplate) +
                     use_text("with tools", source, kToolTemplate, kDefaultTemplate);
  for (const NamedTemplate& one : source.all) {
    if (one.name == kDefaultTemplate || one.name == kToolTemplate) continue;
    text += fmt::format("{:<14}{} ({})\n", "not used", printable(one.name), printable(one.where));
  }
  const bool is_one = source.tool_source.empty();
  if (!is_one) {
    RZ_TRY(const std::string traits, traits_text("with tools", source.tool_source));
    text += traits;
  }
  if (source.source.empty()) return text;
  RZ_TRY(const std::string traits, traits_text(is_one ? "of all requests" : "without tools", source.source));
  return text + traits;
}

Result<int> render(const TemplateArgs& args) {
  RZ_TRY(const std::string text, args.explain ? explained(args) : rendered(args));
  return print_model_text(text) ? kOk : kFailure;
}

}  // namespace

void add_template(CommandLine& line) {
  auto args = std::make_shared<TemplateArgs>();
  Flags flags = line.command("template", "Render a chat template, and print the prompt");
  flags.option("model,-m,--model", args->model,
               "Model that has the template: a model, or a folder with tokenizer.json and the template",
               {.takes = kFile});
  flags.option("--template", args->template_file, "Jinja file, in place of a model's template", {.takes = kFile});
  flags.option("-i,--input", args->input,
               "File with a JSON object: messages and, optionally, tools, add_generation_prompt, bos_token, "
               "eos_token and any other variable of the template; '-': standard input",
               {.has_default = true, .takes = kFile});
  flags.option("--now", args->now, "The current time for the template, e.g. 2026-07-26T12:00:00 (UTC)",
               {.shown_as = "TIME"});
  flags.flag(
      "--explain", args->explain,
      "Print which of the model's templates is used for what, where it comes from and what it can take, in place "
      "of a prompt");
  args->store.add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' | realizar template model.gguf",
                  "realizar template --template chat.jinja -i request.json --now 2026-07-26"});
  flags.runs([args] { return render(*args); },
             [args] {
               if (args->model.empty() == args->template_file.empty()) {
                 return std::string("expected one of MODEL and --template FILE");
               }
               const auto now = parse_time(args->now);
               return now.ok() ? std::string() : now.error().message;
             });
}

}  // namespace realizar::cli
