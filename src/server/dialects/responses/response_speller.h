// How the Responses API spells an answer: its items and the events of its stream.
#pragma once

#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/call/custom_tools.h"
#include "server/call/logprobs.h"
#include "server/call/response_store.h"
#include "server/call/speller.h"
#include "server/call/timings.h"
#include "server/dialects/responses/tool_names.h"

namespace realizar::server {

// Where a response is kept, and what it answers.
struct ResponseShelf {
  ResponseStore* store;
  uint64_t tenant;
  std::string input;                   // JSON
  std::vector<std::string> input_ids;  // of its items that have an id of this server
};

struct ResponseTelling {
  std::string id, model;
  TokenText token;                        // of the model, where log-probabilities are told
  Json echoed;                            // of the request
  ToolNames tool_names;                   // of its functions and custom tools
  std::vector<std::string> custom_tools;  // those of them that are custom, as the model calls them
  std::optional<ResponseShelf> shelf;     // nullopt: it is not kept
  bool tells_reasoning = false;           // for a client that sends it back: as `encrypted_content`
  bool in_background = false;             // kept from its beginning on, whoever reads it
  AnswerExtras extras = {};               // `verbose` means nothing here
  size_t n_prompt = 0;
};

// What a request asked for, as responses repeat it.
Json response_echo(const Json& body, const Request& request, bool stores);

// The text of reasoning as `encrypted_content`, and back; nullopt for what no such text is. It is not secret: the
// client has had the text itself.
std::string packed_reasoning(const std::string& text);
std::optional<std::string> unpacked_reasoning(std::string_view packed);

class ResponseSpeller final : public Speller {
 public:
  explicit ResponseSpeller(ResponseTelling telling);

  std::string stream_begin() override;
  std::string stream_news(size_t choice_idx, const ChoiceNews& news) override;
  std::string stream_choice_end(size_t choice_idx, const Choice& choice) override;
  std::string stream_end(const Usage& usage, const Json* trace) override;
  std::string stream_error(const ApiError& error) override;
  // All but errors.
  JsonPieces* long_events() override { return &events_; }
  size_t put_copy(const std::vector<std::unique_ptr<Choice>>& choices, const Usage& usage, JsonPieces& copy) override;
  void keep_copy(std::string text) override { keep_text(std::move(text), true); }
  void collect(size_t choice_idx, ChoiceNews news) override;
  Json whole(const std::vector<std::unique_ptr<Choice>>& choices, const Usage& usage, JsonPieces& pieces) override;

 private:
  using Kind = text::OutputEvent::Kind;
  // One item of the answer: reasoning, a message, or a call.
  struct Item {
    Kind kind;
    std::string id, call_id, text;
    ToolNames::Parts tool = {};             // of a call
    std::optional<CustomInput> input = {};  // of a custom tool's
    TokenLog logprobs = {};                 // of a message's text
    bool is_cut = false;                    // at the limit of tokens
  };

  Json numbered(const char* type, Json fields);
  void event(const char* type, Json fields);
  void item_event(const char* type, Json fields);
  void part_event(const char* type, Json fields);
  Json response_json(const char* status) const;
  // Long lists of these are those of `pieces`.
  Json final_json(const Usage& usage, JsonPieces& pieces) const;
  Json done_json(const Item& item, JsonPieces& pieces) const;
  Json done_part_json(const Item& item, JsonPieces& pieces) const;
  Json begun_json(const Item& item) const;
  Json call_json(const Item& item, const char* status) const;
  Json message_json(const Item& item, Json content, const char* status) const;
  Json logprobs_json(const Item& item, JsonPieces& pieces) const;
  void keep(const Json& response, bool is_over) { keep_text(dump(response), is_over); }
  void keep_text(std::string response, bool is_over);
  void begin_progress();
  void tell_progress(const ChoiceNews& news);
  Json timed(Json fields) const;
  void take_all(const ChoiceNews& news);
  void take(const text::OutputEvent& e, const TokenLog& tokens, size_t first, size_t n);
  void open_item(const text::OutputEvent& e);
  void delta(const std::string& text, Json logprobs);
  void close_item(bool is_cut = false);
  void tell_done(const Item& item);
  void settle(bool is_cut);

  ResponseTelling telling_;
  int64_t created_;
  std::optional<int64_t> completed_at_;  // once it is
  std::deque<Item> items_;               // which stay where they are, for the lists of their log-probabilities
  JsonPieces events_;                    // that are not sent yet
  bool is_open_ = false, is_cut_ = false, is_begun_ = false;
  bool is_whole_ = false;  // nothing is streamed
  uint64_t n_events_ = 0;
  Json timings_;  // of the answer so far, where a stream tells them
};

}  // namespace realizar::server
