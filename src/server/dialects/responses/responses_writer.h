// Responses API output: the items of an answer and the events of its stream.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/call/response_store.h"
#include "server/call/response_writer.h"
#include "server/call/timings.h"
#include "server/dialects/responses/response_items.h"

namespace realizar::server {

// The store of a response, and the input that it answers.
struct ResponseShelf {
  ResponseStore* store;
  uint64_t tenant;
  std::string input;                   // JSON
  std::vector<std::string> input_ids;  // of its items with an id of this server
};

struct ResponseTelling {
  std::string id, model;
  TokenText token;                        // the model's, if log-probabilities are requested
  Json echoed;                            // of the request
  ToolNames tool_names;                   // of the request's functions and custom tools
  std::vector<std::string> custom_tools;  // the custom ones among them, by the names that the model uses
  std::optional<ResponseShelf> shelf;     // nullopt: not stored
  bool tells_reasoning = false;           // as `encrypted_content`, for clients that send it back
  bool in_background = false;             // stored from its beginning, whether or not anyone reads it
  AnswerExtras extras = {};               // `verbose` has no effect here
  size_t n_prompt = 0;
};

// The request's settings, as responses repeat them.
Json response_echo(const Json& body, const Request& request, bool stores);

// The text of reasoning as `encrypted_content`, and the reverse; nullopt for anything else. It is not secret: the
// client has seen the text itself.
std::string packed_reasoning(const std::string& text);
std::optional<std::string> unpacked_reasoning(std::string_view packed);

std::unique_ptr<ResponseWriter> responses_writer(ResponseTelling telling);

}  // namespace realizar::server
