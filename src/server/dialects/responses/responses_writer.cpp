#include "server/dialects/responses/responses_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/base64.h"
#include "server/call/chat_tools.h"
#include "server/call/logprobs.h"
#include "server/call/request_fields.h"

namespace realizar::server {
namespace {

constexpr std::string_view kPackedPrefix = "realizar-reasoning:";

// The field, or `otherwise` where it is absent or null.
Json given(const Json& body, const char* name, Json otherwise = Json()) {
  const auto found = body.find(name);
  if (found == body.end() || found->is_null()) return otherwise;
  return *found;
}

Json output_text(const std::string& text, Json logprobs) {
  return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", std::move(logprobs)}};
}

Json reasoning_text(const std::string& text) {
  return {{"type", "reasoning_text"}, {"text", text}};
}

// Moves the fields, since texts may be long.
Json with_fields(Json json, Json fields) {
  for (auto& [name, value] : fields.items()) json[name] = std::move(value);
  return json;
}

// Clients know only these codes; the message has the details.
const char* code_of(const ApiError& error) {
  if (error.status == 429) return "rate_limit_exceeded";
  return error.status == 400 ? "invalid_prompt" : "server_error";
}

// How many of the tokens from `first` on make up a text.
size_t n_tokens_of(std::string_view text, const TokenLog& tokens, size_t first, const TokenText& token) {
  size_t n_tokens = 0;
  for (size_t n_bytes = 0; first + n_tokens < tokens.size() && n_bytes < text.size(); ++n_tokens) {
    n_bytes += token(tokens[first + n_tokens].id).size();
  }
  return n_tokens;
}

class ResponsesWriter final : public ResponseWriter {
 public:
  explicit ResponsesWriter(ResponseTelling telling) : telling_(std::move(telling)), created_(unix_now_s()) {}

  // A response in the background begins in the queue.
  std::string stream_begin() override {
    const bool waits = telling_.in_background;
    Json response = response_json(waits ? "queued" : "in_progress");
    if (waits) keep(response, false);
    is_begun_ = !waits;
    event("response.created", {{"response", response}});
    event(waits ? "response.queued" : "response.in_progress", {{"response", std::move(response)}});
    return {};
  }

  std::string stream_update(size_t, const ChoiceUpdate& update) override {
    begin_progress();
    if (telling_.extras.progress) {
      for (const auto& progress : update.progress) {
        event("response.in_progress", {{"response", response_json("in_progress")},
                                       {"prompt_progress", progress_json(progress, telling_.n_prompt)}});
      }
    }
    if (telling_.extras.timings) timings_ = timings_json(update.timings);
    take_all(update);
    return {};
  }

  std::string stream_choice_end(size_t, const Choice& choice) override {
    begin_progress();
    if (telling_.extras.timings) timings_ = timings_json(choice.timings());
    settle(choice.is_cut());
    return {};
  }

  std::string stream_end(const Usage& usage, const Json* trace) override {
    Json response = final_json(usage, events_);
    if (trace != nullptr) response["trace"] = *trace;
    event(is_cut_ ? "response.incomplete" : "response.completed", timed({{"response", std::move(response)}}));
    return {};
  }

  // A cancelled response has no event of its own: its stream ends.
  std::string stream_error(const ApiError& error) override {
    const bool is_cancelled = telling_.in_background && error.code == "cancelled";
    Json response = response_json(is_cancelled ? "cancelled" : "failed");
    if (!is_cancelled) {
      response["error"] = {{"code", code_of(error)}, {"message", error.message}};
    }
    if (telling_.in_background) keep(response, true);
    if (is_cancelled) return {};
    constexpr const char* kType = "response.failed";
    return fmt::format("event: {}\ndata: {}\n\n", kType, dump(numbered(kType, {{"response", std::move(response)}})));
  }

  // All events except errors.
  JsonPieces* long_events() override { return &events_; }

  size_t put_copy(const Choices& choices, const Usage& usage, JsonPieces& copy) override {
    if (!choices.empty()) settle(choices[0]->is_cut());
    if (!telling_.shelf) return 0;
    copy.put(final_json(usage, copy));
    return telling_.shelf->store->max_bytes_of_one();
  }

