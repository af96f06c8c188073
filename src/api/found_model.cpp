#include "api/found_model.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "hub/locate.h"

namespace realizar {
namespace {

using ChatJson = nlohmann::ordered_json;

bool is_message(const ChatJson& message) {
  if (!message.is_object()) return false;
  const ChatJson role = message.value("role", ChatJson());
  const bool is_known = role == "system" || role == "user" || role == "assistant";
  return is_known && message.value("content", ChatJson()).is_string();
}

}  // namespace

Result<FoundModel> find_model(const hub::Library& library, const std::string& given) {
  RZ_TRY(const hub::LocalModel model, hub::locate(library, given));
  RZ_TRY(auto adapter, adapter_of(model));
  RZ_TRY(hub::ModelTexts texts, hub::read_texts(model));
  return FoundModel{model.path.string(),     {std::move(texts.chat_template), std::move(texts.params)},
                    std::move(texts.system), std::move(texts.messages),
                    std::move(adapter),      model.note};
}

Result<std::optional<AdapterSource>> adapter_of(const hub::LocalModel& model) {
  if (model.adapters.empty()) return std::optional<AdapterSource>();
  if (model.adapters.size() > 1) {
    return unsupported(fmt::format("'{}' has {} adapters, and only one is supported", hub::to_string(model.name),
                                   model.adapters.size()),
                       "model");
  }
  return std::optional(AdapterSource{kStoredAdapter, model.adapters.front().string()});
}

std::vector<text::Message> ChatBeginning::before(bool has_system) const {
  std::vector<text::Message> all = messages;
  const bool wants_system = !system.empty() && !has_system && std::ranges::none_of(all, text::is_system);
  if (wants_system) all.insert(all.begin(), {text::Role::kSystem, system});
  return all;
}

ChatBeginning read_chat_beginning(std::string system, const std::string& messages, std::vector<std::string>& notes) {
  ChatBeginning beginning{std::move(system)};
  if (messages.empty()) return beginning;
  const ChatJson read = ChatJson::parse(messages, nullptr, false);
  if (!read.is_array() || !std::ranges::all_of(read, is_message)) {
    notes.emplace_back("the messages next to the model's file are not used: expected a list of messages with texts");
    return beginning;
  }
  for (const ChatJson& message : read) {
    const text::Role role = text::role_named(message["role"].get_ref<const std::string&>());
    beginning.messages.push_back({.role = role, .content = message["content"], .more = message});
  }
  return beginning;
}

}  // namespace realizar
