// POST /v1/responses (https://platform.openai.com/docs/api-reference/responses).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/printable.h"
#include "base/try.h"
#include "server/chat_request.h"
#include "server/context.h"
#include "server/logprobs.h"
#include "server/protocol.h"
#include "server/response_input.h"
#include "server/response_items.h"

namespace realizar::server {
namespace {

using Kind = text::OutputEvent::Kind;

// One item of the answer: reasoning, a message, or a call.
struct Item {
  Kind kind;
  std::string id, call_id, text;
  ToolNames::Parts tool = {};     // of a call
  Json logprobs = Json::array();  // of a message's text
  bool is_cut = false;            // at the limit of tokens
};

// Where the response is kept, and what it answers.
struct Shelf {
  ResponseStore* store;
  uint64_t tenant;
  std::string input;                   // JSON
  std::vector<std::string> input_ids;  // of its items that have an id of this server
};

// The field, or `otherwise` where it is absent or null.
Json given(const Json& body, const char* name, Json otherwise = Json()) {
  const auto found = body.find(name);
  if (found == body.end() || found->is_null()) return otherwise;
  return *found;
}

// What was asked for, as OpenAI's responses repeat it.
Json echo_of(const Json& body, const Request& request, bool stores) {
  Json text = given(body, "text", Json::object());
  text["format"] = given(text, "format", {{"type", "text"}});
  const Json reasoning = given(body, "reasoning", Json::object());
  return {{"background", false},
          {"instructions", given(body, "instructions")},
          {"max_output_tokens", given(body, "max_output_tokens")},
          {"max_tool_calls", given(body, "max_tool_calls")},
          {"metadata", given(body, "metadata", Json::object())},
          {"parallel_tool_calls", given(body, "parallel_tool_calls", true)},
          {"previous_response_id", given(body, "previous_response_id")},
          {"prompt_cache_key", given(body, "prompt_cache_key")},
          {"reasoning", {{"effort", given(reasoning, "effort")}, {"summary", given(reasoning, "summary")}}},
          {"safety_identifier", given(body, "safety_identifier")},
          {"service_tier", "default"},
          {"store", stores},
          {"temperature", decimal(request.sampling.temperature)},
          {"text", std::move(text)},
          {"tool_choice", given(body, "tool_choice", "auto")},
          {"tools", given(body, "tools", Json::array())},
          {"top_logprobs", given(body, "top_logprobs", 0)},
          {"top_p", decimal(request.sampling.top_p)},
          {"truncation", "disabled"},
          {"user", given(body, "user")}};
}

Json content_part(const std::string& text, const Json& logprobs) {
  return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", logprobs}};
}

Json item_json(const Item& item, bool is_done) {
  const char* status = item.is_cut ? "incomplete" : is_done ? "completed" : "in_progress";
  if (item.kind == Kind::kReasoning) {
    Json content = Json::array();
    if (is_done) content.push_back({{"type", "reasoning_text"}, {"text", item.text}});
    return {
        {"type", "reasoning"}, {"id", item.id}, {"summary", Json::array()}, {"content", content}, {"status", status}};
  }
  if (item.kind == Kind::kToolCallBegin) {
    Json call{{"type", "function_call"}, {"id", item.id},          {"call_id", item.call_id},
              {"name", item.tool.name},  {"arguments", item.text}, {"status", status}};
    if (!item.tool.space.empty()) call["namespace"] = item.tool.space;
    return call;
  }
  Json content = Json::array();
  if (is_done) content.push_back(content_part(item.text, item.logprobs));
  return {{"type", "message"}, {"id", item.id}, {"role", "assistant"}, {"content", content}, {"status", status}};
}

class ResponsesSpeller final : public Speller {
 public:
  // Kept on `shelf` at its end; nullopt: not at all.
  ResponsesSpeller(const Json& body, std::string model, const Request& request, ToolNames tool_names,
                   std::optional<Shelf> shelf)
      : id_(random_id("resp_")),
        model_(std::move(model)),
        created_(unix_now_s()),
        echoed_(echo_of(body, request, shelf.has_value())),
        tool_names_(std::move(tool_names)),
        shelf_(std::move(shelf)) {}

