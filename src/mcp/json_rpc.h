// JSON-RPC 2.0 (https://www.jsonrpc.org/specification) as MCP has it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::mcp {

using Json = nlohmann::ordered_json;

// Errors: FormatError for what is no JSON, is nested deeper than 64, or has more than 50,000 values or an object of
// more than 2,000 members.
Result<Json> parse_json(std::string_view text);
// One line; bytes that are not UTF-8 become U+FFFD.
std::string dump(const Json& json);

struct RpcError {
  int64_t code = 0;
  std::string message;
};

// A message from a server.
struct Message {
  enum class Kind : uint8_t { kResult, kError, kRequest, kNotification };
  Kind kind = Kind::kNotification;
  Json id;             // of all but notifications
  std::string method;  // of requests and notifications
  Json result;
  RpcError error;
};

// A message, or, as revision 2025-03-26 allows, an array of such. Errors: FormatError.
Result<std::vector<Message>> read_messages(std::string_view text);

// What a client says. A notification has no id.
std::string request_text(std::optional<uint64_t> id, std::string_view method, const Json& params);
// The answer to a request of the server: an empty result, or that there is no such method.
std::string reply_text(const Message& request);

}  // namespace realizar::mcp
