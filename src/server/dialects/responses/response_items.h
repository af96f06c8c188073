// The items of the Responses API: those of stored responses, input and output, as OpenAI's API lists them, and the
// names of the functions that they call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/call/response_store.h"
#include "server/http/json.h"

namespace realizar::server {

// Completes each of a request's items as lists show them: a type, an id, and a message's content as parts. Returns the
// new ids.
std::vector<std::string> complete_items(Json& items);

// A stored response's input followed by its output. Errors: InvalidArgument if that is too much for one body.
Result<Json> items_of(const StoredResponse& stored);
// The items that a response was made from: those of the earlier responses in its chain, and its own input.
Result<Json> input_items_of(const std::vector<StoredResponsePtr>& chain);

// The items that a query of a list selects: "limit=20&order=desc&after=ID".
struct ItemsQuery {
  size_t limit = 20;
  bool is_ascending = false;
  std::string after;  // "": from the beginning
};
// Errors: InvalidArgument naming the field.
Result<ItemsQuery> read_items_query(std::string_view query);

// {"object": "list", "data": [...], "first_id", "last_id", "has_more"}. Errors: InvalidArgument if no item has the id
// `after`.
Result<Json> list_items(const Json& items, const ItemsQuery& query);

// Names of functions in namespaces, as in the Responses API: the model sees each function under one joined name, and
// the client gets the two parts of it.
class ToolNames {
 public:
  struct Parts {
    std::string space;  // "": none
    std::string name;
  };

  // A function without a namespace keeps its name; all such functions must be added first. A joined name is unique, and
  // no longer than the maximum.
  std::string add(std::string_view space, std::string_view name);
  // The name under which the model sees the function. A function that was not added,
  // because an earlier turn called it, gets its most likely name; a name without a namespace may belong to one.
  std::string find(std::string_view space, std::string_view name) const;
  // The function that the model calls by this name.
  Parts parts_of(std::string_view joined) const;

 private:
  struct Entry {
    Parts parts;
    std::string joined;
  };
  bool is_taken(std::string_view joined) const;

  std::vector<Entry> entries_;
};

}  // namespace realizar::server
