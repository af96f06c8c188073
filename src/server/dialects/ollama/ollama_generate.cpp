// POST /api/chat and /api/generate (https://docs.ollama.com/api): lines of JSON, the last of which has the times.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/logprobs.h"
#include "server/call/request_context.h"
#include "server/dialects/ollama/ollama.h"
#include "server/dialects/ollama/ollama_prompt.h"
#include "server/models/infill.h"
#include "server/models/stored_messages.h"
#include "server/models/structured_output.h"
#include "text/ollama_template.h"

namespace realizar::server {
namespace {

using Kind = text::OutputEvent::Kind;

int64_t to_ns(double ms) {
  return static_cast<int64_t>(std::llround(ms * 1e6));
}

// What the two routes' answers differ in.
struct OllamaAnswerForm {
  std::string model;           // as the client named it
  bool is_chat = true;         // message.content; else response
  bool gives_context = false;  // the ids of prompt and answer, for the next request
  bool logprobs = false;
  TokenText token;
  Clock::time_point start;
  double load_ms = 0;
};

class OllamaSpeller final : public Speller {
 public:
  explicit OllamaSpeller(OllamaAnswerForm form) : form_(std::move(form)) {}

  std::string stream_news(size_t, const ChoiceNews& news) override {
    std::string bytes;
    Json logprobs = form_.logprobs && !news.tokens.empty() ? spelled(news.tokens, ChatLogprob{form_.token}) : Json();
    const auto add_line = [&](std::string content, std::string thinking, Json calls) {
      Json json = head(std::move(content), std::move(thinking), std::move(calls));
      json["done"] = false;
      if (!logprobs.is_null()) json["logprobs"] = std::exchange(logprobs, Json());
      bytes += dump(json) + "\n";
    };
    for (const text::OutputEvent& event : news.events) {
      if (event.kind == Kind::kReasoning) add_line("", event.text, {});
      if (event.kind == Kind::kContent) add_line(event.text, "", {});
      take_call(event);
      if (event.kind == Kind::kToolCallEnd) add_line("", "", take_calls());
    }
    if (!logprobs.is_null()) add_line("", "", {});
    return bytes;
  }

  std::string stream_choice_end(size_t, const Choice& choice) override {
    last_ = head(take_cut_call(), "", {});
    end(last_, choice);
    for (size_t i = 0; form_.gives_context && i < n_context(choice); ++i) {
      last_["context"].push_back(context_id(choice, i));
    }
    return {};
  }

  std::string stream_end(const Usage&, const Json* trace) override {
    if (trace != nullptr) last_["trace"] = *trace;
    return dump(last_) + "\n";
  }

  std::string stream_error(const ApiError& error) override { return ollama_error_line(error); }

  void collect(size_t, ChoiceNews news) override {
    for (const text::OutputEvent& event : news.events) {
      if (event.kind == Kind::kReasoning) thinking_ += event.text;
      if (event.kind == Kind::kContent) content_ += event.text;
      take_call(event);
    }
    if (form_.logprobs) logprobs_.append(news.tokens);
  }

  Json whole(const std::vector<std::unique_ptr<Choice>>& choices, const Usage&, JsonPieces& pieces) override {
    Json calls = take_calls();
    content_ += take_cut_call();
    Json json = head(std::move(content_), std::move(thinking_), std::move(calls));
    end(json, *choices.front());
    if (form_.gives_context) {
      json["context"] = pieces.list(n_context(*choices.front()),
                                    [&choice = *choices.front()](size_t i) -> Json { return context_id(choice, i); });
    }
    if (form_.logprobs) json["logprobs"] = spelled(logprobs_, ChatLogprob{form_.token}, pieces);
    return json;
  }

 private:
  struct OpenCall {
    std::string name, arguments;
  };

  Json head(std::string content, std::string thinking, Json calls) const {
    Json json{{"model", form_.model}, {"created_at", rfc3339(std::chrono::system_clock::now())}};
    Json message = form_.is_chat ? Json{{"role", "assistant"}, {"content", std::move(content)}}
                                 : Json{{"response", std::move(content)}};
    if (!thinking.empty()) message["thinking"] = std::move(thinking);
    if (!calls.empty()) message["tool_calls"] = std::move(calls);
    if (form_.is_chat) {
      json["message"] = std::move(message);
    } else {
      json.update(message);
    }
    return json;
  }

  void end(Json& json, const Choice& choice) const {
    const GenerationStats& stats = choice.end().stats;
    json["done"] = true;
    json["done_reason"] = choice.is_cut() ? "length" : "stop";
    if (form_.gives_context) json["context"] = Json::array();
    json["total_duration"] = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - form_.start).count();
    json["load_duration"] = to_ns(form_.load_ms);
    json["prompt_eval_count"] = choice.request().prompt.size();
    json["prompt_eval_duration"] = to_ns(stats.prefill_ms);
    json["eval_count"] = choice.n_tokens();
    json["eval_duration"] = to_ns(stats.decode_ms);
  }

