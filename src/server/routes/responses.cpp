// POST /v1/responses, stateless (https://platform.openai.com/docs/api-reference/responses): nothing is stored, and what
// needs storage is refused.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/chat_prompt.h"
#include "server/request_fields.h"
#include "server/routes.h"

namespace realizar::server {
namespace {

using Kind = text::OutputEvent::Kind;

// One item of the answer: reasoning, a message, or a call.
struct Item {
  Kind kind;
  std::string id, call_id, name, text;
};

Json content_part(const std::string& text) {
  return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
}

Json item_json(const Item& item, bool is_done) {
  const char* status = is_done ? "completed" : "in_progress";
  if (item.kind == Kind::kReasoning) {
    Json content = Json::array();
    if (is_done) content.push_back({{"type", "reasoning_text"}, {"text", item.text}});
    return {
        {"type", "reasoning"}, {"id", item.id}, {"summary", Json::array()}, {"content", content}, {"status", status}};
  }
  if (item.kind == Kind::kToolCallBegin) {
    return {{"type", "function_call"}, {"id", item.id},          {"call_id", item.call_id},
            {"name", item.name},       {"arguments", item.text}, {"status", status}};
  }
  Json content = Json::array();
  if (is_done) content.push_back(content_part(item.text));
  return {{"type", "message"}, {"id", item.id}, {"role", "assistant"}, {"content", content}, {"status", status}};
}

class ResponsesDialect final : public Dialect {
 public:
  ResponsesDialect(const Json& body, std::string model, const Request& request)
      : id_(random_id("resp_")), model_(std::move(model)), created_(unix_now_s()) {
    echoed_ = {{"instructions", body.value("instructions", Json())},
               {"max_output_tokens", body.value("max_output_tokens", Json())},
               {"metadata", body.value("metadata", Json::object())},
               {"parallel_tool_calls", true},
               {"previous_response_id", nullptr},
               {"store", false},
               {"temperature", decimal(request.sampling.temperature)},
               {"text", body.value("text", Json{{"format", {{"type", "text"}}}})},
               {"tool_choice", body.value("tool_choice", Json("auto"))},
               {"tools", body.value("tools", Json::array())},
               {"top_p", decimal(request.sampling.top_p)},
               {"truncation", "disabled"}};
  }

  std::string stream_begin() override {
    const Json response = response_json("in_progress");
    std::string bytes = event("response.created", {{"response", response}});
    return bytes += event("response.in_progress", {{"response", response}});
  }

  std::string stream_news(size_t, const ChoiceNews& news) override {
    std::string bytes;
    for (const text::OutputEvent& e : news.events) bytes += take(e);
    return bytes;
  }

  std::string stream_choice_end(size_t, const Choice& choice) override {
    std::string bytes = close_item();
    is_cut_ = std::string_view(choice.finish_reason()) == "length";
    return bytes;
  }

  std::string stream_end(const Usage& usage, const Json* trace) override {
    Json response = final_json(usage);
    if (trace != nullptr) response["trace"] = *trace;
    return event(is_cut_ ? "response.incomplete" : "response.completed", {{"response", response}});
  }

  std::string stream_error(const ApiError& error) override {
    Json response = response_json("failed");
    response["error"] = {{"code", error.code.empty() ? "server_error" : error.code}, {"message", error.message}};
    return event("response.failed", {{"response", response}});
  }

  void collect(size_t, ChoiceNews news) override {
    for (const text::OutputEvent& e : news.events) take(e);
  }

  Json whole(const std::vector<std::unique_ptr<Choice>>& choices, const Usage& usage) override {
    is_cut_ = std::string_view(choices[0]->finish_reason()) == "length";
    close_item();
    return final_json(usage);
  }

 private:
  std::string event(const char* type, Json fields) {
    Json json{{"type", type}, {"sequence_number", n_events_++}};
    json.update(fields);
    return fmt::format("event: {}\ndata: {}\n\n", type, dump(json));
  }

  Json response_json(const char* status) const {
    Json json{{"id", id_},        {"object", "response"},          {"created_at", created_}, {"status", status},
              {"error", nullptr}, {"incomplete_details", nullptr}, {"model", model_},        {"output", Json::array()}};
    json.update(echoed_);
    json["usage"] = nullptr;
    return json;
  }

