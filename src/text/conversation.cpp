#include "text/conversation.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/json_text.h"
#include "text/output/output_format.h"

namespace realizar::text {
namespace {

using Json = nlohmann::ordered_json;
using Messages = std::vector<Message>;

constexpr std::array<std::string_view, 5> kRoleNames = {"system", "developer", "user", "assistant", "tool"};

bool is_answer(const Message& message) {
  return message.role == Role::kAssistant && message.calls.empty();
}

Message message_of(Role role, std::string content) {
  return {.role = role, .content = std::move(content)};
}

void join_text(std::string& text, std::string_view more) {
  if (!text.empty() && !more.empty()) text += "\n\n";
  text += more;
}

// Nine letters and digits derived from an id (FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv).
std::string short_id(const std::string& id) {
  constexpr size_t kLetters = 9;
  constexpr std::string_view kAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const auto is_plain = [&](char letter) { return kAlphabet.find(letter) != std::string_view::npos; };
  if (id.size() == kLetters && std::ranges::all_of(id, is_plain)) return id;
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : id) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
  std::string name;
  for (size_t i = 0; i < kLetters; ++i, hash /= kAlphabet.size()) name += kAlphabet[hash % kAlphabet.size()];
  return name;
}

// The calls without a result yet, found by id in constant time.
class OpenCalls {
 public:
  void add(const std::string& id) {
    places_[id].push_back(ids_.size());
    ids_.push_back(id);
    is_open_.push_back(true);
  }
  // The id of the first one; "" if all have their results.
  std::string first() {
    while (first_ < ids_.size() && !is_open_[first_]) ++first_;
    return first_ < ids_.size() ? ids_[first_] : "";
  }
  void close(const std::string& id) {
    const auto found = places_.find(id);
    if (found == places_.end() || found->second.empty()) return;
    is_open_[found->second.front()] = false;
    found->second.pop_front();
  }

