#include "server/call/chat_prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/found_model.h"
#include "api/grammar_constraint.h"
#include "api/reasoning_plan.h"
#include "base/try.h"
#include "server/models/answer_form.h"
#include "text/output/required_calls.h"

namespace realizar::server {
namespace {

Result<std::vector<ChatMessage>> with_stored_texts(std::span<const ChatMessage> messages, const ServedModel& model) {
  ChatBeginning beginning;
  if (model.texts != nullptr) beginning.system = model.texts->system;
  if (model.texts != nullptr && !model.texts->messages.empty()) {
    RZ_TRY(const Json stored, parse_json(model.texts->messages));
    RZ_TRY(beginning.messages, read_chat_messages(stored, "messages"));
  }
  std::vector<ChatMessage> all = beginning.before(std::ranges::any_of(messages, text::is_system));
  all.insert(all.end(), messages.begin(), messages.end());
  return all;
}

Result<std::shared_ptr<grammar::MaskCache>> calls_grammar(const ServedModel& model, const ChatTools& tools,
                                                          bool parallel) {
  const bool one_call = !parallel || !tools.only.empty();
  const std::vector<text::RequiredTool> callable = tools.callable();
  Json key = Json::array({tools.must_call ? "calls" : "optional calls", one_call});
  for (const text::RequiredTool& tool : callable)
    key.push_back({tool.spec->name, tool.spec->parameters, tool.is_strict, tool.input != nullptr});
  const auto& calls = tools.must_call ? text::required_calls : text::optional_calls;
  return model.loaded->grammars->find_or_compile(dump(key), [&]() -> Result<std::shared_ptr<const grammar::Grammar>> {
    RZ_TRY(const grammar::RuleSet rules, calls(*model.output_format.calls, callable, !one_call));
    auto compiled = grammar::Grammar::from_rules(rules);
    if (compiled.ok()) return compiled;
    // The grammar's error refers to text that the client did not write.
    return wrong(tools.field, "the schemas of the parameters are too large together, or lead back to themselves");
  });
}

// The grammar of the answer: required calls, the requested form, or text and calls some of which have their own
// grammar. If no other text of the model begins like its calls, those are constrained; calls of other models are not.
Result<std::shared_ptr<grammar::MaskCache>> answer_grammar(const ChatRequest& chat, const ServedModel& model) {
  if (chat.tools.must_call) return calls_grammar(model, chat.tools, chat.parallel_calls);
  RZ_TRY(auto form, masks_of(chat.form, *model.loaded->grammars));
  const bool holds_calls = chat.tools.has_input_grammar() && text::has_optional_calls(model.output_format);
  return form != nullptr || !holds_calls ? form : calls_grammar(model, chat.tools, chat.parallel_calls);
}

// Longer texts that do not fit are refused without counting their tokens.
constexpr size_t kMaxCountedBytes = size_t{2} << 20;

Status check_continues(const ChatRequest& chat, const ServedModel& model) {
  const std::string& field = chat.continues_field;
  if (!chat.continues_last) return {};
  if (chat.begins_answer.value_or(false)) {
    return wrong(field, "an answer is either continued or begun: add_generation_prompt is true too");
  }
  if (chat.messages.size() < 2 || chat.messages.back().role != Role::kAssistant) {
    return wrong(field, "expected the last of several messages to be the assistant's");
  }
  if (!text::can_be_continued(model.output_format)) {
    return wrong(field, "this model writes answers in channels, which cannot be continued");
  }
  return {};
}

struct Unfinished {
  std::string reasoning, content;
  bool has_reasoning = false, has_ended_reasoning = false;
};

// Its content may begin with the thoughts, in their marks.
Unfinished parts_of(const ChatMessage& message, const text::OutputFormat& format) {
  Unfinished parts{message.reasoning, message.content, !message.reasoning.empty(), !message.content.empty()};
  if (!format.reasoning || parts.has_reasoning) return parts;
  const std::string& begin = format.reasoning->begin;
  const std::string& end = format.reasoning->end;
  const auto skip_lines = [](std::string text) {
    return text.substr(std::min(text.find_first_not_of("\r\n"), text.size()));
  };
  const std::string whole = skip_lines(message.content);
  if (!whole.starts_with(begin)) return parts;
  const size_t at = whole.find(end, begin.size());
  parts.has_reasoning = true;
  parts.has_ended_reasoning = at != std::string::npos;
  parts.reasoning = skip_lines(whole.substr(begin.size(), at - begin.size()));
  parts.content = parts.has_ended_reasoning ? skip_lines(whole.substr(at + end.size())) : "";
  return parts;
}

// Appends the beginning of the answer to the prompt, in the model's form; the reasoning is closed if content follows.
// Returns whether the model continues inside the reasoning.
bool append_unfinished(const ChatMessage& message, const text::OutputFormat& format, bool opens_reasoning,
                       std::vector<text::PromptPiece>& pieces) {
  const Unfinished parts = parts_of(message, format);
  const bool has_reasoning = format.reasoning && (opens_reasoning || parts.has_reasoning);
  if (has_reasoning) {
    if (!opens_reasoning) pieces.push_back({format.reasoning->begin + "\n"});
    pieces.push_back({parts.reasoning, true});
    if (parts.has_ended_reasoning) pieces.push_back({"\n" + format.reasoning->end + "\n\n"});
  }
  if (!parts.content.empty() && format.content_wrapper) pieces.push_back({format.content_wrapper->begin});
  pieces.push_back({parts.content, true});
  return has_reasoning && !parts.has_ended_reasoning;
}

// Clients that split the content themselves need both marks of the thoughts, including the one at the end of the
// prompt.
void tell_reasoning_in_content(ChatPrompt& prompt, bool continues_last) {
  const auto& tags = prompt.choice.format->reasoning;
  if (prompt.choice.starts_in_reasoning && tags && !continues_last) {
    prompt.choice.content_begin = prompt.text.substr(prompt.text.rfind(tags->begin));
  }
  prompt.choice.format->reasoning.reset();
  prompt.choice.starts_in_reasoning = false;
  prompt.reasoning_budget.reset();
}

std::string text_of(std::span<const text::PromptPiece> pieces) {
  std::string text;
  for (const text::PromptPiece& piece : pieces) text += piece.text;
  return text;
}

// Errors name the client's field.
Result<ReasoningWish> reasoning_of(const ChatRequest& chat, const ServedModel& model, const std::string& source) {
  auto wish = reasoning_wish(with_defaults(chat.reasoning, *model.defaults), source);
  if (wish.ok() || wish.error().subject != "reasoning_effort") return wish;
  Error error = std::move(wish).error();
  error.message.replace(0, error.subject.size(), chat.effort_field);
  error.subject = chat.effort_field;
  return error;
}

// Variables of the template other than the conversation; the client's override the others.
Result<Json> template_variables(const ChatRequest& chat, const Json& reasoning, const ServedModel& model) {
  Json variables = Json::object();
  const bool begins_answer = chat.continues_last || chat.begins_answer.value_or(true);
  if (!begins_answer) variables["add_generation_prompt"] = false;
  RZ_TRY(const Json defaults, parse_json(model.defaults->template_variables));
  variables.update(defaults);
  variables.update(reasoning);
  variables.update(chat.template_variables);
  return variables;
}

Result<std::vector<text::PromptPiece>> render(const ChatRequest& chat, size_t n_messages, const Json& variables,
                                              const ServedModel& model, const text::ChatTemplate* chat_template) {
  const bool has_tools = !chat.tools.tools.empty();
  if (chat_template == nullptr && model.loaded->template_for(has_tools) == nullptr) {
    const std::string& field = chat.messages_field;
    return unsupported(
        field + ": the model " + model.id + " has no chat template; /v1/completions takes a prompt as it is", field);
  }
  text::Conversation conversation;
  RZ_TRY(conversation.messages, with_stored_texts(std::span(chat.messages).first(n_messages), model));
  for (const ChatTool& tool : chat.tools.tools) conversation.tools.push_back(tool.json);
  return model.loaded->render_conversation(std::move(conversation), variables, chat_template);
}

text::AnswerOptions answer_options(const ChatRequest& chat, const ServedModel& model, bool starts_in_reasoning) {
  const bool uses_tools = !chat.tools.tools.empty();
  text::AnswerOptions options;
  options.format = model.output_format;
  options.tools = chat.tools.specs();
  if (!uses_tools) text::drop_tools(*options.format);
  options.starts_in_reasoning = starts_in_reasoning;
  options.one_call = uses_tools && !chat.parallel_calls;
  return options;
}

}  // namespace

Result<ChatPrompt> chat_prompt(const ChatRequest& chat, const ServedModel& model,
                               const text::ChatTemplate* chat_template) {
  RZ_CHECK_OK(check_continues(chat, model));
  const std::string& source = model.loaded->template_source.source_for(!chat.tools.tools.empty());
  RZ_TRY(const ReasoningWish reasoning, reasoning_of(chat, model, source));
  const size_t n_finished = chat.messages.size() - (chat.continues_last ? 1 : 0);
  RZ_TRY(const Json variables, template_variables(chat, reasoning.variables, model));
  RZ_TRY(auto pieces, render(chat, n_finished, variables, model, chat_template));
  bool starts_in_reasoning = text::prompt_opens_reasoning(model.output_format, text_of(pieces));
  if (chat.continues_last) {
    starts_in_reasoning = append_unfinished(chat.messages.back(), model.output_format, starts_in_reasoning, pieces);
  }
  ChatPrompt prompt;
  prompt.text = text_of(pieces);
  RZ_CHECK_OK(check_text_length(pieces, chat.messages_field.c_str(), model));
  prompt.tokens = model.loaded->encode_prompt(pieces);
  prompt.choice = answer_options(chat, model, starts_in_reasoning);
  prompt.custom_tools = chat.tools.custom_names();
  prompt.reasoning_budget = reasoning.budget;
  RZ_TRY(auto grammar, answer_grammar(chat, model));
  if (grammar != nullptr) {
    const auto& start_of = chat.tools.must_call ? text::required_calls_start : text::grammar_start;
    prompt.constraint =
        make_constraint(std::move(grammar), model.tokenizer(), model.loaded->generation_config.end_tokens,
                        start_of(*prompt.choice.format, starts_in_reasoning));
  }
  const bool is_raw = chat.reasoning_in_content.value_or(model.defaults->reasoning_in_content);
  if (is_raw) tell_reasoning_in_content(prompt, chat.continues_last);
  return prompt;
}

CompletionPlan empty_plan(const GenerationFields& generation, text::AnswerOptions choice) {
  CompletionPlan plan;
  plan.stream = generation.stream;
  plan.id_slot = generation.id_slot;
  plan.cache_name = generation.cache_name;
  plan.choice = std::move(choice);
  plan.choice.stop = generation.stop;
  plan.choice.min_tokens = generation.rules.min_tokens;
  return plan;
}

CompletionPlan plan_of(GenerationFields generation, ChatPrompt prompt, const ServedModel& model,
                       const RequestContext& context) {
  generation.request.prompt = std::move(prompt.tokens);
  generation.request.constraint =
      with_rules(std::move(prompt.constraint), generation.rules, model.loaded->info.n_vocab);
  if (prompt.reasoning_budget) {
    generation.request.constraint =
        with_reasoning_budget(std::move(generation.request.constraint), *prompt.choice.format, model.tokenizer(),
                              {*prompt.reasoning_budget, prompt.choice.starts_in_reasoning});
  }
  CompletionPlan plan = empty_plan(generation, std::move(prompt.choice));
  if (context.log_prompts) plan.logged_prompt = std::move(prompt.text);
  for (uint32_t i = 0; i < generation.n; ++i) plan.requests.push_back(nth_request(generation.request, i));
  return plan;
}

ChatRequest newest_messages(const ChatRequest& chat, size_t first, bool (*stays)(const ChatMessage& message)) {
  ChatRequest newest = chat;
  newest.messages.clear();
  for (size_t i = 0; i < chat.messages.size(); ++i) {
    if (i >= first || stays(chat.messages[i])) newest.messages.push_back(chat.messages[i]);
  }
  return newest;
}

// Each try renders the whole rest, so there must be few tries.
Result<ChatPrompt> fit_newest(const std::vector<size_t>& firsts,
                              const std::function<Result<ChatPrompt>(size_t first)>& render,
                              const std::function<bool(const Result<ChatPrompt>& prompt)>& fits) {
  size_t too_many = 0, last = firsts.size() - 1;
  auto prompt = render(firsts[last]);
  while (fits(prompt) && last - too_many > 1) {
    const size_t middle = too_many + (last - too_many) / 2;
    auto longer = render(firsts[middle]);
    if (fits(longer)) {
      last = middle;
      prompt = std::move(longer);
    } else {
      too_many = middle;
    }
  }
  return prompt;
}

size_t max_text_bytes(const ServedModel& model) {
  return size_t{model.loaded->info.n_ctx} * model.tokenizer().longest_token_bytes();
}

namespace {

// `count`: counts the tokens; called if the texts cannot fit but are short enough to be counted quickly.
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
