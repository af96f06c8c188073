#include "mcp/json_rpc.h"

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/try.h"

namespace realizar::mcp {
namespace {

constexpr size_t kMaxDepth = 64, kMaxValues = 50'000, kMaxMembers = 2'000;
constexpr int kMethodNotFound = -32601;

Error not_read(const std::string& why) {
  return format_error("the server's message cannot be read: " + why, "answer");
}

// Scans a text before a value is built from it, and stops when a limit is exceeded.
class Bounds final : public nlohmann::json_sax<Json> {
 public:
  const std::string& complaint() const { return complaint_; }

  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(number_integer_t) override { return count(); }
  bool number_unsigned(number_unsigned_t) override { return count(); }
  bool number_float(number_float_t, const string_t&) override { return count(); }
  bool string(string_t&) override { return count(); }
  bool binary(binary_t&) override { return false; }  // not possible in JSON
  bool start_object(size_t) override { return open(); }
  bool key(string_t&) override {
    return ++n_members_.back() <= kMaxMembers ||
           complain(fmt::format("an object has more than {} members", kMaxMembers));
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return complain(fmt::format("it is not JSON at byte {}", position));
  }

 private:
  bool complain(std::string why) {
    if (complaint_.empty()) complaint_ = std::move(why);
    return false;
  }
  bool count() { return ++n_values_ <= kMaxValues || complain(fmt::format("it has more than {} values", kMaxValues)); }
  bool open() {
    n_members_.push_back(0);
    return n_members_.size() <= kMaxDepth ? count() : complain(fmt::format("it is nested deeper than {}", kMaxDepth));
  }
  bool close() {
    n_members_.pop_back();
    return true;
  }

  std::vector<size_t> n_members_;  // for each open value
  size_t n_values_ = 0;
  std::string complaint_;
};

bool is_id(const Json& id) {
  return id.is_number() || id.is_string();
}

RpcError read_error(const Json& error) {
  const Json code = error.is_object() ? error.value("code", Json()) : Json();
  const Json message = error.is_object() ? error.value("message", Json()) : Json();
  return {code.is_number_integer() ? code.get<int64_t>() : 0,
          message.is_string() ? message.get<std::string>() : "an error without a message"};
}

Result<Message> read_message(const Json& json) {
  if (!json.is_object() || json.value("jsonrpc", Json()) != "2.0") return not_read("it is not of JSON-RPC 2.0");
  Message message;
  message.id = json.value("id", Json());
  if (json.contains("method")) {
    const Json& method = json["method"];
    if (!method.is_string()) return not_read("its method is not a string");
    if (json.contains("id") && !is_id(message.id)) return not_read("its id is neither a number nor a string");
    message.kind = json.contains("id") ? Message::Kind::kRequest : Message::Kind::kNotification;
    message.method = method;
    return message;
  }
  if (json.contains("error")) {
    message.kind = Message::Kind::kError;
    message.error = read_error(json["error"]);
    return message;
  }
  if (!json.contains("result") || !is_id(message.id))
    return not_read("it has neither a method nor a result with an id");
  message.kind = Message::Kind::kResult;
  message.result = json["result"];
  return message;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  Bounds bounds;
  if (!Json::sax_parse(text, &bounds)) return not_read(bounds.complaint());
  return Json::parse(text, nullptr, false);
}

Result<std::vector<Message>> read_messages(std::string_view text) {
  RZ_TRY(const Json json, parse_json(text));
  std::vector<Message> messages;
  if (!json.is_array()) {
    RZ_TRY(messages.emplace_back(), read_message(json));
    return messages;
  }
  for (const Json& one : json) {
    RZ_TRY(messages.emplace_back(), read_message(one));
  }
  return messages;
}

std::string request_text(std::optional<uint64_t> id, std::string_view method, const Json& params) {
  Json json{{"jsonrpc", "2.0"}};
  if (id) json["id"] = *id;
  json["method"] = method;
  if (!params.empty()) json["params"] = params;
  return json_text(json);
}

std::string reply_text(const Message& request) {
  Json json{{"jsonrpc", "2.0"}, {"id", request.id}};
  if (request.method == "ping") {
    json["result"] = Json::object();
  } else {
    json["error"] = {{"code", kMethodNotFound}, {"message", "Method not found"}};
  }
  return json_text(json);
}

}  // namespace realizar::mcp
