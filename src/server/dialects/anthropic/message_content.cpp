#include "server/dialects/anthropic/message_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/printable.h"
#include "base/try.h"

namespace realizar::server {
namespace {

// What Anthropic's own tools leave behind. No model here has made it, and no template knows it.
constexpr std::array<std::string_view, 11> kHostedBlocks = {"server_tool_use",
                                                            "web_search_tool_result",
                                                            "web_fetch_tool_result",
                                                            "code_execution_tool_result",
                                                            "bash_code_execution_tool_result",
                                                            "text_editor_code_execution_tool_result",
                                                            "tool_search_tool_result",
                                                            "mcp_tool_use",
                                                            "mcp_tool_result",
                                                            "container_upload",
                                                            "redacted_thinking"};
// Claude Code puts a block before its system prompt that is another one in each request: kept, it would be a prefix
// that no two requests share.
constexpr std::string_view kBillingBlock = "x-anthropic-billing-header:";

Result<std::string> string_of(const Json& block, const char* name, const std::string& place) {
  const auto found = block.find(name);
  if (found == block.end() || !found->is_string()) return wrong(place + "." + name, "expected a string");
  return found->get<std::string>();
}

Result<std::string> type_of(const Json& block, const std::string& place) {
  if (!block.is_object()) return wrong(place, "expected an object with a type");
  return string_of(block, "type", place);
}

Error not_text(const std::string& place, const std::string& actual) {
  return wrong(place, "this model takes text only, actual " + shown(actual));
}

Result<std::string> text_of_blocks(const Json& content, const std::string& place, const char* between);

// Its title and context, if it has some, stand before its text.
Result<std::string> text_of_document(const Json& block, const std::string& place) {
  const Json source = block.value("source", Json());
  RZ_TRY(const std::string kind, type_of(source, place + ".source"));
  std::string text;
  for (const char* name : {"title", "context"}) {
    const Json head = block.value(name, Json());
    if (head.is_string()) text += head.get<std::string>() + "\n\n";
  }
  if (kind == "text") {
    RZ_TRY(const std::string data, string_of(source, "data", place + ".source"));
    return text + data;
  }
  if (kind != "content") return not_text(place + ".source", "a document of type " + kind);
  RZ_TRY(const std::string data, text_of_blocks(source.value("content", Json()), place + ".source.content", ""));
  return text + data;
}

Result<std::string> text_of_search_result(const Json& block, const std::string& place) {
  RZ_TRY(std::string text, string_of(block, "title", place));
  RZ_TRY(const std::string source, string_of(block, "source", place));
  RZ_TRY(const std::string found, text_of_blocks(block.value("content", Json()), place + ".content", "\n"));
  return text + "\n" + source + "\n" + found;
}

Result<std::string> text_of_block(const Json& block, const std::string& place) {
  RZ_TRY(const std::string type, type_of(block, place));
  if (type == "text") return string_of(block, "text", place);
  if (type == "document") return text_of_document(block, place);
  if (type == "search_result") return text_of_search_result(block, place);
  return not_text(place, "a block of type " + type);
}

Result<std::string> text_of_blocks(const Json& content, const std::string& place, const char* between) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return wrong(place, "expected a string or an array of blocks");
  std::string all;
  for (size_t i = 0; i < content.size(); ++i) {
    RZ_TRY(const std::string text, text_of_block(content[i], fmt::format("{}[{}]", place, i)));
    if (text.starts_with(kBillingBlock)) continue;
    if (!all.empty()) all += between;
    all += text;
  }
  return all;
}

// The messages of a chat under construction.
class Conversation {
 public:
  explicit Conversation(MessageChat& chat) : chat_(chat) { chat_.body["messages"] = Json::array(); }

  Status add_system(const Json& system) {
    if (system.is_null()) return {};
    RZ_TRY(std::string text, text_of_blocks(system, "system", "\n\n"));
    if (!text.empty()) add({{"role", "system"}, {"content", std::move(text)}}, "system", "");
    return {};
  }

  Status add_message(const Json& message, const std::string& place) {
    if (!message.is_object()) return wrong(place, "expected an object");
    const Json role = message.value("role", Json());
    if (role == "assistant") return add_assistant(message, place);
    if (role == "user" || role == "system") return add_user(message, role, place);
    return wrong(place + ".role", "expected user or assistant, actual " + shown(dump(role)));
  }

  // An answer that has begun is to be continued; one that says nothing is no beginning.
  Status end() {
    if (list().empty() || list().back()["role"] != "assistant") return {};
    const Json& last = list().back();
    if (last.contains("tool_calls")) {
      return wrong(chat_.places.back().second,
                   "a message with tool_use cannot be the last: its tool_result is missing");
    }
    const bool is_empty = is_empty_text(last["content"]) && !last.contains("reasoning_content");
    if (is_empty) {
      list().erase(list().size() - 1);
    } else {
      chat_.body["continue_final_message"] = true;
      chat_.places.emplace_back("continue_final_message", chat_.places.back().second);
    }
    return {};
  }