  // The ids of the prompt and the answer.
  static size_t n_context(const Choice& choice) { return choice.request().prompt.size() + choice.tokens().size(); }
  static size_t context_id(const Choice& choice, size_t i) {
    const auto& prompt = choice.request().prompt;
    return to_index(i < prompt.size() ? prompt[i] : choice.tokens()[i - prompt.size()]);
  }

  // A call is told whole, since its arguments are an object.
  void take_call(const text::OutputEvent& event) {
    if (event.kind == Kind::kToolCallBegin) open_ = OpenCall{event.text, ""};
    if (event.kind == Kind::kToolCallArguments && open_) open_->arguments += event.text;
    if (event.kind == Kind::kToolCallEnd && open_) add_call(*std::exchange(open_, std::nullopt));
  }

  // Arguments that are no object have no spelling here but that of the text.
  void add_call(const OpenCall& call) {
    auto arguments = parse_json(call.arguments.empty() ? "{}" : call.arguments);
    if (!arguments.ok() || !arguments->is_object()) {
      unspelled_ += call.arguments;
      return;
    }
    calls_.push_back(
        {{"id", random_id("call_")},
         {"function", {{"index", n_calls_++}, {"name", call.name}, {"arguments", std::move(*arguments)}}}});
  }

  Json take_calls() { return std::exchange(calls_, Json::array()); }
  // What the answer's end cut off.
  std::string take_cut_call() {
    std::string text = std::exchange(unspelled_, "");
    if (open_) text += std::exchange(open_, std::nullopt)->arguments;
    return text;
  }

