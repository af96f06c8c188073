#include "server/call/chat_prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "api/chat_beginning.h"
#include "base/printable.h"
#include "base/try.h"
#include "server/call/chat_tools.h"
#include "server/call/reasoning_fields.h"
#include "text/output/required_calls.h"

namespace realizar::server {
namespace {

// Parts of text become one string; templates expect one.
Result<Json> read_content(const Json& content, const std::string& where) {
  if (content.is_null() || content.is_string()) return content;
  if (!content.is_array()) return wrong(where, "expected a string, an array of parts or null");
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    const Json& part = content[i];
    const std::string here = fmt::format("{}[{}]", where, i);
    if (!part.is_object() || !part.contains("type")) return wrong(here, "expected an object with a type");
    const bool is_text = part["type"] == "text" || part["type"] == "input_text" || part["type"] == "output_text" ||
                         part["type"] == "refusal";
    if (!is_text)
      return wrong(here, fmt::format("this model takes text only, actual type {}", shown(dump(part["type"]))));
    const char* key = part["type"] == "refusal" ? "refusal" : "text";
    if (!part.contains(key) || !part[key].is_string()) return wrong(here, fmt::format("expected a string as {}", key));
    text += part[key].get_ref<const std::string&>();
  }
  return Json(text);
}

// Templates read arguments as an object or as its JSON text; an object serves both kinds. What is neither, such as a
// call that was cut off, stays the text that it is.
Json read_arguments(const Json& arguments) {
  if (arguments.is_null()) return Json::object();
  if (!arguments.is_string()) return arguments;
  const auto& text = arguments.get_ref<const std::string&>();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return Json::object();
  auto parsed = parse_json(text);
  if (!parsed.ok()) return arguments;
  const TakenApartAtEnd end{*parsed};
  if (!parsed->is_object()) return arguments;
  return std::move(*parsed);
}

// A call of a custom tool has text in place of arguments; templates know functions alone.
Json as_function_call(Json call) {
  const bool is_custom = call.is_object() && call.contains("custom") && call["custom"].is_object();
  if (!is_custom) return call;
  const Json custom = std::move(call["custom"]);
  call.erase("custom");
  call["type"] = "function";
  call["function"] = {{"name", custom.value("name", Json())},
                      {"arguments", {{"input", custom.value("input", Json())}}}};
  return call;
}

Result<Json> read_tool_calls(const Json& calls, const std::string& where) {
  if (!calls.is_array()) return wrong(where, "expected an array");
  Json read = Json::array();
  for (size_t i = 0; i < calls.size(); ++i) {
    Json call = as_function_call(calls[i]);
    const bool has_name = call.is_object() && call.contains("function") && call["function"].is_object() &&
                          call["function"].contains("name") && call["function"]["name"].is_string();
    if (!has_name) return wrong(fmt::format("{}[{}].function", where, i), "expected an object with a name");
    Json& arguments = call["function"]["arguments"];
    arguments = read_arguments(arguments);
    read.push_back(std::move(call));
  }
  return read;
}

Result<Json> read_message(const Json& message, const std::string& where, bool knows_developer) {
  static const std::set<std::string> kRoles{"system", "developer", "user", "assistant", "tool"};
  if (!message.is_object()) return wrong(where, "expected an object");
  if (!message.contains("role") || !message["role"].is_string() ||
      !kRoles.contains(message["role"].get<std::string>())) {
    return wrong(where + ".role", "expected one of system, developer, user, assistant, tool");
  }
  Json read = message;
  if (read["role"] == "developer" && !knows_developer) read["role"] = "system";
  const bool has_calls = message.contains("tool_calls") && !message["tool_calls"].is_null();
  const bool has_content = message.contains("content") && !message["content"].is_null();
  if (!has_content && message["role"] != "assistant") return wrong(where + ".content", "expected a string");
  RZ_TRY(read["content"], read_content(message.value("content", Json()), where + ".content"));
  if (read["content"].is_null()) read["content"] = "";
  if (has_calls) {
    RZ_TRY(read["tool_calls"], read_tool_calls(message["tool_calls"], where + ".tool_calls"));
  } else {
    read.erase("tool_calls");
  }
  return read;
}

Result<Json> read_messages(Fields& fields, const std::string& template_source) {
  const Json* messages = fields.array("messages");
  if (!fields.status().ok()) return fields.status().error();
  if (messages == nullptr) return wrong("messages", "expected an array, actual nothing");
  if (messages->empty()) return wrong("messages", "expected at least one message");
  const bool knows_developer = template_source.find("developer") != std::string::npos;
  Json read = Json::array();
  for (size_t i = 0; i < messages->size(); ++i) {
    RZ_TRY(Json message, read_message((*messages)[i], fmt::format("messages[{}]", i), knows_developer));
    read.push_back(std::move(message));
  }
  return read;
}

Result<Json> with_stored_texts(Json messages, const ServedModel& model) {
  if (model.texts == nullptr) return messages;
  ChatBeginning beginning{model.texts->system};
  if (!model.texts->messages.empty()) {
    RZ_TRY(beginning.messages, parse_json(model.texts->messages));
  }
  return beginning.before(std::move(messages));
}

// The arguments of calls that are no object but text.
std::vector<Json*> text_arguments(Json& messages) {
  std::vector<Json*> texts;
  for (Json& message : messages) {
    if (!message.contains("tool_calls")) continue;
    for (Json& call : message["tool_calls"]) {
      if (Json& arguments = call["function"]["arguments"]; arguments.is_string()) texts.push_back(&arguments);
    }
  }
  return texts;
}

// Some templates take arguments apart, which a text does not allow: for them it becomes an object's only member.
Result<std::vector<text::PromptPiece>> render(const ServedModel& model, const text::ChatTemplate* chat_template,
                                              Json variables) {
  if (chat_template == nullptr && model.loaded->template_for(variables.contains("tools")) == nullptr) {
    return unsupported(
        "messages: the model " + model.id + " has no chat template; /v1/completions takes a prompt as it is",
        "messages");
  }
  const std::vector<Json*> texts = text_arguments(variables["messages"]);
  if (texts.empty()) return model.loaded->render_chat(std::move(variables), chat_template);
  auto pieces = model.loaded->render_chat(variables, chat_template);
  if (pieces.ok() || pieces.error().code != ErrorCode::kInvalidArgument) return pieces;
  for (Json* arguments : texts) *arguments = Json{{"input", std::move(*arguments)}};
  return model.loaded->render_chat(std::move(variables), chat_template);
}

// The grammar of calls, which there must be or may be.
Result<std::shared_ptr<grammar::MaskCache>> read_calls_grammar(const ServedModel& model, const ChatTools& tools,
                                                               bool parallel) {
  const bool one_call = !parallel || !tools.only.empty();
  const std::vector<text::RequiredTool> callable = tools.callable();
  Json key = Json::array({tools.must_call ? "calls" : "optional calls", one_call});
  for (const text::RequiredTool& tool : callable)
    key.push_back({tool.spec->name, tool.spec->parameters, tool.is_strict, tool.input != nullptr});
  const auto& calls = tools.must_call ? text::required_calls : text::optional_calls;
  return model.loaded->grammars->find_or_compile(dump(key), [&]() -> Result<std::shared_ptr<const grammar::Grammar>> {
    RZ_TRY(const grammar::RuleSet rules, calls(model.output_format.tools, callable, !one_call));
    auto compiled = grammar::Grammar::from_rules(rules);
    if (compiled.ok()) return compiled;
    // What the grammar's error speaks of was never written by the client.
    return wrong("tools", "the schemas of the parameters are too large together, or lead back to themselves");
  });
}

// What the answer must be: calls that are required, the form that response_format or grammar asks for, or text and
// calls of which some have a grammar of their own. Models that write calls as no other text begins are held to those;
// of others the calls are free.
Result<std::shared_ptr<grammar::MaskCache>> read_grammar(const Json& body, const ServedModel& model,
                                                         const ChatTools& tools, bool parallel) {
  if (tools.must_call) return read_calls_grammar(model, tools, parallel);
  RZ_TRY(auto form, read_response_format(body, *model.loaded->grammars));
  const bool holds_calls = tools.has_input_grammar() && text::has_optional_calls(model.output_format.tools);
  return form != nullptr || !holds_calls ? form : read_calls_grammar(model, tools, parallel);
}

// Longer texts that do not fit are refused uncounted.
constexpr size_t kMaxCountedBytes = size_t{2} << 20;

// An answer that is to be continued.
struct Unfinished {
  std::string reasoning, content;
};

// What continue_final_message asks for; it is taken out of `messages`.
Result<std::optional<Unfinished>> take_unfinished(Fields& fields, Json& messages, const ServedModel& model) {
  const bool is_asked = fields.boolean("continue_final_message").value_or(false);
  const bool begins_another = fields.boolean("add_generation_prompt").value_or(false);
  if (!fields.status().ok()) return fields.status().error();
  if (!is_asked) return std::optional<Unfinished>();
  if (begins_another) {
    return wrong("continue_final_message", "an answer is either continued or begun: add_generation_prompt is true too");
  }
  if (messages.size() < 2 || messages.back()["role"] != "assistant") {
    return wrong("continue_final_message", "expected the last of several messages to be the assistant's");
  }
  if (!text::can_be_continued(model.output_format)) {
    return wrong("continue_final_message", "this model writes answers in channels, which cannot be continued");
  }
  const Json reasoning = messages.back().value("reasoning_content", Json());
  Unfinished unfinished{reasoning.is_string() ? reasoning.get<std::string>() : "",
                        messages.back()["content"].get<std::string>()};
  messages.erase(messages.size() - 1);
  return std::optional(std::move(unfinished));
}

// Writes the answer's beginning after the prompt, as the model itself would have; the reasoning is closed where content
// follows. Returns whether the model writes on inside the reasoning.
bool append_unfinished(const Unfinished& unfinished, const text::OutputFormat& format, bool opens_reasoning,
                       std::vector<text::PromptPiece>& pieces) {
  const bool has_reasoning = format.reasoning && (opens_reasoning || !unfinished.reasoning.empty());
  const bool has_content = !unfinished.content.empty();
  if (has_reasoning) {
    if (!opens_reasoning) pieces.push_back({format.reasoning->begin + "\n"});
    pieces.push_back({unfinished.reasoning, true});
    if (has_content) pieces.push_back({"\n" + format.reasoning->end + "\n\n"});
  }
  if (has_content && format.content_wrapper) pieces.push_back({format.content_wrapper->begin});
  pieces.push_back({unfinished.content, true});
  return has_reasoning && !has_content;
}

// llama.cpp's reasoning_format: "none" leaves reasoning where the model writes it, with its marks.
Result<bool> tells_reasoning_in_content(Fields& body, const RequestDefaults& defaults) {
  const auto format = body.text("reasoning_format");
  if (!body.status().ok()) return body.status().error();
  if (!format) return defaults.reasoning_in_content;
  const bool is_known = *format == "none" || *format == "auto" || *format == "deepseek" || *format == "deepseek-legacy";
  if (!is_known) return wrong("reasoning_format", "expected none, auto or deepseek, actual " + shown(*format));
  return *format == "none";
}

void tell_reasoning_in_content(ChatPrompt& prompt) {
  prompt.choice.format->reasoning.reset();
  prompt.choice.starts_in_reasoning = false;
  prompt.reasoning_budget.reset();
}

std::string text_of(std::span<const text::PromptPiece> pieces) {
  std::string text;
  for (const text::PromptPiece& piece : pieces) text += piece.text;
  return text;
}

}  // namespace

