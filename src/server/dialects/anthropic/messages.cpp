// POST /v1/messages and /v1/messages/count_tokens (https://docs.claude.com/en/api/messages).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/protocol.h"
#include "server/call/request_context.h"
#include "server/dialects/anthropic/message_input.h"

namespace realizar::server {
namespace {

using Kind = text::OutputEvent::Kind;

std::string event(const char* type, const Json& fields) {
  Json json{{"type", type}};
  json.update(fields);
  return fmt::format("event: {}\ndata: {}\n\n", type, dump(json));
}

// A part of the answer: thinking, text, or a call.
struct Block {
  Kind kind;
  std::string id, name;  // of a call
  std::string text;      // for a call, its arguments' JSON
};

// A call's arguments must be an object; nullopt: the text was cut off before that.
std::optional<Json> arguments_of(const Block& call) {
  auto parsed = parse_json(call.text);
  return parsed.ok() && parsed->is_object() ? std::optional(std::move(*parsed)) : std::nullopt;
}

Json block_json(const Block& block) {
  if (block.kind == Kind::kReasoning) return {{"type", "thinking"}, {"thinking", block.text}, {"signature", ""}};
  if (block.kind == Kind::kContent) return {{"type", "text"}, {"text", block.text}, {"citations", nullptr}};
  return {{"type", "tool_use"},
          {"id", block.id},
          {"name", block.name},
          {"input", arguments_of(block).value_or(Json::object())}};
}

// Cached tokens are reported separately from the rest of the prompt.
Json message_usage_json(const Usage& usage) {
  return {{"input_tokens", usage.n_prompt - usage.n_cached},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", usage.n_cached},
          {"cache_creation", nullptr},
          {"output_tokens", usage.n_completion},
          {"server_tool_use", nullptr},
          {"service_tier", "standard"}};
}

constexpr int kOverloaded = 529;

const char* error_type(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 404) return "not_found_error";
  if (status == 413) return "request_too_large";
  if (status == 429) return "rate_limit_error";
  if (status == 504) return "timeout_error";
  if (status == kOverloaded) return "overloaded_error";
  return status >= 500 ? "api_error" : "invalid_request_error";
}

// The invalid field has no place of its own in this format. Claude Code shortens a conversation when it reads that the
// prompt is too long.
std::string message_of(const ApiError& error) {
  const bool names_field = error.message.find(error.param) != std::string::npos;
  if (error.code != "context_length_exceeded") return names_field ? error.message : error.param + ": " + error.message;
  if (error.n_prompt == 0) return "prompt is too long: " + error.message;
  return fmt::format("prompt is too long: {} tokens > {} maximum", error.n_prompt, error.n_ctx);
}

class MessageWriter final : public ResponseWriter {
 public:
  MessageWriter(std::string model, size_t n_prompt, bool omits_thinking)
      : id_(random_id("msg_")),
        model_(std::move(model)),
        n_prompt_(static_cast<uint32_t>(n_prompt)),
        omits_thinking_(omits_thinking) {}

  // Events begin once the number of cached tokens is known: after the prompt's first step.
  std::string stream_update(size_t, const ChoiceUpdate& update) override {
    const bool is_known = update.timings.n_prompt > update.timings.n_cached || !update.events.empty();
    std::string bytes = is_known ? begin(update.timings.n_cached) : std::string();
    for (const text::OutputEvent& e : update.events) bytes += take(e);
    return bytes;
  }

  std::string stream_choice_end(size_t, const Choice& choice) override {
    std::string bytes = begin(choice.end().stats.n_cached);
    note_end(choice);
    return bytes += close_block();
  }

  std::string stream_end(const Usage& usage, const Json* trace) override {
    Json last{{"delta", {{"stop_reason", stop_reason_}, {"stop_sequence", stop_sequence_}}},
              {"usage", message_usage_json(usage)}};
    if (trace != nullptr) last["trace"] = *trace;
    return event("message_delta", last) + event("message_stop", Json::object());
  }

  std::string stream_error(const ApiError& error) override {
    return fmt::format("event: error\ndata: {}\n\n", message_error_response(error).body);
  }

  void collect(size_t, ChoiceUpdate update) override {
    for (const text::OutputEvent& e : update.events) take(e);
  }

  Json whole(const Choices& choices, const Usage& usage, JsonPieces& pieces) override {
    note_end(*choices[0]);
    const auto is_cut = [](const Block& block) { return block.kind == Kind::kToolCallBegin && !arguments_of(block); };
    std::erase_if(blocks_, is_cut);
    Json message = message_json(message_usage_json(usage));
    message["content"] = pieces.list(blocks_.size(), [this](size_t i) { return block_json(blocks_[i]); });
    return message;
  }

 private:
  std::string begin(uint32_t n_cached) {
    if (std::exchange(has_begun_, true)) return {};
    return event("message_start",
                 {{"message", message_json(message_usage_json({.n_prompt = n_prompt_, .n_cached = n_cached}))}});
  }