 private:
  std::vector<std::string> ids_;
  std::vector<bool> is_open_;
  std::unordered_map<std::string, std::deque<size_t>> places_;  // open calls by id
  size_t first_ = 0;
};

// Gives each call an id, and each result that of its call: the first one without a result, if the client names none.
void name_calls(Messages& messages, bool needs_short_ids) {
  const auto named = [&](const std::string& id) { return needs_short_ids ? short_id(id) : id; };
  OpenCalls open;
  size_t n_calls = 0;
  for (Message& message : messages) {
    for (MessageCall& call : message.calls) {
      ++n_calls;
      call.id = named(call.id.empty() ? "call_" + std::to_string(n_calls) : call.id);
      open.add(call.id);
    }
    if (message.role != Role::kTool) continue;
    message.tool_call_id = message.tool_call_id.empty() ? open.first() : named(message.tool_call_id);
    open.close(message.tool_call_id);
  }
}

// Describes the tools in a text, for templates that do not support them.
void tell_tools(Conversation& conversation, const OutputFormat& format) {
  const Json example{{"argument", "value"}};
  const WrittenCall call{"name", example};
  std::string text = "# Tools\n\nYou can call these functions, each described in a line of JSON:\n";
  for (const Json& tool : conversation.tools) {
    text += json_text(tool.value("function", tool)) + "\n";
  }
  text += "\nTo call one, write its name and arguments in just this form:\n" +
          written_calls(format, std::span(&call, 1)) + "\nThe next message has its result.";
  conversation.tools = Json::array();
  Messages& messages = conversation.messages;
  const bool has_system = !messages.empty() && is_system(messages.front());
  if (!has_system) messages.insert(messages.begin(), message_of(Role::kSystem, ""));
  join_text(messages.front().content, text);
}

void name_developers(Messages& messages) {
  for (Message& message : messages) {
    if (message.role == Role::kDeveloper) message.role = Role::kSystem;
  }
}

// Later system texts become the user's: at their position they are read last, and no earlier turn changes.
void place_systems(Messages& messages, const TemplateTraits& traits) {
  if (!traits.takes_developer) name_developers(messages);
  auto turns = std::ranges::find_if_not(messages, is_system);
  if (!traits.takes_later_system) {
    std::for_each(turns, messages.end(), [](Message& message) {
      if (is_system(message)) message.role = Role::kUser;
    });
  }
  const bool joins = turns - messages.begin() > 1 && (!traits.takes_several_systems || !traits.takes_system);
  if (joins) {
    for (auto one = std::next(messages.begin()); one != turns; ++one) join_text(messages.front().content, one->content);
    turns = messages.erase(std::next(messages.begin()), turns);
  }
  if (traits.takes_system || turns == messages.begin()) return;
  messages.front().role = Role::kUser;
  if (turns == messages.end() || turns->role != Role::kUser) return;
  join_text(messages.front().content, turns->content);
  turns->content = std::move(messages.front().content);
  messages.erase(messages.begin());
}

void write_calls(Messages& messages, const OutputFormat& format) {
  for (Message& message : messages) {
    if (message.calls.empty()) continue;
    std::vector<WrittenCall> calls;
    for (const MessageCall& call : message.calls) calls.push_back({call.name, call.arguments});
    if (!message.content.empty()) message.content += "\n";
    message.content += written_calls(format, calls);
    message.calls.clear();
  }
}

void write_results(Messages& messages) {
  for (Message& message : messages) {
    if (message.role != Role::kTool) continue;
    message = message_of(Role::kUser, "<tool_response>\n" + message.content + "\n</tool_response>");
  }
}

// One message for each call, each followed by that call's results; results of other calls come last. The rest of the
// message stays with its first call.
void add_apart(Message message, std::span<Message> results, Messages& all) {
  std::unordered_map<std::string, std::vector<Message*>> results_of;
  for (const MessageCall& call : message.calls) results_of[call.id];
  std::vector<Message*> others;
  for (Message& result : results) {
    const auto found = results_of.find(result.tool_call_id);
    (found == results_of.end() ? others : found->second).push_back(&result);
  }
  for (MessageCall& call : std::exchange(message.calls, {})) {
    const std::vector<Message*> its = std::exchange(results_of[call.id], {});
    message.calls.push_back(std::move(call));
    all.push_back(std::exchange(message, message_of(Role::kAssistant, "")));
    for (Message* result : its) all.push_back(std::move(*result));
  }
  for (Message* result : others) all.push_back(std::move(*result));
}

void split_calls(Messages& messages) {
  Messages all;
  const auto is_other = [](const Message& message) { return message.role != Role::kTool; };
  for (auto one = messages.begin(); one != messages.end();) {
    if (one->calls.size() < 2) {
      all.push_back(std::move(*one++));
      continue;
    }
    const auto end = std::find_if(std::next(one), messages.end(), is_other);
    add_apart(std::move(*one), std::span(std::next(one), end), all);
    one = end;
  }
  messages = std::move(all);
}

void place_texts_of_calls(Messages& messages, TemplateTraits::TextWithCalls place) {
  if (place == TemplateTraits::TextWithCalls::kSameMessage) return;
  Messages all;
  for (Message& message : messages) {
    if (!message.calls.empty() && !message.content.empty()) {
      all.push_back(message_of(Role::kAssistant, std::exchange(message.content, "")));
      if (place == TemplateTraits::TextWithCalls::kTurnBefore) all.push_back(message_of(Role::kUser, ""));
    }
    all.push_back(std::move(message));
  }
  messages = std::move(all);
}

// Arranges messages as the template requires: neighbours of the same role are joined, or separated by an empty turn if
// they cannot be.
class Turns {
 public:
  explicit Turns(const TemplateTraits& traits) : traits_(traits) {}

  Messages all() && { return std::move(all_); }

  void add(Message message) {
    const bool is_user = message.role == Role::kUser, is_text = is_user || is_answer(message);
    if (is_text && joins(message)) return join(std::move(message));
    const bool is_first = !has_turns_ && !is_system(message);
    if (is_first) has_turns_ = true;
    if (is_first && message.role == Role::kAssistant && !traits_.takes_answer_first) add(message_of(Role::kUser, ""));
    if (is_text && last_ == message.role && !traits_.takes_turns_across_calls && !is_neighbour(message)) {
      add(message_of(is_user ? Role::kAssistant : Role::kUser, ""));
    }
    if (is_text) last_ = message.role;
    all_.push_back(std::move(message));
  }

 private:
  bool is_neighbour(const Message& message) const {
    return !all_.empty() && all_.back().role == message.role && all_.back().calls.empty();
  }

  bool joins(const Message& message) const {
    const bool takes = message.role == Role::kUser ? traits_.takes_user_neighbours : traits_.takes_assistant_neighbours;
    return !takes && is_neighbour(message);
  }

  void join(Message message) {
    join_text(all_.back().content, message.content);
    join_text(all_.back().reasoning, message.reasoning);
  }

