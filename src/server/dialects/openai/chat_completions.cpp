// POST /v1/chat/completions (https://platform.openai.com/docs/api-reference/chat).
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/chat_tools.h"
#include "server/call/logprobs.h"
#include "server/call/protocol.h"
#include "server/call/request_context.h"
#include "server/dialects/openai/chat_fields.h"
#include "server/dialects/openai/openai_writer.h"

namespace realizar::server {
namespace {

using Kind = text::OutputEvent::Kind;

struct Message {
  std::string content, reasoning;
  Json tool_calls = Json::array();
  TokenLog logprobs;
  bool has_content = false;
  bool has_begun = false;             // its stream
  std::optional<CustomInput> custom;  // of the last call, where that is a custom tool's
};

struct ChatExtras {
  AnswerExtras wanted;
  size_t n_prompt = 0;
  bool begins_with_null = false;  // the first chunk of a stream, as in llama-server
  Json verbose;                   // null unless requested
};

struct CallSpellings {
  bool is_legacy = false;                 // as message.function_call, for older clients
  std::vector<std::string> custom_tools;  // tools whose calls have a text instead of arguments
};

class ChatWriter final : public OpenAiWriter {
 public:
  ChatWriter(std::string model, TokenText token, const GenerationFields& generation, CallSpellings calls,
             ChatExtras extras)
      : OpenAiWriter("chatcmpl-", std::move(model), generation.include_usage, extras.wanted),
        token_(std::move(token)),
        logprobs_(generation.request.logprobs),
        calls_(std::move(calls)),
        chat_extras_(std::move(extras)),
        messages_(generation.n) {}

  std::string stream_update(size_t choice_idx, const ChoiceUpdate& update) override {
    const bool is_call = !update.events.empty() && update.events[0].kind == Kind::kToolCallBegin;
    std::string bytes = begin(choice_idx, is_call);
    bytes += progress_chunks(update, choice_json(choice_idx, Json::object()), chat_extras_.n_prompt);
    Json logprobs = logprobs_ ? spelled(update.tokens, ChatLogprob{token_}) : Json();
    for (const text::OutputEvent& event : update.events) {
      const Json delta = delta_of(event, messages_[choice_idx]);
      if (delta.is_null()) continue;
      bytes += sse(chunk_json(choice_json(choice_idx, delta, std::exchange(logprobs, Json())), &update.timings));
    }
    // Tokens whose text is held back still have their probabilities.
    if (!logprobs.is_null() && !update.tokens.empty()) {
      bytes += sse(chunk_json(choice_json(choice_idx, Json::object(), logprobs), &update.timings));
    }
    return bytes;
  }

  std::string stream_choice_end(size_t choice_idx, const Choice& choice) override {
    std::string bytes = begin(choice_idx, false);
    const Timings timings = choice.timings();
    Json json = chunk_json(choice_json(choice_idx, Json::object(), Json(), finish_reason_of(choice)), &timings);
    if (extras_.verbose) json["__verbose"] = verbose_json(timings);
    return bytes += sse(json);
  }

  void collect(size_t choice_idx, ChoiceUpdate update) override {
    Message& message = messages_[choice_idx];
    for (const text::OutputEvent& event : update.events) add(message, event);
    if (logprobs_) message.logprobs.append(update.tokens);
  }

  Json whole(const Choices& choices, const Usage& usage, JsonPieces& pieces) override {
    Json json = head(false);
    json["choices"] = pieces.list(choices.size(), [this, &choices, &pieces](size_t i) {
      Json choice{{"index", i},
                  {"message", message_json(messages_[i])},
                  {"logprobs", nullptr},
                  {"finish_reason", finish_reason_of(*choices[i])}};
      if (logprobs_) {
        Json list = spelled(messages_[i].logprobs, ChatLogprob{token_}, pieces);
        choice["logprobs"] = {{"content", std::move(list)}, {"refusal", nullptr}};
      }
      return choice;
    });
    json["usage"] = usage_json(usage);
    if (extras_.timings) json["timings"] = timings_json(choices[0]->timings());
    if (extras_.verbose) json["__verbose"] = verbose_json(choices[0]->timings());
    return json;
  }

 private:
  Json verbose_json(const Timings& timings) const {
    Json json = chat_extras_.verbose;
    json["tokens_evaluated"] = chat_extras_.n_prompt;
    json["tokens_cached"] = timings.n_cached;
    json["timings"] = timings_json(timings);
    return json;
  }

