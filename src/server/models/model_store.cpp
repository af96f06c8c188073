#include "server/models/model_store.h"

#include <spdlog/spdlog.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/found_model.h"
#include "base/try.h"
#include "hub/name_table.h"
#include "server/models/stored_messages.h"

namespace realizar::server {

namespace {

// "": it was downloaded from where its name says.
std::string parent_of(const hub::LocalModel& model) {
  const bool is_own =
      model.source == hub::to_string(model.name) || model.source == hub::to_string(source_of(model.name));
  return is_own ? "" : model.source;
}

// In the format of chats; "" if there are none or they cannot be read.
std::string chat_messages(const hub::LocalModel& model, const std::string& text) {
  if (text.empty()) return "";
  const auto read = [&]() -> Result<Json> {
    RZ_TRY(const Json messages, parse_json(text));
    return read_stored_messages(messages);
  }();
  if (read.ok()) return read->empty() ? "" : dump(*read);
  spdlog::warn("{}: the messages next to the model are not used: {}", hub::to_string(model.name), read.error().message);
  return "";
}

}  // namespace

Result<ModelSource> source_of_local(const hub::LocalModel& model) {
  RZ_TRY(auto adapter, adapter_of(model));
  RZ_TRY(hub::ModelTexts texts, hub::read_texts(model));
  ModelSource source{hub::to_string(model.name), model.path.string()};
  StoredTexts own{std::move(texts.system), std::move(texts.license), chat_messages(model, texts.messages),
                  parent_of(model), texts.params};
  source.texts = std::make_shared<const StoredTexts>(std::move(own));
  source.beside = {std::move(texts.chat_template), std::move(texts.params)};
  if (model.place == hub::Place::kStore) source.store_name = model.name;
  if (adapter) {
    source.default_adapter = adapter->name;
    source.adapters.push_back(std::move(*adapter));
  }
  return source;
}

}  // namespace realizar::server
