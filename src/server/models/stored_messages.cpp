#include "server/models/stored_messages.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"

namespace realizar::server {
namespace {

Result<Json> read_stored_message(const Json& message, const std::string& where) {
  if (!message.is_object()) return wrong(where, "expected an object");
  RZ_CHECK_OK(refuse_images(message, where + "."));
  Json read = message;
  read.erase("images");
  const auto rename = [&](const char* from, const char* to) {
    const auto found = read.find(from);
    if (found == read.end()) return;
    const Json value = *found;
    read.erase(from);
    if (!value.is_null() && !is_empty_text(value)) read[to] = value;
  };
  rename("thinking", "reasoning_content");
  rename("tool_name", "name");
  if (!read.contains("content") || read["content"].is_null()) read["content"] = "";
  return read;
}

}  // namespace

Status refuse_images(const Json& holder, const std::string& prefix) {
  const Json images = holder.value("images", Json());
  if (images.is_null() || (images.is_array() && images.empty())) return {};
  return invalid_argument(prefix + "images: this model takes text only", prefix + "images");
}

Result<Json> read_stored_messages(const Json& messages) {
  if (!messages.is_array()) return wrong("messages", "expected an array");
  Json read = Json::array();
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string where = fmt::format("messages[{}]", i);
    RZ_TRY(Json message, read_stored_message(messages[i], where));
    const Json role = message.value("role", Json());
    const bool is_known = role == "system" || role == "user" || role == "assistant";
    if (!is_known) return wrong(where + ".role", "expected system, user or assistant");
    if (!message["content"].is_string()) return wrong(where + ".content", "expected a string");
    read.push_back(std::move(message));
  }
  return read;
}

}  // namespace realizar::server
