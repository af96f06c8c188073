#include "mcp/tool_result.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace realizar::mcp {
namespace {

constexpr size_t kMaxTextBytes = 256u << 10;

std::string text_of(const Json& object, const char* member) {
  const Json value = object.is_object() ? object.value(member, Json()) : Json();
  return value.is_string() ? value.get<std::string>() : "";
}

std::string left_out(const std::string& what, const std::string& type) {
  return fmt::format("[{}{} is left out: only text can be read here]", what,
                     type.empty() ? "" : " (" + shown(type) + ")");
}

std::string resource_text(const Json& block) {
  const Json resource = block.value("resource", Json());
  const std::string uri = shown(text_of(resource, "uri"), 1000);
  const bool has_text = resource.is_object() && resource.value("text", Json()).is_string();
  if (!has_text) return left_out("the resource " + uri, text_of(resource, "mimeType"));
  return uri + ":\n" + text_of(resource, "text");
}

std::string block_text(const Json& block) {
  const std::string type = text_of(block, "type");
  if (type == "text") return text_of(block, "text");
  if (type == "resource") return resource_text(block);
  if (type == "resource_link") {
    const std::string description = text_of(block, "description");
    return fmt::format("[a link to {}: {}{}]", shown(text_of(block, "name")), shown(text_of(block, "uri"), 1000),
                       description.empty() ? "" : ", " + shown(description, 1000));
  }
  if (type == "image") return left_out("an image", text_of(block, "mimeType"));
  if (type == "audio") return left_out("a sound", text_of(block, "mimeType"));
  return left_out("content of the type '" + shown(type) + "'", "");
}

// Not within a character.
std::string cut(std::string text) {
  const size_t n_bytes = text.size();
  if (n_bytes <= kMaxTextBytes) return text;
  size_t n_kept = kMaxTextBytes;
  while (n_kept > 0 && (static_cast<uint8_t>(text[n_kept]) & 0xc0) == 0x80) --n_kept;
  text.resize(n_kept);
  return text + fmt::format("\n[cut here: the result has {} bytes]", n_bytes);
}

}  // namespace

Result<ToolResult> read_tool_result(const Json& result) {
  const Json type = result.is_object() ? result.value("resultType", Json()) : Json();
  if (type == "input_required") return failed_call("the tool wants further input, which cannot be given here");
  if (!type.is_null() && type != "complete") return format_error("its result is of an unknown type", "answer");
  const Json content = result.is_object() ? result.value("content", Json::array()) : Json();
  if (!content.is_array()) return format_error("the result of the tool has no list of content", "answer");
  std::string text;
  for (const Json& block : content) {
    const std::string more = block_text(block);
    if (!text.empty() && !more.empty()) text += '\n';
    text += more;
  }
  if (text.empty() && result.contains("structuredContent")) text = dump(result["structuredContent"]);
  return ToolResult{cut(std::move(text)), result.value("isError", Json()) == true};
}

ToolResult failed_call(const std::string& message) {
  return {cut("The call failed: " + message), true};
}

}  // namespace realizar::mcp
