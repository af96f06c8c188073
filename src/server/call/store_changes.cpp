#include "server/call/store_changes.h"

#include <fmt/format.h>

#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/context.h"
#include "server/models/model_registry.h"

namespace realizar::server {

Lack what_lacks(const Call& call) {
  if (may_change_store(call)) return Lack::kNothing;
  if (call.may_manage) return Lack::kFlag;
  if (call.key != KeyDigest{}) return Lack::kAdminKey;
  return call.context.options.clients_manage ? Lack::kOwnMachine : Lack::kFlag;
}

ApiError may_not_manage(const Call& call) {
  const char* message =
      "this changes the server for others: an admin's key may, or with --manage-models, where no keys "
      "are asked for, clients on its own machine";
  const Lack lack = what_lacks(call);
  if (lack == Lack::kOwnMachine) {
    message = "this changes the server for others: without API keys, clients on its own machine may";
  }
  if (lack == Lack::kAdminKey) message = "this changes the server for others: an admin's key may";
  return {403, message, "", "not_allowed"};
}

bool may_change_store(const Call& call) {
  const auto& store = call.context.options.store;
  return store != nullptr && store->may_change && call.may_manage;
}

bool refuse_store_change(Call& call) {
  if (may_change_store(call)) return false;
  const auto& store = call.context.options.store;
  const bool others_may = store != nullptr && store->may_change;
  call.fail(others_may ? may_not_manage(call)
                       : ApiError{403,
                                  "clients may not change the store of models: --manage-models lets them download, "
                                  "create, copy and delete models",
                                  "model", ""});
  return true;
}

Result<hub::ModelName> name_to_pull(const std::string& given) {
  RZ_TRY(hub::ModelName name, hub::parse_name(given));
  if (name.kind != hub::NameKind::kUrl) return name;
  return invalid_argument("model: expected a name, and no URL", "model");
}

hub::ModelName source_for_llama(const hub::ModelName& name) {
  if (name.kind != hub::NameKind::kLocal || name.owner.empty()) return name;
  return {hub::NameKind::kHuggingFace, name.owner, name.model, "main", name.tag == "latest" ? "" : name.tag, ""};
}

Status check_name_is_free(const Call& call, const std::string& name) {
  constexpr size_t kMaxNameBytes = 350;
  if (name.size() > kMaxNameBytes || name.find_first_of(" \t\r\n\"\\") != std::string::npos) {
    return invalid_argument(fmt::format("invalid model name '{}'", shown(name)), "model");
  }
  const auto* entry = call.context.models.find_named(name);
  if (entry == nullptr) return {};
  return invalid_argument(fmt::format("the server was started with the model '{}', which keeps its name", shown(name)),
                          "model");
}

Result<hub::ModelName> name_in_store(const Call& call, const std::string& given) {
  const auto name = hub::parse_name(given);
  if (!name.ok() || name->kind != hub::NameKind::kLocal) {
    return invalid_argument(fmt::format("invalid model name '{}': expected NAME[:TAG]", shown(given)), "model");
  }
  const auto* entry = call.context.models.find_named(given);
  if (entry == nullptr || entry->source.store_name == *name) return *name;
  return invalid_argument(fmt::format("a model is called '{}' already, which keeps its name", shown(given)), "model");
}

Result<ModelSource> stored_source(const ModelStore& store, const hub::ModelName& name) {
  RZ_TRY(const hub::LocalModel model, store.library.find(name));
  return source_of_local(model);
}

void take_in_stored(const Call& call, ModelSource model) {
  static_cast<void>(call.context.client_models->made.erase(tenant_of(call.key), model.id));
  call.context.models.put(std::move(model));
}

Status delete_stored(const ModelStore& store, const hub::ModelName& name) {
  RZ_TRY([[maybe_unused]] const auto removed, store.library.store().remove(name));
  return {};
}

void drop_stored(const Call& call, const hub::ModelName& name) {
  std::vector<std::string> ids;
  for (const auto& entry : call.context.models.entries()) {
    if (entry.source.store_name != name) continue;
    call.context.client_models->cards.forget(entry.source.path);
    ids.push_back(entry.source.id);
  }
  for (const std::string& id : ids) static_cast<void>(call.context.models.remove(id));
}

}  // namespace realizar::server