  Json head(bool is_chunk) const override {
    Json json = OpenAiWriter::head(is_chunk);
    json["service_tier"] = "default";
    json["system_fingerprint"] = system_fingerprint();
    return json;
  }

  Json usage_json(const Usage& usage) const override {
    Json json = OpenAiWriter::usage_json(usage);
    json["prompt_tokens_details"] = {{"audio_tokens", 0}, {"cached_tokens", usage.n_cached}};
    json["completion_tokens_details"] = {{"accepted_prediction_tokens", 0},
                                         {"audio_tokens", 0},
                                         {"reasoning_tokens", usage.n_reasoning},
                                         {"rejected_prediction_tokens", 0}};
    return json;
  }

  // The first chunk of a choice has its role. An answer that begins with a call has no content.
  std::string begin(size_t choice_idx, bool is_call) {
    if (std::exchange(messages_[choice_idx].has_begun, true)) return {};
    const bool is_null = is_call || chat_extras_.begins_with_null;
    const Json delta{{"role", "assistant"}, {"content", is_null ? Json() : Json("")}};
    return sse(chunk_json(choice_json(choice_idx, delta)));
  }

  static Json choice_json(size_t choice_idx, Json delta, Json logprobs = Json(), const char* finish_reason = nullptr) {
    if (!logprobs.is_null()) logprobs = {{"content", std::move(logprobs)}, {"refusal", nullptr}};
    return {{"index", choice_idx},
            {"delta", std::move(delta)},
            {"logprobs", std::move(logprobs)},
            {"finish_reason", finish_reason == nullptr ? Json() : Json(finish_reason)}};
  }

  const char* finish_reason_of(const Choice& choice) const {
    const char* reason = choice.finish_reason();
    return calls_.is_legacy && std::string_view(reason) == "tool_calls" ? "function_call" : reason;
  }

  // Null for an event without a delta of its own.
  Json delta_of(const text::OutputEvent& event, Message& message) const {
    if (event.kind == Kind::kReasoning) return {{"reasoning_content", event.text}};
    if (event.kind == Kind::kContent) return {{"content", event.text}};
    if (event.kind != Kind::kToolCallBegin) return arguments_delta(event, message);
    Json call = begun_call(event.text, message);
    if (calls_.is_legacy) return {{"function_call", std::move(call["function"])}};
    Json indexed{{"index", event.call_idx}};
    indexed.update(call);
    return call_delta(std::move(indexed));
  }

  Json arguments_delta(const text::OutputEvent& event, Message& message) const {
    const std::string text = arguments_of(event, message);
    if (text.empty()) return {};
    if (calls_.is_legacy) return {{"function_call", {{"arguments", text}}}};
    if (message.custom) return call_delta({{"index", event.call_idx}, {"custom", {{"input", text}}}});
    return call_delta({{"index", event.call_idx}, {"function", {{"arguments", text}}}});
  }

  // The part of a call's arguments, or of the text in their place, that an event adds.
  static std::string arguments_of(const text::OutputEvent& event, Message& message) {
    if (!message.custom) return event.text;
    return event.kind == Kind::kToolCallEnd ? message.custom->finish() : message.custom->push(event.text);
  }

  Json begun_call(const std::string& name, Message& message) const {
    const bool is_custom = std::ranges::find(calls_.custom_tools, name) != calls_.custom_tools.end();
    message.custom = is_custom ? std::optional<CustomInput>(std::in_place) : std::nullopt;
    const Json id = random_id("call_");
    if (is_custom) return {{"id", id}, {"type", "custom"}, {"custom", {{"name", name}, {"input", ""}}}};
    return {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", ""}}}};
  }

  static Json call_delta(Json call) {
    Json calls = Json::array();
    calls.push_back(std::move(call));
    return {{"tool_calls", std::move(calls)}};
  }

  void add(Message& message, const text::OutputEvent& event) const {
    if (event.kind == Kind::kReasoning) {
      message.reasoning += event.text;
    } else if (event.kind == Kind::kContent) {
      message.content += event.text;
      message.has_content = true;
    } else if (event.kind == Kind::kToolCallBegin) {
      message.tool_calls.push_back(begun_call(event.text, message));
    } else {
      Json& call = message.tool_calls.back();
      Json& text = message.custom ? call["custom"]["input"] : call["function"]["arguments"];
      text.get_ref<std::string&>() += arguments_of(event, message);
    }
  }

  Json message_json(const Message& message) const {
    Json json{
        {"role", "assistant"}, {"content", message.content}, {"refusal", nullptr}, {"annotations", Json::array()}};
    if (!message.has_content && !message.tool_calls.empty()) json["content"] = nullptr;
    if (!message.reasoning.empty()) json["reasoning_content"] = message.reasoning;
    if (message.tool_calls.empty()) return json;
    if (calls_.is_legacy) {
      json["function_call"] = message.tool_calls[0]["function"];
    } else {
      json["tool_calls"] = message.tool_calls;
    }
    return json;
  }

  TokenText token_;
  bool logprobs_;
  CallSpellings calls_;
  ChatExtras chat_extras_;
  std::vector<Message> messages_;
};

struct ChatCompletion : OpenAiChat {
  using OpenAiChat::OpenAiChat;