  Json final_json(const Usage& usage) const {
    Json json = response_json(is_cut_ ? "incomplete" : "completed");
    if (is_cut_) json["incomplete_details"] = {{"reason", "max_output_tokens"}};
    for (const Item& item : items_) json["output"].push_back(item_json(item, true));
    json["usage"] = {{"input_tokens", usage.n_prompt},
                     {"input_tokens_details", {{"cached_tokens", usage.n_cached}}},
                     {"output_tokens", usage.n_completion},
                     {"output_tokens_details", {{"reasoning_tokens", usage.n_reasoning}}},
                     {"total_tokens", usage.n_prompt + usage.n_completion}};
    return json;
  }

  // The events of one piece of output; whole answers drop them.
  std::string take(const text::OutputEvent& e) {
    if (e.kind == Kind::kToolCallEnd) return close_item();
    std::string bytes;
    const bool continues = is_open_ && (items_.back().kind == e.kind || (e.kind == Kind::kToolCallArguments &&
                                                                         items_.back().kind == Kind::kToolCallBegin));
    if (!continues || e.kind == Kind::kToolCallBegin) {
      bytes = close_item();
      bytes += open_item(e);
    }
    if (e.kind == Kind::kToolCallBegin) return bytes;
    items_.back().text += e.text;
    return bytes + delta(e.text);
  }

  std::string open_item(const text::OutputEvent& e) {
    const char* prefix = e.kind == Kind::kReasoning ? "rs_" : e.kind == Kind::kContent ? "msg_" : "fc_";
    items_.push_back({e.kind, random_id(prefix), "", "", ""});
    Item& item = items_.back();
    if (e.kind == Kind::kToolCallBegin) {
      item.call_id = random_id("call_");
      item.name = e.text;
    }
    is_open_ = true;
    std::string bytes =
        event("response.output_item.added", {{"output_index", items_.size() - 1}, {"item", item_json(item, false)}});
    if (e.kind == Kind::kContent) bytes += part_event("response.content_part.added", {{"part", content_part("")}});
    return bytes;
  }

  std::string delta(const std::string& text) {
    switch (items_.back().kind) {
      case Kind::kContent:
        return part_event("response.output_text.delta", {{"delta", text}, {"logprobs", Json::array()}});
      case Kind::kReasoning:
        return part_event("response.reasoning_text.delta", {{"delta", text}});
      default:
        return item_event("response.function_call_arguments.delta", {{"delta", text}});
    }
  }

  std::string close_item() {
    if (!std::exchange(is_open_, false)) return {};
    const Item& item = items_.back();
    std::string bytes;
    if (item.kind == Kind::kContent) {
      bytes = part_event("response.output_text.done", {{"text", item.text}, {"logprobs", Json::array()}});
      bytes += part_event("response.content_part.done", {{"part", content_part(item.text)}});
    } else if (item.kind == Kind::kReasoning) {
      bytes = part_event("response.reasoning_text.done", {{"text", item.text}});
    } else {
      bytes = item_event("response.function_call_arguments.done", {{"name", item.name}, {"arguments", item.text}});
    }
    return bytes +=
           event("response.output_item.done", {{"output_index", items_.size() - 1}, {"item", item_json(item, true)}});
  }

  std::string item_event(const char* type, const Json& fields) {
    Json json{{"item_id", items_.back().id}, {"output_index", items_.size() - 1}};
    json.update(fields);
    return event(type, json);
  }
  std::string part_event(const char* type, const Json& fields) {
    Json json{{"content_index", 0}};
    json.update(fields);
    return item_event(type, json);
  }

