// The items of stored responses: what they were asked and what they answered, as OpenAI's API lists them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/call/response_store.h"
#include "server/http/json.h"

namespace realizar::server {

// Gives each of a request's items what listed ones have: a type, an id, a message's content as parts. Returns the ids
// that are new.
std::vector<std::string> complete_items(Json& items);

// A stored response's input and its output after that. Errors: InvalidArgument where that is too much for one body.
Result<Json> items_of(const StoredResponse& stored);
// The items that a response was made from: those of the chain before it, and its own input.
Result<Json> input_items_of(const std::vector<StoredResponsePtr>& chain);

// Which items a list has, as a query says: "limit=20&order=desc&after=ID".
struct ItemsQuery {
  size_t limit = 20;
  bool is_ascending = false;
  std::string after;  // "": from the beginning
};
// Errors: InvalidArgument naming the field.
Result<ItemsQuery> read_items_query(std::string_view query);

// {"object": "list", "data": [...], "first_id", "last_id", "has_more"}. Errors: InvalidArgument where no item is
// `after`.
Result<Json> list_items(const Json& items, const ItemsQuery& query);

}  // namespace realizar::server