  Json message_json(Json usage) const {
    return {{"id", id_},
            {"type", "message"},
            {"role", "assistant"},
            {"model", model_},
            {"content", Json::array()},
            {"stop_reason", stop_reason_},
            {"stop_sequence", stop_sequence_},
            {"usage", std::move(usage)}};
  }

  void note_end(const Choice& choice) {
    const bool is_at_stop = !choice.stop_string().empty();
    if (is_at_stop) stop_sequence_ = choice.stop_string();
    if (choice.is_cut()) {
      const bool is_context_full = choice.end().finish_reason == FinishReason::kContext;
      stop_reason_ = is_context_full ? "model_context_window_exceeded" : "max_tokens";
    } else if (is_at_stop) {
      stop_reason_ = "stop_sequence";
    } else {
      stop_reason_ = std::string_view(choice.finish_reason()) == "tool_calls" ? "tool_use" : "end_turn";
    }
  }

  // The events for new content; whole answers drop them.
  std::string take(const text::OutputEvent& e) {
    if (e.kind == Kind::kToolCallEnd) return close_block();
    const Kind kind = e.kind == Kind::kToolCallArguments ? Kind::kToolCallBegin : e.kind;
    const bool continues = is_open_ && blocks_.back().kind == kind && e.kind != Kind::kToolCallBegin;
    std::string bytes;
    if (!continues) {
      bytes = close_block();
      bytes += open_block(e);
    }
    if (e.kind == Kind::kToolCallBegin || (kind == Kind::kReasoning && omits_thinking_)) return bytes;
    blocks_.back().text += e.text;
    return bytes + delta(e);
  }

  std::string open_block(const text::OutputEvent& e) {
    const bool is_call = e.kind == Kind::kToolCallBegin;
    blocks_.push_back({e.kind, is_call ? random_id("toolu_") : "", is_call ? e.text : "", ""});
    is_open_ = true;
    return block_event("content_block_start", {{"content_block", block_json(blocks_.back())}});
  }

  std::string delta(const text::OutputEvent& e) const {
    if (e.kind == Kind::kReasoning) return block_delta({{"type", "thinking_delta"}, {"thinking", e.text}});
    if (e.kind == Kind::kContent) return block_delta({{"type", "text_delta"}, {"text", e.text}});
    return block_delta({{"type", "input_json_delta"}, {"partial_json", e.text}});
  }

  std::string close_block() {
    if (!std::exchange(is_open_, false)) return {};
    std::string bytes;
    if (blocks_.back().kind == Kind::kReasoning) {
      bytes = block_delta({{"type", "signature_delta"}, {"signature", ""}});
    }
    return bytes += block_event("content_block_stop", Json::object());
  }

  std::string block_delta(const Json& delta) const { return block_event("content_block_delta", {{"delta", delta}}); }

  std::string block_event(const char* type, const Json& fields) const {
    Json json{{"index", blocks_.size() - 1}};
    json.update(fields);
    return event(type, json);
  }

  std::string id_, model_;
  uint32_t n_prompt_;
  bool omits_thinking_;
  std::vector<Block> blocks_;
  bool has_begun_ = false;  // message_start was sent
  bool is_open_ = false;    // the last block
  Json stop_reason_, stop_sequence_;
};

Result<Prepared> read_message(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  MessageReading asked(*model, context);
  RZ_CHECK_OK(read_whole_message(body, asked));
  RZ_TRY(ChatPrompt prompt, chat_prompt(asked.chat, *model));
  RZ_CHECK_OK(check_prompt_length(prompt.tokens.size(), "messages", *model, context));
  auto writer = std::make_unique<MessageWriter>(told_name(context, *model), prompt.tokens.size(), asked.omits_thinking);
  CompletionPlan plan = plan_of(std::move(asked.chat.generation), std::move(prompt), *model, context);
  plan.writer = std::move(writer);
  plan.tells_progress = true;
  return prepared(std::move(plan));
}

Result<Prepared> count_tokens(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  MessageReading asked(*model, context);
  RZ_CHECK_OK(read_message_fields(body, asked));
  RZ_TRY(const ChatPrompt prompt, chat_prompt(asked.chat, *model));
  return prepared(Json{{"input_tokens", prompt.tokens.size()}});
}

constexpr std::string_view kPing = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

}  // namespace

HttpResponse message_error_response(const ApiError& error) {
  HttpResponse response = error_response(error);
  if (error.status == 503) response.status = kOverloaded;
  response.body = dump({{"type", "error"},
                        {"error", {{"type", error_type(response.status)}, {"message", bounded(message_of(error))}}},
                        {"request_id", error.request_id}});
  return response;
}

bool is_anthropic(const HttpRequest& request) {
  return !request.header("anthropic-version").empty();
}

const Protocol kMessages{.read = read_message,
                         .fields = message_fields,
                         .gives_text = true,
                         .spell_error = message_error_response,
                         .id_header = "request-id",
                         .keep_alive = kPing,
                         .terminator = ""};
const Protocol kMessageTokens{.read = count_tokens,
                              .fields = message_fields,
                              .gives_text = true,
                              .spell_error = message_error_response,
                              .id_header = "request-id"};

}  // namespace realizar::server
