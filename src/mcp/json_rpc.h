// JSON-RPC 2.0 (https://www.jsonrpc.org/specification) as used by MCP.
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

// Errors: FormatError for text that is not JSON, is nested deeper than 64, or has more than 50,000 values or an object
// with more than 2,000 members.
Result<Json> parse_json(std::string_view text);

struct RpcError {
  int64_t code = 0;
  std::string message;
};

// A message from a server.
struct Message {
  enum class Kind : uint8_t { kResult, kError, kRequest, kNotification };
  Kind kind = Kind::kNotification;
  Json id;             // absent only in notifications
  std::string method;  // in requests and notifications
  Json result;
  RpcError error;
};

// One message, or an array of messages, which revision 2025-03-26 allows. Errors: FormatError.
Result<std::vector<Message>> read_messages(std::string_view text);

// A client's message. A notification has no id.
std::string request_text(std::optional<uint64_t> id, std::string_view method, const Json& params);
// The answer to a server's request: an empty result, or an error that there is no such method.
std::string reply_text(const Message& request);

}  // namespace realizar::mcp