  AnswerExtras extras;
};

constexpr auto kAnswered = &ChatCompletion::generation;
constexpr auto kAsked = &GenerationFields::request;

constexpr Field<ChatCompletion> kChatCompletionFields[] = {
    {"model", apart},
    {"logprobs", take_flag<kAnswered, kAsked, &Request::logprobs>},
    {"top_logprobs", take_whole<0, kMaxTopLogprobs, kAnswered, kAsked, &Request::n_logprobs>},
};
KnownFields chat_completion_fields() {
  // Fields of OpenAI's own service, of vLLM, and of llama.cpp's other routes.
  const KnownFields foreign = without_effect(
      "audio", "cache_prompt", "chat_template", "documents", "guided_decoding_backend", "guided_whitespace_pattern",
      "include_reasoning", "include_stop_str_in_output", "kv_transfer_params", "length_penalty", "logits_processors",
      "metadata", "min_keep", "mm_processor_kwargs", "modalities", "n_discard", "parse_tool_calls", "prediction",
      "prompt_cache_key", "prompt_cache_retention", "prompt_logprobs", "reasoning", "request_id",
      "return_tokens_as_token_ids", "safe_prompt", "safety_identifier", "service_tier", "skip_special_tokens",
      "spaces_between_special_tokens", "store", "truncate_prompt_tokens", "use_beam_search", "user", "verbosity",
      "vllm_xargs", "web_search_options");
  return known_in(kChatCompletionFields, foreign, generation_fields(), function_fields(), openai_chat_fields(),
                  extra_fields());
}

Status read_chat_completion(Fields& body, ChatCompletion& into) {
  RZ_CHECK_OK(read_generation_fields(body, into));
  RZ_CHECK_OK(read_function_fields(body, into));
  RZ_CHECK_OK(read_openai_chat(body, into));
  RZ_CHECK_OK(read_fields(kChatCompletionFields, body, into));
  const Request& request = into.generation.request;
  if (request.n_logprobs > 0 && !request.logprobs) return wrong("top_logprobs", "needs logprobs to be true");
  into.extras.verbose = into.model.defaults->verbose;
  RZ_CHECK_OK(read_answer_extras(body, into.extras));
  return into.finish();
}

Result<Prepared> read_chat(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  ChatCompletion asked(*model, context);
  RZ_CHECK_OK(read_chat_completion(body, asked));
  RZ_TRY(ChatPrompt prompt, chat_prompt(asked.chat, *model));
  RZ_CHECK_OK(check_prompt_length(prompt.tokens.size(), "messages", *model, context));
  GenerationFields& generation = asked.chat.generation;
  ChatExtras extras{asked.extras, prompt.tokens.size(), context.llama_answers, {}};
  if (extras.wanted.verbose) {
    extras.verbose = {{"prompt", prompt.text}, {"generation_settings", generation_settings(generation)}};
  }
  CallSpellings calls{asked.has_functions, std::move(prompt.custom_tools)};
  auto writer = std::make_unique<ChatWriter>(told_name(context, *model), token_text(model->tokenizer()), generation,
                                             std::move(calls), std::move(extras));
  CompletionPlan plan = plan_of(std::move(generation), std::move(prompt), *model, context);
  plan.writer = std::move(writer);
  plan.tells_progress = asked.extras.progress;
  return prepared(std::move(plan));
}

}  // namespace

const Protocol kChatCompletions{
    .read = read_chat, .fields = chat_completion_fields, .gives_text = true, .tells_limits = true};

}  // namespace realizar::server