Result<ChatPrompt> read_chat_prompt(Fields& body, const ServedModel& model, const text::ChatTemplate* chat_template) {
  RZ_TRY(const ChatTools tools, read_chat_tools(body));
  const bool uses_tools = !tools.tools.empty();
  const std::string& source = model.loaded->template_source.source_for(uses_tools);
  RZ_TRY(Json messages, read_messages(body, source));
  RZ_TRY(const auto unfinished, take_unfinished(body, messages, model));
  RZ_TRY(messages, with_stored_texts(std::move(messages), model));

  Json variables{{"messages", std::move(messages)}};
  for (const ChatTool& tool : tools.tools) variables["tools"].push_back(tool.json);
  const bool begins_answer = unfinished || body.boolean("add_generation_prompt").value_or(true);
  if (!begins_answer) variables["add_generation_prompt"] = false;
  const Json* kwargs = body.object("chat_template_kwargs");
  RZ_TRY(const ReasoningWish reasoning, read_reasoning(body, kwargs, source, *model.defaults));
  RZ_TRY(const Json defaults, parse_json(model.defaults->template_variables));
  variables.update(defaults);
  variables.update(reasoning.variables);
  if (kwargs != nullptr) {
    const bool is_plain = !kwargs->contains("messages") && !kwargs->contains("tools");
    if (!is_plain) return wrong("chat_template_kwargs", "messages and tools have fields of their own");
    variables.update(*kwargs);
  }
  if (!body.status().ok()) return body.status().error();

  RZ_TRY(auto pieces, render(model, chat_template, std::move(variables)));
  bool starts_in_reasoning = text::prompt_opens_reasoning(model.output_format, text_of(pieces));
  if (unfinished) {
    starts_in_reasoning = append_unfinished(*unfinished, model.output_format, starts_in_reasoning, pieces);
  }
  ChatPrompt prompt;
  prompt.text = text_of(pieces);
  RZ_CHECK_OK(check_text_length(pieces, "messages", model));
  prompt.tokens = model.loaded->encode_prompt(pieces);
  prompt.choice.format = model.output_format;
  prompt.choice.tools = tools.specs();
  prompt.custom_tools = tools.custom_names();
  if (!uses_tools) text::drop_tools(*prompt.choice.format);
  prompt.choice.starts_in_reasoning = starts_in_reasoning;
  prompt.reasoning_budget = reasoning.budget;
  const bool parallel = body.boolean("parallel_tool_calls").value_or(true);
  if (!body.status().ok()) return body.status().error();
  prompt.choice.one_call = uses_tools && !parallel;
  RZ_TRY(auto grammar, read_grammar(body.json(), model, tools, parallel));
  if (grammar != nullptr) {
    const auto& start_of = tools.must_call ? text::required_calls_start : text::grammar_start;
    prompt.constraint =
        make_constraint(std::move(grammar), model.tokenizer(), model.loaded->generation_config.end_tokens,
                        start_of(*prompt.choice.format, starts_in_reasoning));
  }
  RZ_TRY(const bool is_raw, tells_reasoning_in_content(body, *model.defaults));
  if (is_raw) tell_reasoning_in_content(prompt);
  return prompt;
}