  void keep_copy(std::string text) override { keep_text(std::move(text), true); }

  void collect(size_t, ChoiceUpdate update) override {
    is_whole_ = true;
    take_all(update);
  }

  Json whole(const Choices& choices, const Usage& usage, JsonPieces& pieces) override {
    is_whole_ = true;
    settle(choices[0]->is_cut());
    return final_json(usage, pieces);
  }

 private:
  using Kind = text::OutputEvent::Kind;
  // One item of the answer: reasoning, a message, or a call.
  struct Item {
    Kind kind;
    std::string id, call_id, text;
    ToolNames::Parts tool = {};             // only for calls
    std::optional<CustomInput> input = {};  // only for custom tools
    TokenLog logprobs = {};                 // of a message's text
    bool is_cut = false;                    // ended by the limit of tokens
  };

  void begin_progress() {
    if (std::exchange(is_begun_, true)) return;
    Json response = response_json("in_progress");
    keep(response, false);
    event("response.in_progress", {{"response", std::move(response)}});
  }

  Json timed(Json fields) const {
    if (!timings_.is_null()) fields["timings"] = timings_;
    return fields;
  }

  // Completes the item.
  void settle(bool is_cut) {
    is_cut_ = is_cut;
    close_item(is_cut);
    if (!is_cut && !completed_at_) completed_at_ = unix_now_s();
  }

  Json numbered(const char* type, Json fields) {
    return with_fields({{"type", type}, {"sequence_number", n_events_++}}, std::move(fields));
  }

  void event(const char* type, Json fields) {
    events_.put_bytes(fmt::format("event: {}\ndata: ", type));
    events_.put(numbered(type, std::move(fields)));
    events_.put_bytes("\n\n");
  }

  void item_event(const char* type, Json fields) {
    event(type, with_fields({{"item_id", items_.back().id}, {"output_index", items_.size() - 1}}, std::move(fields)));
  }

  void part_event(const char* type, Json fields) {
    item_event(type, with_fields({{"content_index", 0}}, std::move(fields)));
  }

  Json response_json(const char* status) const {
    Json json{
        {"id", telling_.id},       {"object", "response"}, {"created_at", created_},        {"status", status},
        {"completed_at", nullptr}, {"error", nullptr},     {"incomplete_details", nullptr}, {"model", telling_.model},
        {"output", Json::array()}};
    json.update(telling_.echoed);
    json["usage"] = nullptr;
    return json;
  }

  // `pieces` holds the long lists of this and the following functions.
  Json final_json(const Usage& usage, JsonPieces& pieces) const {
    Json json = response_json(is_cut_ ? "incomplete" : "completed");
    if (is_cut_) json["incomplete_details"] = {{"reason", "max_output_tokens"}};
    if (!is_cut_) json["completed_at"] = completed_at_.value_or(unix_now_s());
    for (const Item& item : items_) json["output"].push_back(done_json(item, pieces));
    json["usage"] = {{"input_tokens", usage.n_prompt},
                     {"input_tokens_details", {{"cached_tokens", usage.n_cached}}},
                     {"output_tokens", usage.n_completion},
                     {"output_tokens_details", {{"reasoning_tokens", usage.n_reasoning}}},
                     {"total_tokens", usage.n_prompt + usage.n_completion}};
    return json;
  }

  Json done_part_json(const Item& item, JsonPieces& pieces) const {
    return item.kind == Kind::kReasoning
               ? reasoning_text(item.text)
               : output_text(item.text, spelled(item.logprobs, ChatLogprob{telling_.token}, pieces));
  }

  Json done_json(const Item& item, JsonPieces& pieces) const {
    const bool is_call = item.kind == Kind::kToolCallBegin;
    return item_json(item, is_call ? Json() : Json::array({done_part_json(item, pieces)}),
                     item.is_cut ? "incomplete" : "completed");
  }

