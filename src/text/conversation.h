// A conversation from any dialect, and its conversion for a chat template: adapted to what the template supports, so
// that every text reaches the prompt in its place.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/output/output_format.h"
#include "text/template_traits.h"

namespace realizar::text {

// kOther: a role that some templates know, whose name is in Message::more.
enum class Role : uint8_t { kSystem, kDeveloper, kUser, kAssistant, kTool, kOther };
// kOther for an unknown name.
Role role_named(std::string_view name);

struct MessageCall {
  std::string id, name;
  nlohmann::ordered_json arguments;  // an object, or the text of malformed arguments
  nlohmann::ordered_json more = {};  // other members that templates may read
};

struct Message {
  Role role = Role::kUser;
  std::string content, reasoning = {};
  std::vector<MessageCall> calls = {};
  std::string tool_call_id = {}, name = {};
  nlohmann::ordered_json more = {};  // other members that templates may read, and the client's names of those above
};

// Whether the message is a system's or developer's.
bool is_system(const Message& message);

struct Conversation {
  std::vector<Message> messages;
  nlohmann::ordered_json tools = nlohmann::ordered_json::array();  // {type: function, function: {...}}
};

// The variables of a template: `messages`, and the tools under the name that the template reads. A message only depends
// on those before it, so that a growing conversation keeps its cached prefix. `format`: how the model writes calls, for
// templates that do not write them. Thoughts that the template does not read are left out.
nlohmann::ordered_json fitted(Conversation conversation, const TemplateTraits& traits, const OutputFormat& format = {});

}  // namespace realizar::text