  std::string id_, model_;
  int64_t created_;
  Json echoed_;
  std::vector<Item> items_;
  bool is_open_ = false, is_cut_ = false;
  uint64_t n_events_ = 0;
};

// An item of the input as a chat message.
Result<Json> message_of(const Json& item, const std::string& where) {
  if (!item.is_object()) return wrong(where, "expected an object");
  const Json type = item.value("type", Json("message"));
  if (type == "message") return Json{{"role", item.value("role", Json())}, {"content", item.value("content", Json())}};
  if (type == "function_call") {
    Json call{{"id", item.value("call_id", Json())},
              {"type", "function"},
              {"function", {{"name", item.value("name", Json())}, {"arguments", item.value("arguments", Json("{}"))}}}};
    return Json{{"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array({call})}};
  }
  if (type == "function_call_output") {
    const Json output = item.value("output", Json());
    return Json{{"role", "tool"},
                {"tool_call_id", item.value("call_id", Json())},
                {"content", output.is_string() || output.is_array() ? output : Json(dump(output))}};
  }
  return wrong(where + ".type", "expected message, function_call or function_call_output");
}

// The same as the body of a chat completion.
Result<Json> chat_body(const Json& body) {
  const Json input = body.value("input", Json());
  Json chat = body;
  Json messages = Json::array();
  if (body.contains("instructions") && body["instructions"].is_string()) {
    messages.push_back({{"role", "system"}, {"content", body["instructions"]}});
  }
  if (input.is_string()) {
    messages.push_back({{"role", "user"}, {"content", input}});
  } else if (input.is_array()) {
    for (size_t i = 0; i < input.size(); ++i) {
      if (input[i].is_object() && input[i].value("type", Json()) == "reasoning") continue;
      RZ_TRY(Json message, message_of(input[i], fmt::format("input[{}]", i)));
      messages.push_back(std::move(message));
    }
  } else {
    return wrong("input", "expected a string or an array of items");
  }
  chat["messages"] = std::move(messages);
  chat["max_completion_tokens"] = body.value("max_output_tokens", Json());
  chat.erase("max_tokens");
  if (body.contains("tools") && body["tools"].is_array()) {
    chat["tools"] = Json::array();
    for (const Json& tool : body["tools"]) {
      if (!tool.is_object() || tool.value("type", Json()) != "function") return wrong("tools", "expected functions");
      chat["tools"].push_back({{"type", "function"}, {"function", tool}});
    }
  }
  if (const Json choice = body.value("tool_choice", Json()); choice.is_object()) {
    chat["tool_choice"] = {{"type", "function"}, {"function", {{"name", choice.value("name", Json())}}}};
  }
  if (body.contains("text") && body["text"].is_object() && body["text"].contains("format")) {
    const Json& format = body["text"]["format"];
    chat["response_format"] = format;
    if (format.is_object() && format.value("type", Json()) == "json_schema") {
      chat["response_format"] = {{"type", "json_schema"}, {"json_schema", format}};
    }
  }
  if (body.contains("reasoning") && body["reasoning"].is_object() && body["reasoning"].contains("effort")) {
    chat["reasoning_effort"] = body["reasoning"]["effort"];
  }
  return chat;
}

Result<Prepared> prepare_response(const Json& body, const ServedModelPtr& model, const Call& call) {
  const auto start = Clock::now();
  for (const char* name : {"previous_response_id", "conversation"}) {
    if (body.contains(name) && !body[name].is_null()) return wrong(name, "this server stores no responses");
  }
  if (body.value("background", Json(false)) == true) return wrong("background", "this server stores no responses");
  Fields fields(body);
  fields.integer("max_output_tokens", 0, INT32_MAX);
  if (!fields.status().ok()) return fields.status().error();
  RZ_TRY(const Json chat, chat_body(body));
  RZ_TRY(GenerationFields generation, read_generation_fields(chat, *model, call));
  RZ_TRY(ChatPrompt prompt, read_chat_prompt(chat, *model));
  RZ_CHECK_OK(check_prompt_length(prompt.tokens.size(), "input", *model, call));
  if (call.context.options.log_prompts) call.record->prompt = prompt.text;

  CompletionPlan plan;
  generation.request.prompt = std::move(prompt.tokens);
  generation.request.constraint = std::move(prompt.constraint);
  plan.choice = std::move(prompt.choice);
  plan.stream = generation.stream;
  plan.dialect = std::make_unique<ResponsesDialect>(body, model->id, generation.request);
  plan.requests.push_back(std::move(generation.request));
  plan.prepare_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return respond_with(std::move(plan));
}

}  // namespace

void post_responses(Call call) {
  with_model(std::move(call), prepare_response);
}

}  // namespace realizar::server
