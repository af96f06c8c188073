// How the Responses API spells an answer: its items and the events of its stream.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

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

std::unique_ptr<Speller> response_speller(ResponseTelling telling);

}  // namespace realizar::server