  OllamaAnswerForm form_;
  std::optional<OpenCall> open_;
  std::string unspelled_;
  Json calls_ = Json::array();
  size_t n_calls_ = 0;
  Json last_;  // line of a stream
  // Of a whole answer:
  std::string content_, thinking_;
  TokenLog logprobs_;
};

Status check_generates(const OllamaRequest& request, const ServedModel& model, const char* what) {
  if (gives_text(model.loaded->model->config())) return {};
  return invalid_argument(fmt::format("\"{}\" does not support {}", shown(request.model), what), "model");
}

// The template of the request, or of the made model; null: the model's own.
Result<std::shared_ptr<const text::ChatTemplate>> template_of(const std::string& own, const OllamaRequest& request) {
  if (!own.empty()) return text::compile_ollama_template(own);
  return request.made == nullptr ? nullptr : request.made->chat_template;
}

// The made model's system message stands where the client has none; its messages come before the client's.
Result<Json> with_made_messages(Json messages, const OllamaRequest& request) {
  if (request.made == nullptr) return messages;
  RZ_TRY(Json all, parse_json(request.made->messages));
  for (Json& message : messages) all.push_back(std::move(message));
  const bool has_system = std::ranges::any_of(
      all, [](const Json& message) { return message.is_object() && message.value("role", Json()) == "system"; });
  if (!has_system && !request.made->system.empty()) {
    all.insert(all.begin(), Json{{"role", "system"}, {"content", request.made->system}});
  }
  return all;
}

// An answer that is there at once: the model is loaded.
Prepared loaded_answer(const OllamaRequest& request, bool is_chat) {
  const bool unloads = request.keep_alive && request.keep_alive->duration && request.keep_alive->duration->count() == 0;
  Json json{{"model", request.model}, {"created_at", rfc3339(std::chrono::system_clock::now())}};
  if (is_chat) {
    json["message"] = {{"role", "assistant"}, {"content", ""}};
  } else {
    json["response"] = "";
  }
  json["done"] = true;
  json["done_reason"] = unloads ? "unload" : "load";
  return HttpResponse{200, "application/json; charset=utf-8", dump(json), {}};
}

// The generation's own fields, within what is left of the context after the prompt.
Result<GenerationFields> read_ollama_generation(const OllamaRequest& request, size_t n_prompt, const ServedModel& model,
                                                const RequestContext& context) {
  Fields fields(request.chat);
  RZ_TRY(GenerationFields generation, read_generation_fields(fields, model, context));
  generation.stream = request.stream;
  generation.request.logprobs = fields.boolean("logprobs").value_or(false);
  generation.request.n_logprobs = static_cast<uint32_t>(fields.integer("top_logprobs", 0, kMaxTopLogprobs).value_or(0));
  if (request.max_context == 0 || request.shifts) return generation;
  const uint32_t n_ctx = max_ollama_context(request, model);
  const uint32_t n_left = n_ctx > n_prompt ? n_ctx - static_cast<uint32_t>(n_prompt) : 1;
  auto& max_tokens = generation.request.max_tokens;
  max_tokens = std::min(max_tokens.value_or(n_left), n_left);
  return generation;
}

// What the model would read, in place of its answer.
Prepared rendered_answer(const OllamaRequest& request, const ChatPrompt& prompt, bool is_chat) {
  Json json{{"model", request.model}, {"created_at", rfc3339(std::chrono::system_clock::now())}};
  if (is_chat) {
    json["message"] = {{"role", ""}, {"content", ""}};
  } else {
    json["response"] = "";
  }
  json["done"] = false;
  json["_debug_info"] = {{"rendered_template", prompt.text}};
  return HttpResponse{200, "application/json; charset=utf-8", dump(json), {}};
}

// As Ollama does it, an answer without a limit ends after ten contexts.
ContextShift shift_of(const OllamaRequest& request, const ChatRequest& chat, const ServedModel& model) {
  constexpr uint32_t kMaxContexts = 10;
  if (!request.shifts) return {};
  const uint32_t n_ctx = std::max(max_ollama_context(request, model), 2u);
  const uint32_t most = kMaxContexts * std::min(n_ctx, UINT32_MAX / kMaxContexts);
  return {n_ctx, request.n_keep, std::min(chat.generation.request.max_tokens.value_or(most), most)};
}

OllamaAnswerForm form_of(const OllamaRequest& request, const RequestContext& context, bool is_chat) {
  OllamaAnswerForm form;
  form.model = request.model;
  form.is_chat = is_chat;
  form.start = context.start;
  form.load_ms = context.load_ms;
  return form;
}

Result<Prepared> plan_ollama(ChatPrompt prompt, const OllamaRequest& request, OllamaAnswerForm form,
                             const ServedModel& model, const RequestContext& context) {
  if (request.renders_only) return rendered_answer(request, prompt, form.is_chat);
  const char* field = form.is_chat ? "messages" : "prompt";
  RZ_CHECK_OK(cut_ollama_prompt(request, field, model, prompt.tokens));
  RZ_CHECK_OK(check_prompt_length(prompt.tokens.size(), field, model, context));
  ChatRequest chat;
  RZ_TRY(chat.generation, read_ollama_generation(request, prompt.tokens.size(), model, context));
  chat.prompt = std::move(prompt);
  form.logprobs = chat.generation.request.logprobs;
  form.token = token_text(model.tokenizer());
  const ContextShift shift = shift_of(request, chat, model);
  if (shift.is_on()) chat.generation.request.max_tokens = first_limit(shift, chat.prompt.tokens.size());
  CompletionPlan plan = plan_of(std::move(chat), model, context);
  plan.shift = shift;
  plan.speller = std::make_unique<OllamaSpeller>(std::move(form));
  return prepared(std::move(plan));
}

Result<Prepared> read_ollama_chat(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  RZ_TRY(OllamaRequest request, read_ollama_request(body, *model, context));
  RZ_CHECK_OK(check_generates(request, *model, "chat"));
  const Json* messages = body.array("messages");
  const Json* tools = body.array("tools");
  if (!body.status().ok()) return body.status().error();
  apply_keep_alive(request.keep_alive, *model, context);
  if (messages == nullptr || messages->empty()) return loaded_answer(request, true);
  RZ_TRY(Json read, read_ollama_messages(*messages));
  RZ_TRY(read, with_made_messages(std::move(read), request));
  RZ_TRY(const auto chat_template, template_of("", request));
  const bool has_tools = tools != nullptr && !tools->empty();
  if (chat_template == nullptr && model->loaded->template_for(has_tools) == nullptr) {
    return invalid_argument(fmt::format("\"{}\" does not support chat", shown(request.model)), "model");
  }
  if (tools != nullptr) request.chat["tools"] = *tools;
  RZ_TRY(ChatPrompt prompt, read_ollama_chat_prompt(request, read, chat_template.get(), *model));
  return plan_ollama(std::move(prompt), request, form_of(request, context, true), *model, context);
}

struct GenerateFields {
  std::string prompt, suffix, system, chat_template;
  bool is_raw = false;
  std::vector<TokenId> context;
};

Result<GenerateFields> read_generate_fields(Fields& body, const ServedModel& model) {
  GenerateFields fields;
  fields.prompt = body.text("prompt").value_or("");
  fields.suffix = body.text("suffix").value_or("");
  fields.system = body.text("system").value_or("");
  fields.chat_template = body.text("template").value_or("");
  fields.is_raw = body.boolean("raw").value_or(false);
  const Json* context = body.array("context");
  if (!body.status().ok()) return body.status().error();
  RZ_CHECK_OK(refuse_images(body.json(), ""));
  for (size_t i = 0; context != nullptr && i < context->size(); ++i) {
    const auto id = token_id_of((*context)[i]);
    if (!id || static_cast<uint32_t>(*id) >= model.loaded->info.n_vocab) {
      return invalid_argument(fmt::format("context: expected token ids below {}", model.loaded->info.n_vocab),
                              "context");
    }
    fields.context.push_back(TokenId{*id});
  }
  const bool has_form = !fields.system.empty() || !fields.chat_template.empty() || !fields.context.empty();
  if (fields.is_raw && has_form) {
    return invalid_argument("raw: cannot be given together with template, system or context", "raw");
  }
  return fields;
}

// The text as it is.
Result<ChatPrompt> plain_prompt(const GenerateFields& fields, const OllamaRequest& request, const ServedModel& model) {
  RZ_CHECK_OK(check_text_length({fields.prompt, fields.suffix}, "prompt", model));
  ChatPrompt prompt;
  prompt.text = fields.prompt;
  if (fields.suffix.empty()) {
    prompt.tokens = model.tokenizer().encode(fields.prompt);
  } else {
    auto tokens = infill_prompt(model.tokenizer(), fields.prompt, fields.suffix);
    if (!tokens) {
      return invalid_argument(fmt::format("\"{}\" does not support insert", shown(request.model)), "suffix");
    }
    prompt.tokens = std::move(*tokens);
  }
  RZ_TRY(auto grammar, read_response_format(request.chat, *model.loaded->grammars));
  if (grammar == nullptr) return prompt;
  prompt.constraint =
      make_constraint(std::move(grammar), model.tokenizer(), model.loaded->generation_config.end_tokens, {});
  return prompt;
}

// A turn of a chat. What came before it stands as tokens before its own.
Result<ChatPrompt> turn_prompt(const GenerateFields& fields, const OllamaRequest& request,
                               const text::ChatTemplate* chat_template, const ServedModel& model) {
  Json messages = Json::array();
  if (!fields.system.empty()) messages.push_back({{"role", "system"}, {"content", fields.system}});
  messages.push_back({{"role", "user"}, {"content", fields.prompt}});
  // The conversation has its beginning already.
  if (fields.context.empty()) {
    RZ_TRY(messages, with_made_messages(std::move(messages), request));
  }
  RZ_TRY(ChatPrompt prompt, read_ollama_chat_prompt(request, messages, chat_template, model));
  if (fields.context.empty()) return prompt;
  const auto bos = model.tokenizer().bos();
  const bool repeats_bos = bos && !prompt.tokens.empty() && prompt.tokens.front() == *bos;
  prompt.tokens.erase(prompt.tokens.begin(), prompt.tokens.begin() + (repeats_bos ? 1 : 0));
  prompt.tokens.insert(prompt.tokens.begin(), fields.context.begin(), fields.context.end());
  return prompt;
}

Result<Prepared> read_ollama_generate(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  RZ_TRY(OllamaRequest request, read_ollama_request(body, *model, context));
  RZ_CHECK_OK(check_generates(request, *model, "generate"));
  RZ_TRY(const GenerateFields fields, read_generate_fields(body, *model));
  apply_keep_alive(request.keep_alive, *model, context);
  if (fields.prompt.empty() && fields.suffix.empty()) return loaded_answer(request, false);
  RZ_TRY(const auto chat_template, template_of(fields.chat_template, request));
  const bool has_template = chat_template != nullptr || model->loaded->chat_template;
  if (!has_template && !fields.system.empty()) {
    return invalid_argument("system: the model has no chat template to place it in", "system");
  }
  const bool is_plain = fields.is_raw || !fields.suffix.empty() || !has_template;
  auto prompt =
      is_plain ? plain_prompt(fields, request, *model) : turn_prompt(fields, request, chat_template.get(), *model);
  if (!prompt.ok()) return prompt.error();
  OllamaAnswerForm form = form_of(request, context, false);
  form.gives_context = !fields.is_raw;
  return plan_ollama(std::move(*prompt), request, std::move(form), *model, context);
}

}  // namespace

// White space before a line keeps a stream alive: its readers know no other.
const Protocol kOllama{.spell_error = ollama_error, .keep_alive = " "};
const Protocol kOllamaChat{.read = read_ollama_chat,
                           .model_id = ollama_model_id,
                           .spell_error = ollama_error,
                           .content_type = kOllamaLines,
                           .keep_alive = " ",
                           .terminator = ""};
const Protocol kOllamaGenerate{.read = read_ollama_generate,
                               .model_id = ollama_model_id,
                               .spell_error = ollama_error,
                               .content_type = kOllamaLines,
                               .keep_alive = " ",
                               .terminator = ""};

}  // namespace realizar::server