  const TemplateTraits& traits_;
  Messages all_;
  bool has_turns_ = false;     // anything but system texts at the beginning
  Role last_ = Role::kSystem;  // of the last text message
};

void add_user_if_needed(Messages& messages, const TemplateTraits& traits) {
  const auto is_user = [](const Message& message) { return message.role == Role::kUser; };
  if (!traits.needs_user || std::ranges::any_of(messages, is_user)) return;
  messages.insert(std::ranges::find_if_not(messages, is_system), message_of(Role::kUser, ""));
}

Json arguments_json(const Json& arguments, const TemplateTraits& traits) {
  if (arguments.is_object()) {
    return traits.arguments_as_text ? Json(json_text(arguments)) : arguments;
  }
  const bool is_text = arguments.is_string() && (traits.takes_cut_arguments || traits.arguments_as_text);
  return is_text ? arguments : Json{{"input", arguments}};
}

Json content_json(const Message& message, const TemplateTraits& traits) {
  const bool is_nothing = message.content.empty() && !message.calls.empty();
  if (is_nothing && traits.no_content == TemplateTraits::NoContent::kNull) return nullptr;
  if (traits.content_as_parts) return Json::array({Json{{"type", "text"}, {"text", message.content}}});
  return message.content;
}

Json message_json(const Message& message, const TemplateTraits& traits) {
  Json json = message.more.is_object() ? message.more : Json::object();
  json.erase("tool_calls");
  if (message.role != Role::kOther) json["role"] = kRoleNames[static_cast<size_t>(message.role)];
  if (!message.tool_call_id.empty()) json["tool_call_id"] = message.tool_call_id;
  json["content"] = content_json(message, traits);
  const bool is_absent = traits.no_content == TemplateTraits::NoContent::kAbsent && message.content.empty();
  if (is_absent && !message.calls.empty()) json.erase("content");
  if (!message.reasoning.empty()) json[traits.thoughts_name] = message.reasoning;
  for (const MessageCall& call : message.calls) {
    Json& one = json["tool_calls"].emplace_back(call.more.is_object() ? call.more : Json::object());
    one["id"] = call.id;
    one["type"] = "function";
    one["function"]["name"] = call.name;
    one["function"]["arguments"] = arguments_json(call.arguments, traits);
  }
  if (!message.name.empty()) json["name"] = message.name;
  return json;
}

// Adds a field that the template requires to a function: "properties.type" applies to each property.
void add_tool_field(std::string_view field, Json& function) {
  const auto add = [](Json& object, const char* name, const Json& value) {
    if (object.is_object() && !object.contains(name)) object[name] = value;
  };
  if (field == "description") return add(function, "description", "");
  add(function, "parameters", {{"type", "object"}, {"properties", Json::object()}});
  Json& parameters = function["parameters"];
  if (field == "parameters.type") add(parameters, "type", "object");
  if (field == "parameters.properties") add(parameters, "properties", Json::object());
  if (field == "parameters.required") add(parameters, "required", Json::array());
  const bool is_of_each = field.starts_with("properties.") && parameters.is_object() &&
                          parameters.contains("properties") && parameters["properties"].is_object();
  if (!is_of_each) return;
  for (Json& property : parameters["properties"]) {
    if (field == "properties.type") add(property, "type", "string");
    if (field == "properties.description") add(property, "description", "");
  }
}

// Fields that a client sets to null count as absent.
Json tool_json(const Json& tool, const TemplateTraits& traits) {
  Json json = tool;
  const auto found = json.find("function");
  if (found == json.end() || !found->is_object()) return json;
  Json& function = *found;
  for (const char* field : {"description", "parameters"}) {
    if (function.contains(field) && function[field].is_null()) function.erase(field);
  }
  for (const std::string& field : traits.tool_fields) add_tool_field(field, function);
  return json;
}

}  // namespace

bool is_system(const Message& message) {
  return message.role == Role::kSystem || message.role == Role::kDeveloper;
}

Role role_named(std::string_view name) {
  return static_cast<Role>(std::ranges::find(kRoleNames, name) - kRoleNames.begin());
}

Json fitted(Conversation conversation, const TemplateTraits& traits, const OutputFormat& format) {
  Messages& messages = conversation.messages;
  name_calls(messages, traits.needs_short_ids);
  const bool tells_tools = traits.tools_name.empty() && !conversation.tools.empty();
  if (tells_tools) tell_tools(conversation, format);
  place_systems(messages, traits);
  if (!traits.takes_calls) write_calls(messages, format);
  if (!traits.takes_results) write_results(messages);
  if (!traits.takes_parallel_calls) split_calls(messages);
  place_texts_of_calls(messages, traits.text_with_calls);
  add_user_if_needed(messages, traits);
  Turns turns(traits);
  for (Message& message : messages) turns.add(std::move(message));
  Json variables{{"messages", Json::array()}};
  for (const Message& message : std::move(turns).all()) variables["messages"].push_back(message_json(message, traits));
  if (traits.null_tools && conversation.tools.empty()) variables["tools"] = nullptr;
  for (const Json& tool : conversation.tools) variables[traits.tools_name].push_back(tool_json(tool, traits));
  return variables;
}

}  // namespace realizar::text
