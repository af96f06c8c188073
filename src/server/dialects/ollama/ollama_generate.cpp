// POST /api/chat and /api/generate (https://docs.ollama.com/api): lines of JSON, the last of which has the times.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/logprobs.h"
#include "server/call/request_context.h"
#include "server/dialects/ollama/ollama.h"
#include "server/dialects/ollama/ollama_request.h"
#include "server/dialects/openai/chat_fields.h"
#include "server/models/answer_form.h"
#include "server/models/infill.h"
#include "server/models/stored_messages.h"
#include "text/ollama_template.h"

namespace realizar::server {
namespace {

using Kind = text::OutputEvent::Kind;

int64_t to_ns(double ms) {
  return static_cast<int64_t>(std::llround(ms * 1e6));
}

// Differences between the answers of the two routes.
struct OllamaAnswerForm {
  std::string model;           // as named by the client
  bool is_chat = true;         // message.content; else response
  bool gives_context = false;  // ids of prompt and answer, for the next request
  bool logprobs = false;
  TokenText token;
  Clock::time_point start;
  double load_ms = 0;
};

class OllamaWriter final : public ResponseWriter {
 public:
  explicit OllamaWriter(OllamaAnswerForm form) : form_(std::move(form)) {}

  std::string stream_update(size_t, const ChoiceUpdate& update) override {
    std::string bytes;
    Json logprobs =
        form_.logprobs && !update.tokens.empty() ? spelled(update.tokens, ChatLogprob{form_.token}) : Json();
    const auto add_line = [&](std::string content, std::string thinking, Json calls) {
      Json json = head(std::move(content), std::move(thinking), std::move(calls));
      json["done"] = false;
      if (!logprobs.is_null()) json["logprobs"] = std::exchange(logprobs, Json());
      bytes += dump(json) + "\n";
    };
    for (const text::OutputEvent& event : update.events) {
      if (event.kind == Kind::kReasoning) add_line("", event.text, {});
      if (event.kind == Kind::kContent) add_line(event.text, "", {});
      take_call(event);
      if (event.kind == Kind::kToolCallEnd) add_line("", "", take_calls());
    }
    if (!logprobs.is_null()) add_line("", "", {});
    return bytes;
  }

