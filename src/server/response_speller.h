// How the Responses API spells an answer: its items and the events of its stream.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/custom_tools.h"
#include "server/response_store.h"
#include "server/speller.h"
#include "server/timings.h"
#include "server/token_log.h"
#include "server/tool_names.h"

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

  std::string event(const char* type, Json fields);
  std::string item_event(const char* type, const Json& fields);
  std::string part_event(const char* type, const Json& fields);
  Json response_json(const char* status) const;
  // `pieces`: which have its lists; null: it is a tree.
  Json final_json(const Usage& usage, JsonPieces* pieces) const;
  Json item_json(const Item& item, bool is_done, JsonPieces* pieces = nullptr) const;
  Json call_json(const Item& item, const char* status) const;
  Json part_json(const Item& item, bool is_done, JsonPieces* pieces = nullptr) const;
  Json logprobs_json(const Item& item, JsonPieces* pieces = nullptr) const;
  void keep(const Json& response, bool is_over) { keep_text(dump(response), is_over); }
  void keep_text(std::string response, bool is_over);
  std::string begin_progress();
  std::string tell_progress(const ChoiceNews& news);
  Json timed(Json fields) const;
  std::string take_all(const ChoiceNews& news);
  std::string take(const text::OutputEvent& e, const TokenLog& tokens, size_t first, size_t n);
  std::string open_item(const text::OutputEvent& e);
  std::string delta(const std::string& text, const Json& logprobs);
  std::string close_item(bool is_cut = false);
  std::string done(const Item& item);

  ResponseTelling telling_;
  int64_t created_;
  std::optional<int64_t> completed_at_;  // of a whole answer
  std::vector<Item> items_;
  bool is_open_ = false, is_cut_ = false, is_begun_ = false;
  bool is_whole_ = false;  // nothing is streamed
  uint64_t n_events_ = 0;
  Json timings_;  // of the answer so far, where a stream tells them
};

}  // namespace realizar::server