  std::string stream_begin() override {
    const Json response = response_json("in_progress");
    std::string bytes = event("response.created", {{"response", response}});
    return bytes += event("response.in_progress", {{"response", response}});
  }

  std::string stream_news(size_t, const ChoiceNews& news) override { return take_all(news); }

  std::string stream_choice_end(size_t, const Choice& choice) override {
    is_cut_ = choice.is_cut();
    return close_item(is_cut_);
  }

  std::string stream_end(const Usage& usage, const Json* trace) override {
    Json response = final_json(usage);
    keep(response);
    if (trace != nullptr) response["trace"] = *trace;
    return event(is_cut_ ? "response.incomplete" : "response.completed", {{"response", response}});
  }

  std::string stream_error(const ApiError& error) override {
    Json response = response_json("failed");
    response["error"] = {{"code", error.code.empty() ? "server_error" : error.code}, {"message", error.message}};
    return event("response.failed", {{"response", response}});
  }

  void collect(size_t, ChoiceNews news) override { take_all(news); }

  Json whole(const std::vector<std::unique_ptr<Choice>>& choices, const Usage& usage) override {
    is_cut_ = choices[0]->is_cut();
    close_item(is_cut_);
    Json response = final_json(usage);
    keep(response);
    return response;
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

  void keep(const Json& response) {
    if (!shelf_) return;
    std::vector<std::string> item_ids = std::move(shelf_->input_ids);
    for (const Item& item : items_) item_ids.push_back(item.id);
    const Json& previous = echoed_["previous_response_id"];
    shelf_->store->put(shelf_->tenant, {id_, previous.is_string() ? previous.get<std::string>() : "",
                                        std::move(shelf_->input), dump(response), std::move(item_ids)});
    shelf_.reset();
  }

  // The events of what is new; whole answers drop them.
  std::string take_all(const ChoiceNews& news) {
    std::string bytes;
    std::span<const TokenInfo> tokens = news.tokens;
    auto n_left = std::ranges::count(news.events, Kind::kContent, &text::OutputEvent::kind);
    for (const text::OutputEvent& e : news.events) {
      const bool is_content = e.kind == Kind::kContent;
      const size_t n_tokens = !is_content ? 0 : --n_left == 0 ? tokens.size() : n_tokens_of(e.text, tokens);
      bytes += take(e, chat_logprobs(tokens.first(n_tokens)));
      tokens = tokens.subspan(n_tokens);
    }
    return bytes;
  }

  static size_t n_tokens_of(std::string_view text, std::span<const TokenInfo> tokens) {
    size_t n_tokens = 0;
    for (size_t n_bytes = 0; n_tokens < tokens.size() && n_bytes < text.size(); ++n_tokens) {
      n_bytes += tokens[n_tokens].bytes.size();
    }
    return n_tokens;
  }

  // `logprobs`: of the tokens of a message's text.
  std::string take(const text::OutputEvent& e, const Json& logprobs) {
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
    for (const Json& logprob : logprobs) items_.back().logprobs.push_back(logprob);
    return bytes + delta(e.text, logprobs);
  }

  std::string open_item(const text::OutputEvent& e) {
    const char* prefix = e.kind == Kind::kReasoning ? "rs_" : e.kind == Kind::kContent ? "msg_" : "fc_";
    items_.push_back({e.kind, random_id(prefix), "", ""});
    Item& item = items_.back();
    if (e.kind == Kind::kToolCallBegin) {
      item.call_id = random_id("call_");
      item.tool = tool_names_.parts_of(e.text);
    }
    is_open_ = true;
    std::string bytes =
        event("response.output_item.added", {{"output_index", items_.size() - 1}, {"item", item_json(item, false)}});
    if (e.kind == Kind::kContent)
      bytes += part_event("response.content_part.added", {{"part", content_part("", Json::array())}});
    return bytes;
  }

  std::string delta(const std::string& text, const Json& logprobs) {
    switch (items_.back().kind) {
      case Kind::kContent:
        return part_event("response.output_text.delta", {{"delta", text}, {"logprobs", logprobs}});
      case Kind::kReasoning:
        return part_event("response.reasoning_text.delta", {{"delta", text}});
      default:
        return item_event("response.function_call_arguments.delta", {{"delta", text}});
    }
  }

  std::string close_item(bool is_cut = false) {
    if (!std::exchange(is_open_, false)) return {};
    Item& item = items_.back();
    item.is_cut = is_cut;
    std::string bytes;
    if (item.kind == Kind::kContent) {
      bytes = part_event("response.output_text.done", {{"text", item.text}, {"logprobs", item.logprobs}});
      bytes += part_event("response.content_part.done", {{"part", content_part(item.text, item.logprobs)}});
    } else if (item.kind == Kind::kReasoning) {
      bytes = part_event("response.reasoning_text.done", {{"text", item.text}});
    } else {
      bytes = item_event("response.function_call_arguments.done", {{"name", item.tool.name}, {"arguments", item.text}});
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
  ToolNames tool_names_;
  std::optional<Shelf> shelf_;
  std::vector<Item> items_;
  bool is_open_ = false, is_cut_ = false;
  uint64_t n_events_ = 0;
};

// Fields of the answer that are there only where they are asked for. Only one of OpenAI's means something here.
constexpr std::string_view kLogprobs = "message.output_text.logprobs";
constexpr std::array<std::string_view, 8> kIncludable = {"code_interpreter_call.outputs",
                                                         "computer_call_output.output.image_url",
                                                         "file_search_call.results",
                                                         "message.input_image.image_url",
                                                         kLogprobs,
                                                         "reasoning.encrypted_content",
                                                         "web_search_call.action.sources",
                                                         "web_search_call.results"};

Status read_logprobs(Fields& body, Request& request) {
  const Json* include = body.array("include");
  for (size_t i = 0; include != nullptr && i < include->size(); ++i) {
    const Json& one = (*include)[i];
    const bool is_known =
        one.is_string() && std::ranges::find(kIncludable, one.get_ref<const std::string&>()) != kIncludable.end();
    if (!is_known) {
      return wrong(fmt::format("include[{}]", i),
                   fmt::format("expected one of {}, actual {}", fmt::join(kIncludable, ", "), shown(dump(one))));
    }
    request.logprobs = request.logprobs || one == kLogprobs;
  }
  const auto n_top = body.integer("top_logprobs", 0, kMaxTopLogprobs);
  if (request.logprobs) request.n_logprobs = static_cast<uint32_t>(n_top.value_or(0));
  return body.status();
}

Result<CompletionPlan> plan_response(ResponseChat& asked, Fields& body, const ServedModel& model, const Call& call) {
  Fields chat_body(asked.body);
  RZ_TRY(ChatRequest chat, read_chat_request(chat_body, "input", model, call));
  Request& request = chat.generation.request;
  RZ_CHECK_OK(read_logprobs(body, request));
  const bool stores = body.boolean("store").value_or(true);
  if (!body.status().ok()) return body.status().error();

  std::optional<Shelf> shelf;
  if (stores) {
    std::vector<std::string> input_ids = complete_items(asked.input);
    shelf = Shelf{&call.context.responses, call.tenant, dump(asked.input), std::move(input_ids)};
  }
  auto speller =
      std::make_unique<ResponsesSpeller>(body.json(), model.id, request, std::move(asked.tool_names), std::move(shelf));
  const bool has_logprobs = request.logprobs;
  CompletionPlan plan = plan_of(std::move(chat), model, call);
  plan.choice.content_tokens_only = has_logprobs;
  plan.speller = std::move(speller);
  return plan;
}

Result<Prepared> read_response(Fields& body, const ServedModelPtr& model, const Call& call) {
  RZ_TRY(ResponseChat asked, chat_of_response(body, call.context.responses, call.tenant));
  auto plan = plan_response(asked, body, *model, call);
  if (!plan.ok()) return at_client_place(std::move(plan).error(), asked.places);
  return prepared(std::move(*plan));
}

}  // namespace

const Protocol kResponses{.read = read_response, .gives_text = true, .terminator = ""};

}  // namespace realizar::server