  std::string stream_choice_end(size_t, const Choice& choice) override {
    last_ = head("", "", {});
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

  void collect(size_t, ChoiceUpdate update) override {
    for (const text::OutputEvent& event : update.events) {
      if (event.kind == Kind::kReasoning) thinking_ += event.text;
      if (event.kind == Kind::kContent) content_ += event.text;
      take_call(event);
    }
    if (form_.logprobs) logprobs_.append(update.tokens);
  }

  Json whole(const Choices& choices, const Usage&, JsonPieces& pieces) override {
    Json calls = take_calls();
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

  static size_t n_context(const Choice& choice) { return choice.request().prompt.size() + choice.tokens().size(); }
  static size_t context_id(const Choice& choice, size_t i) {
    const auto& prompt = choice.request().prompt;
    return to_index(i < prompt.size() ? prompt[i] : choice.tokens()[i - prompt.size()]);
  }

  // A call is sent when complete, since its arguments are an object.
  void take_call(const text::OutputEvent& event) {
    if (event.kind == Kind::kToolCallBegin) open_ = OpenCall{event.text, ""};
    if (event.kind == Kind::kToolCallArguments && open_) open_->arguments += event.text;
    if (event.kind == Kind::kToolCallEnd && open_) add_call(*std::exchange(open_, std::nullopt));
  }

  // A call whose arguments are not an object cannot be represented here.
  void add_call(const OpenCall& call) {
    auto arguments = parse_json(call.arguments.empty() ? "{}" : call.arguments);
    if (!arguments.ok() || !arguments->is_object()) return;
    calls_.push_back(
        {{"id", random_id("call_")},
         {"function", {{"index", n_calls_++}, {"name", call.name}, {"arguments", std::move(*arguments)}}}});
  }

  Json take_calls() { return std::exchange(calls_, Json::array()); }

  OllamaAnswerForm form_;
  std::optional<OpenCall> open_;
  Json calls_ = Json::array();
  size_t n_calls_ = 0;
  Json last_;  // line of a stream
  // For a whole answer:
  std::string content_, thinking_;
  TokenLog logprobs_;
};

Status check_generates(const OllamaRequest& request, const char* what) {
  if (request.model.loaded->info.gives_text) return {};
  return invalid_argument(fmt::format("\"{}\" does not support {}", shown(request.model_name), what), "model");
}

// The template of the request, or of the model alias; null: the model's own.
Result<std::shared_ptr<const text::ChatTemplate>> template_of(const std::string& own, const OllamaRequest& request) {
  if (!own.empty()) return text::compile_ollama_template(own);
  return request.made == nullptr ? nullptr : request.made->chat_template;
}

// The alias's system message is used if the client has none; its messages precede the client's.
Status add_made_messages(OllamaRequest& request) {
  if (request.made == nullptr) return {};
  std::vector<ChatMessage>& messages = request.chat.messages;
  RZ_TRY(const Json made, parse_json(request.made->messages));
  RZ_TRY(std::vector<ChatMessage> all, read_chat_messages(made, "messages"));
  std::ranges::move(messages, std::back_inserter(all));
  const bool has_system =
      std::ranges::any_of(all, [](const ChatMessage& message) { return message.role == Role::kSystem; });
  if (!has_system && !request.made->system.empty()) all.insert(all.begin(), {Role::kSystem, request.made->system});
  messages = std::move(all);
  return {};
}

// An immediate answer with an empty message and additional members.
Prepared empty_answer(const OllamaRequest& request, bool is_chat, const char* role, const Json& more) {
  Json json = empty_ollama_answer(request.model_name, is_chat, role);
  json.update(more);
  return prepared(json, kOllamaJson);
}

Prepared loaded_answer(const OllamaRequest& request, bool is_chat) {
  const bool unloads = request.keep_alive && request.keep_alive->duration && request.keep_alive->duration->count() == 0;
  return empty_answer(request, is_chat, "assistant", {{"done", true}, {"done_reason", unloads ? "unload" : "load"}});
}

// Limits the answer to the rest of the context after the prompt.
void limit_answer(const OllamaRequest& request, size_t n_prompt, GenerationFields& generation) {
  if (request.max_context == 0 || request.shifts) return;
  const uint32_t n_ctx = max_ollama_context(request);
  const uint32_t n_left = n_ctx > n_prompt ? n_ctx - static_cast<uint32_t>(n_prompt) : 1;
  auto& max_tokens = generation.request.max_tokens;
  max_tokens = std::min(max_tokens.value_or(n_left), n_left);
}

// An answer without a limit ends after ten contexts, as in Ollama.
ContextShift shift_of(const OllamaRequest& request, const GenerationFields& generation) {
  constexpr uint32_t kMaxContexts = 10;
  if (!request.shifts) return {};
  const uint32_t n_ctx = std::max(max_ollama_context(request), 2u);
  const uint32_t most = kMaxContexts * std::min(n_ctx, UINT32_MAX / kMaxContexts);
  return {n_ctx, request.n_keep, std::min(generation.request.max_tokens.value_or(most), most)};
}

Result<Prepared> plan_ollama(ChatPrompt prompt, OllamaRequest& request, bool is_chat, bool gives_context) {
  if (request.renders_only) {  // returns the model's input instead of its answer
    const Json rendered{{"rendered_template", prompt.text}};
    return empty_answer(request, is_chat, "", {{"done", false}, {"_debug_info", rendered}});
  }
  const char* field = is_chat ? "messages" : "prompt";
  RZ_CHECK_OK(cut_ollama_prompt(request, field, prompt.tokens));
  RZ_CHECK_OK(check_prompt_length(prompt.tokens.size(), field, request.model, request.context));
  GenerationFields& generation = request.chat.generation;
  limit_answer(request, prompt.tokens.size(), generation);
  OllamaAnswerForm form{.model = request.model_name,
                        .is_chat = is_chat,
                        .gives_context = gives_context,
                        .logprobs = generation.request.logprobs,
                        .token = token_text(request.model.tokenizer()),
                        .start = request.context.start,
                        .load_ms = request.context.load_ms};
  const ContextShift shift = shift_of(request, generation);
  if (shift.is_on()) generation.request.max_tokens = first_limit(shift, prompt.tokens.size());
  CompletionPlan plan = plan_of(std::move(generation), std::move(prompt), request.model, request.context);
  plan.shift = shift;
  plan.writer = std::make_unique<OllamaWriter>(std::move(form));
  return prepared(std::move(plan));
}

Status read_message_array(const Json& messages, const char*, OllamaRequest& into) {
  RZ_TRY(into.chat.messages, read_ollama_messages(messages));
  return {};
}

constexpr Field<OllamaRequest> kOllamaChatFields[] = {
    {"messages", of_list<read_message_array>},
    {"tools", of_list<read_openai_tools>},
};

Result<Prepared> read_ollama_chat(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  OllamaRequest request(*model, context);
  RZ_CHECK_OK(read_ollama_request(body, request));
  RZ_CHECK_OK(check_generates(request, "chat"));
  RZ_CHECK_OK(read_fields(kOllamaChatFields, body, request));
  apply_keep_alive(request.keep_alive, *model, context);
  if (request.chat.messages.empty()) return loaded_answer(request, true);
  RZ_CHECK_OK(add_made_messages(request));
  RZ_TRY(const auto chat_template, template_of("", request));
  const bool has_tools = !request.chat.tools.tools.empty();
  if (chat_template == nullptr && model->loaded->template_for(has_tools) == nullptr) {
    return invalid_argument(fmt::format("\"{}\" does not support chat", shown(request.model_name)), "model");
  }
  RZ_TRY(ChatPrompt prompt, ollama_chat_prompt(request, chat_template.get()));
  return plan_ollama(std::move(prompt), request, true, false);
}

struct GenerateRequest : OllamaRequest {
  using OllamaRequest::OllamaRequest;

  std::string prompt, suffix, system, chat_template;
  bool is_raw = false;
  std::vector<TokenId> context;
};

Status read_context(const Json& context, const char* name, GenerateRequest& into) {
  RZ_TRY(into.context, read_token_ids(context, name, "token ids", into.model));
  return {};
}

Status refuse_generate_images(Fields& body, const char*, GenerateRequest&) {
  return refuse_images(body.json(), "");
}

constexpr Field<GenerateRequest> kGenerateFields[] = {
    {"prompt", take_string<&GenerateRequest::prompt>},
    {"suffix", take_string<&GenerateRequest::suffix>},
    {"system", take_string<&GenerateRequest::system>},
    {"template", take_string<&GenerateRequest::chat_template>},
    {"raw", take_flag<&GenerateRequest::is_raw>},
    {"images", refuse_generate_images},
    {"context", of_list<read_context>},
};

Result<ChatPrompt> plain_prompt(const GenerateRequest& request) {
  const ServedModel& model = request.model;
  RZ_CHECK_OK(check_text_length({request.prompt, request.suffix}, "prompt", model));
  ChatPrompt prompt;
  prompt.text = request.prompt;
  auto tokens = gap_prompt(model.tokenizer(), request.prompt, request.suffix);
  if (!tokens) {
    return invalid_argument(fmt::format("\"{}\" does not support insert", shown(request.model_name)), "suffix");
  }
  prompt.tokens = std::move(*tokens);
  RZ_TRY(prompt.constraint, constraint_of(request.chat.form, model));
  return prompt;
}

// A turn of a chat. The tokens of earlier turns precede its own.
Result<ChatPrompt> turn_prompt(GenerateRequest& request, const text::ChatTemplate* chat_template) {
  std::vector<ChatMessage>& messages = request.chat.messages;
  if (!request.system.empty()) messages.push_back({Role::kSystem, request.system});
  messages.push_back({Role::kUser, request.prompt});
  // The conversation already has its beginning.
  if (request.context.empty()) RZ_CHECK_OK(add_made_messages(request));
  RZ_TRY(ChatPrompt prompt, ollama_chat_prompt(request, chat_template));
  if (request.context.empty()) return prompt;
  const auto bos = request.model.tokenizer().bos();
  const bool repeats_bos = bos && !prompt.tokens.empty() && prompt.tokens.front() == *bos;
  prompt.tokens.erase(prompt.tokens.begin(), prompt.tokens.begin() + (repeats_bos ? 1 : 0));
  prompt.tokens.insert(prompt.tokens.begin(), request.context.begin(), request.context.end());
  return prompt;
}

Result<Prepared> read_ollama_generate(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  GenerateRequest request(*model, context);
  RZ_CHECK_OK(read_ollama_request(body, request));
  RZ_CHECK_OK(check_generates(request, "generate"));
  RZ_CHECK_OK(read_fields(kGenerateFields, body, request));
  const bool has_form = !request.system.empty() || !request.chat_template.empty() || !request.context.empty();
  if (request.is_raw && has_form) {
    return wrong("raw", "cannot be given together with template, system or context");
  }
  apply_keep_alive(request.keep_alive, *model, context);
  if (request.prompt.empty() && request.suffix.empty()) return loaded_answer(request, false);
  RZ_TRY(const auto chat_template, template_of(request.chat_template, request));
  const bool has_template = chat_template != nullptr || model->loaded->chat_template;
  if (!has_template && !request.system.empty()) {
    return wrong("system", "the model has no chat template to place it in");
  }
  const bool is_plain = request.is_raw || !request.suffix.empty() || !has_template;
  auto prompt = is_plain ? plain_prompt(request) : turn_prompt(request, chat_template.get());
  if (!prompt.ok()) return prompt.error();
  return plan_ollama(std::move(*prompt), request, false, !request.is_raw);
}

}  // namespace

// White space before a line keeps a stream alive: its readers support nothing else.
const Protocol kOllama{.spell_error = ollama_error, .keep_alive = " "};
const Protocol kOllamaChat{.read = read_ollama_chat,
                           .fields = fields_of<kOllamaChatFields, ollama_fields>,
                           .model_id = ollama_model_id,
                           .spell_error = ollama_error,
                           .content_type = kOllamaLines,
                           .keep_alive = " ",
                           .terminator = ""};
const Protocol kOllamaGenerate{.read = read_ollama_generate,
                               .fields = fields_of<kGenerateFields, ollama_fields>,
                               .model_id = ollama_model_id,
                               .spell_error = ollama_error,
                               .content_type = kOllamaLines,
                               .keep_alive = " ",
                               .terminator = ""};

}  // namespace realizar::server