 private:
  Json& list() { return chat_.body["messages"]; }

  void add(Json message, const std::string& place, const char* content = ".content") {
    const std::string here = fmt::format("messages[{}]", list().size());
    chat_.places.emplace_back(here + ".content", place + content);
    chat_.places.emplace_back(here, place);
    list().push_back(std::move(message));
  }

  Status add_user(const Json& message, const Json& role, const std::string& place) {
    const Json content = message.value("content", Json());
    std::string text;
    if (!content.is_array()) {
      RZ_TRY(text, text_of_blocks(content, place + ".content", ""));
    }
    bool has_text = !content.is_array(), has_results = false;
    for (size_t i = 0; content.is_array() && i < content.size(); ++i) {
      const std::string here = fmt::format("{}.content[{}]", place, i);
      RZ_TRY(const std::string type, type_of(content[i], here));
      if (type == "tool_result") {
        RZ_CHECK_OK(add_result(content[i], here));
        has_results = true;
      } else if (!is_hosted(type)) {
        RZ_TRY(const std::string more, text_of_block(content[i], here));
        text += more;
        has_text = true;
      }
    }
    if (has_text || !has_results) add({{"role", role}, {"content", std::move(text)}}, place);
    return {};
  }

  Status add_result(const Json& block, const std::string& place) {
    RZ_TRY(const std::string id, string_of(block, "tool_use_id", place));
    const Json content = block.value("content", Json(""));
    const bool is_nothing = content.is_null();
    RZ_TRY(std::string text, text_of_blocks(is_nothing ? Json("") : content, place + ".content", "\n"));
    const Json is_error = block.value("is_error", Json(false));
    if (!is_error.is_boolean() && !is_error.is_null()) return wrong(place + ".is_error", "expected a boolean");
    // Templates have no place for the flag.
    if (is_error == true && !text.starts_with("Error")) text = text.empty() ? "Error" : "Error: " + text;
    add({{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(text)}}, place);
    return {};
  }

  Status add_assistant(const Json& message, const std::string& place) {
    const Json content = message.value("content", Json());
    Json read{{"role", "assistant"}, {"content", ""}};
    if (!content.is_array()) {
      RZ_TRY(read["content"], text_of_blocks(content, place + ".content", ""));
    }
    for (size_t i = 0; content.is_array() && i < content.size(); ++i) {
      RZ_CHECK_OK(add_part(content[i], fmt::format("{}.content[{}]", place, i), read));
    }
    add(std::move(read), place);
    return {};
  }

  static Status add_part(const Json& block, const std::string& place, Json& message) {
    RZ_TRY(const std::string type, type_of(block, place));
    if (is_hosted(type)) return {};
    if (type == "tool_use") return add_call(block, place, message);
    const bool is_thinking = type == "thinking";
    RZ_TRY(const std::string text, is_thinking ? string_of(block, "thinking", place) : text_of_block(block, place));
    if (is_thinking && text.empty()) return {};
    const char* field = is_thinking ? "reasoning_content" : "content";
    if (!message.contains(field)) message[field] = "";
    auto& all = message[field].get_ref<std::string&>();
    // Thoughts between calls were written apart.
    all += is_thinking && !all.empty() ? "\n\n" + text : text;
    return {};
  }

  static Status add_call(const Json& block, const std::string& place, Json& message) {
    RZ_TRY(const std::string id, string_of(block, "id", place));
    RZ_TRY(const std::string name, string_of(block, "name", place));
    const Json input = block.value("input", Json::object());
    if (!input.is_object()) return wrong(place + ".input", "expected an object");
    message["tool_calls"].push_back(
        {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", input}}}});
    return {};
  }

  static bool is_hosted(std::string_view type) { return std::ranges::find(kHostedBlocks, type) != kHostedBlocks.end(); }

  MessageChat& chat_;
};

}  // namespace

Status read_message_content(const Json& body, MessageChat& chat) {
  const Json messages = body.value("messages", Json());
  if (!messages.is_array()) return wrong("messages", "expected an array");
  if (messages.empty()) return wrong("messages", "expected at least one message");
  Conversation conversation(chat);
  RZ_CHECK_OK(conversation.add_system(body.value("system", Json())));
  for (size_t i = 0; i < messages.size(); ++i) {
    RZ_CHECK_OK(conversation.add_message(messages[i], fmt::format("messages[{}]", i)));
  }
  return conversation.end();
}

}  // namespace realizar::server