size_t max_text_bytes(const ServedModel& model) {
  return size_t{model.loaded->info.n_ctx} * model.tokenizer().longest_token_bytes();
}

namespace {

// `count`: gives the tokens; asked where the texts cannot fit and are not so long that it would take long.
template <class Count>
Status check_bytes(size_t n_bytes, const char* field, const ServedModel& model, const Count& count) {
  const size_t most = max_text_bytes(model);
  if (n_bytes <= most) return {};
  const uint32_t n_ctx = model.loaded->info.n_ctx;
  return context_length_exceeded(
      fmt::format("the text has {} bytes, and the model's context of {} tokens holds at most {}", n_bytes, n_ctx, most),
      field, n_bytes <= kMaxCountedBytes ? count() : 0, n_ctx);
}

}  // namespace

Status check_text_length(std::span<const std::string_view> texts, const char* field, const ServedModel& model) {
  size_t n_bytes = 0;
  for (const std::string_view text : texts) n_bytes += text.size();
  return check_bytes(n_bytes, field, model, [&] {
    size_t n_tokens = 0;
    for (const std::string_view text : texts) {
      n_tokens += model.tokenizer().encode(text, {.add_special = n_tokens == 0}).size();
    }
    return n_tokens;
  });
}

Status check_text_length(std::span<const text::PromptPiece> pieces, const char* field, const ServedModel& model) {
  size_t n_bytes = 0;
  for (const text::PromptPiece& piece : pieces) n_bytes += piece.text.size();
  return check_bytes(n_bytes, field, model, [&] { return model.loaded->encode_prompt(pieces).size(); });
}

Status check_prompt_length(size_t n_tokens, const char* field, const ServedModel& model,
                           const RequestContext& context) {
  const uint32_t n_ctx = model.loaded->info.n_ctx;
  if (n_tokens > n_ctx) {
    return context_length_exceeded(
        fmt::format("the prompt has {} tokens, which exceeds the available context size of {}", n_tokens, n_ctx), field,
        n_tokens, n_ctx);
  }
  const uint32_t most = context.max_prompt_tokens;
  if (most == 0 || n_tokens <= most) return {};
  return context_length_exceeded(fmt::format("the prompt has {} tokens, this server takes {}", n_tokens, most), field,
                                 n_tokens, most);
}

}  // namespace realizar::server
