// A conversation, whichever dialect it came in, and its one way into a chat template: fitted to what the template can
// take, so that every text reaches the prompt, each at its place.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/output/output_format.h"
#include "text/template_traits.h"

namespace realizar::text {

// kOther: a role that some template knows, whose name is in Message::more.
enum class Role : uint8_t { kSystem, kDeveloper, kUser, kAssistant, kTool, kOther };
// kOther for a name that is none of the others'.
Role role_named(std::string_view name);

struct MessageCall {
  std::string id, name;
  nlohmann::ordered_json arguments;  // an object, or the text of arguments that are none
  nlohmann::ordered_json more = {};  // further members that templates may read
};

struct Message {
  Role role = Role::kUser;
  std::string content, reasoning = {};
  std::vector<MessageCall> calls = {};
  std::string tool_call_id = {}, name = {};
  nlohmann::ordered_json more = {};  // further members that templates may read, and the client's places of those above
};

// A system's or a developer's.
bool is_system(const Message& message);

struct Conversation {
  std::vector<Message> messages;
  nlohmann::ordered_json tools = nlohmann::ordered_json::array();  // {type: function, function: {...}}
};

// The variables of a template: `messages`, and the tools under the name that it reads. A message is changed by what
// stands before it alone, so that a conversation that grows keeps its cached prefix. `format`: how the model writes
// calls, for templates that do not write them. Thoughts that the template does not read are left out.
nlohmann::ordered_json fitted(Conversation conversation, const TemplateTraits& traits, const OutputFormat& format = {});

}  // namespace realizar::text