  // `content`: a message's, or reasoning's.
  Json item_json(const Item& item, Json content, const char* status) const {
    if (item.kind == Kind::kToolCallBegin) {
      Json call{{"type", item.input ? "custom_tool_call" : "function_call"},
                {"id", item.id},
                {"call_id", item.call_id},
                {"name", item.tool.name},
                {item.input ? "input" : "arguments", item.text},
                {"status", status}};
      if (!item.tool.space.empty()) call["namespace"] = item.tool.space;
      return call;
    }
    if (item.kind == Kind::kContent) {
      return {{"type", "message"},
              {"id", item.id},
              {"role", "assistant"},
              {"content", std::move(content)},
              {"status", status}};
    }
    Json json{{"type", "reasoning"},
              {"id", item.id},
              {"summary", Json::array()},
              {"content", std::move(content)},
              {"status", status}};
    if (telling_.tells_reasoning) json["encrypted_content"] = packed_reasoning(item.text);
    return json;
  }

  void keep(const Json& response, bool is_over) { keep_text(dump(response), is_over); }

  // A response that is not yet over may be stored again later.
  void keep_text(std::string response, bool is_over) {
    if (!telling_.shelf) return;
    const ResponseShelf& shelf = *telling_.shelf;
    std::vector<std::string> item_ids = shelf.input_ids;
    if (is_over) {
      for (const Item& item : items_) item_ids.push_back(item.id);
    }
    const Json& previous = telling_.echoed["previous_response_id"];
    shelf.store->put(shelf.tenant, {.id = telling_.id,
                                    .previous_id = previous.is_string() ? previous.get<std::string>() : "",
                                    .input = shelf.input,
                                    .response = std::move(response),
                                    .item_ids = std::move(item_ids),
                                    .is_over = is_over,
                                    .in_background = telling_.in_background});
    if (is_over) telling_.shelf.reset();
  }

  // Writes the events of an update; whole answers have no events.
  void take_all(const ChoiceUpdate& update) {
    size_t first = 0;
    auto n_left = std::ranges::count(update.events, Kind::kContent, &text::OutputEvent::kind);
    for (const text::OutputEvent& e : update.events) {
      const bool is_content = e.kind == Kind::kContent;
      size_t n_tokens = 0;
      if (is_content) {
        const bool is_last = --n_left == 0;
        n_tokens = is_last ? update.tokens.size() - first : n_tokens_of(e.text, update.tokens, first, telling_.token);
      }
      take(e, update.tokens, first, n_tokens);
      first += n_tokens;
    }
  }

  // A message's text consists of the n tokens from `first` on.
  void take(const text::OutputEvent& e, const TokenLog& tokens, size_t first, size_t n) {
    if (e.kind == Kind::kToolCallEnd) return close_item();
    const bool is_argument = e.kind == Kind::kToolCallArguments;
    const bool continues =
        is_open_ && (items_.back().kind == e.kind || (is_argument && items_.back().kind == Kind::kToolCallBegin));
    if (!continues || e.kind == Kind::kToolCallBegin) {
      close_item();
      open_item(e);
    }
    if (e.kind == Kind::kToolCallBegin) return;
    Item& item = items_.back();
    const std::string text = item.input ? item.input->push(e.text) : e.text;
    item.text += text;
    for (size_t i = first; i < first + n; ++i) item.logprobs.add(tokens[i].id, tokens[i].logprob, tokens[i].top);
    if (!is_whole_) delta(text, spelled(tokens, ChatLogprob{telling_.token}, first, n));
  }

  void open_item(const text::OutputEvent& e) {
    const bool is_call = e.kind == Kind::kToolCallBegin;
    const bool is_custom = is_call && std::ranges::find(telling_.custom_tools, e.text) != telling_.custom_tools.end();
    const char* call_prefix = is_custom ? "ctc_" : "fc_";
    const char* prefix = e.kind == Kind::kReasoning ? "rs_" : e.kind == Kind::kContent ? "msg_" : call_prefix;
    items_.push_back({e.kind, random_id(prefix), "", ""});
    Item& item = items_.back();
    if (is_call) {
      item.call_id = random_id("call_");
      item.tool = telling_.tool_names.parts_of(e.text);
      if (is_custom) item.input.emplace();
    }
    is_open_ = true;
    if (is_whole_) return;
    event("response.output_item.added",
          {{"output_index", items_.size() - 1}, {"item", item_json(item, Json::array(), "in_progress")}});
    if (is_call) return;
    const bool is_text = item.kind == Kind::kContent;
    part_event("response.content_part.added",
               {{"part", is_text ? output_text("", Json::array()) : reasoning_text("")}});
  }

  void delta(const std::string& text, Json logprobs) {
    const Item& item = items_.back();
    if (item.kind == Kind::kContent) {
      part_event("response.output_text.delta", timed({{"delta", text}, {"logprobs", std::move(logprobs)}}));
    } else if (item.kind == Kind::kReasoning) {
      part_event("response.reasoning_text.delta", {{"delta", text}});
    } else if (!item.input) {
      item_event("response.function_call_arguments.delta", {{"delta", text}});
    } else if (!text.empty()) {
      item_event("response.custom_tool_call_input.delta", {{"delta", text}});
    }
  }

  void close_item(bool is_cut = false) {
    if (!std::exchange(is_open_, false)) return;
    Item& item = items_.back();
    item.is_cut = is_cut;
    if (item.input) {
      const std::string rest = item.input->finish();
      item.text += rest;
      if (!is_whole_) delta(rest, {});
    }
    if (is_whole_) return;
    tell_done(item);
    event("response.output_item.done", {{"output_index", items_.size() - 1}, {"item", done_json(item, events_)}});
  }

  void tell_done(const Item& item) {
    if (item.kind == Kind::kToolCallBegin) {
      if (item.input) return item_event("response.custom_tool_call_input.done", {{"input", item.text}});
      return item_event("response.function_call_arguments.done", {{"name", item.tool.name}, {"arguments", item.text}});
    }
    if (item.kind == Kind::kContent) {
      part_event("response.output_text.done",
                 {{"text", item.text}, {"logprobs", spelled(item.logprobs, ChatLogprob{telling_.token}, events_)}});
    } else {
      part_event("response.reasoning_text.done", {{"text", item.text}});
    }
    part_event("response.content_part.done", {{"part", done_part_json(item, events_)}});
  }

  ResponseTelling telling_;
  int64_t created_;
  std::optional<int64_t> completed_at_;  // nullopt until then
  std::deque<Item> items_;               // a deque, since the lists of log-probabilities refer to items
  JsonPieces events_;                    // not yet sent
  bool is_open_ = false, is_cut_ = false, is_begun_ = false;
  bool is_whole_ = false;  // not streamed
  uint64_t n_events_ = 0;
  Json timings_;  // of the answer so far, if the stream reports them
};

}  // namespace

Json response_echo(const Json& body, const Request& request, bool stores) {
  Json text = given(body, "text", Json::object());
  text["format"] = given(text, "format", {{"type", "text"}});
  const Json reasoning = given(body, "reasoning", Json::object());
  return {{"background", given(body, "background", false)},
          {"instructions", given(body, "instructions")},
          {"max_output_tokens", given(body, "max_output_tokens")},
          {"max_tool_calls", given(body, "max_tool_calls")},
          {"metadata", given(body, "metadata", Json::object())},
          {"parallel_tool_calls", given(body, "parallel_tool_calls", true)},
          {"previous_response_id", given(body, "previous_response_id")},
          {"prompt_cache_key", given(body, "prompt_cache_key")},
          {"prompt_cache_retention", nullptr},
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
          {"truncation", given(body, "truncation", "disabled")},
          {"user", given(body, "user")}};
}

std::string packed_reasoning(const std::string& text) {
  return std::string(kPackedPrefix) + encode_base64(text);
}

std::optional<std::string> unpacked_reasoning(std::string_view packed) {
  if (!packed.starts_with(kPackedPrefix)) return std::nullopt;
  const std::string_view text = packed.substr(kPackedPrefix.size());
  auto bytes = decode_base64(text);
  const bool is_as_packed = bytes && encode_base64(*bytes) == text;
  return is_as_packed ? std::move(bytes) : std::nullopt;
}

std::unique_ptr<ResponseWriter> responses_writer(ResponseTelling telling) {
  return std::make_unique<ResponsesWriter>(std::move(telling));
}

}  // namespace realizar::server
