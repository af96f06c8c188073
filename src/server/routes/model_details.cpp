#include "server/routes/model_details.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hub/partial_file.h"
#include "server/call/context.h"
#include "server/call/store_changes.h"

namespace realizar::server {
namespace {

const char* to_string(Lack lack) {
  switch (lack) {
    case Lack::kNothing:
      return "";
    case Lack::kFlag:
      return "manage_models";
    case Lack::kAdminKey:
      return "admin_key";
    case Lack::kOwnMachine:
      return "own_machine";
  }
  return "";
}

bool may_delete(const Call& call, const ModelRegistry::Entry& entry) {
  const bool is_last = call.context.models.entries().size() == 1;
  const bool is_of_store = entry.source.store_name && may_change_store(call);
  return !is_last && ((entry.source.is_deletable && call.may_manage) || is_of_store);
}

// The memory that --memory-mb leaves.
Json limit_json(const ServerContext& context) {
  uint64_t n_held = context.answers.n_held_bytes();
  for (const auto* entries : {&context.models.entries(), &context.models.leaving()}) {
    for (const ModelEntry& entry : *entries) n_held += entry.model == nullptr ? 0 : entry.model->n_bytes();
  }
  const uint64_t n_most = context.options.memory_bytes;
  return {{"name", "--memory-mb"}, {"free_bytes", n_most - std::min(n_held, n_most)}, {"total_bytes", n_most}};
}

}  // namespace

ModelDetails read_details(ServerContext& context, const std::vector<std::string>& paths) {
  ModelDetails details;
  for (const std::string& path : paths) details.cards[path] = context.client_models->cards.of(path);
  details.memory = memory_places(context.options.load);
  if (const auto& store = context.options.store; store != nullptr) {
    details.n_disk_bytes = hub::free_disk_bytes(store->library.store().root()).value_or(0);
  }
  return details;
}

Json ModelDetails::of(const Call& call, const ModelRegistry::Entry& entry) const {
  const auto found = cards.find(entry.source.path);
  if (found == cards.end()) return nullptr;
  const ModelCard& card = *found->second;
  return {{"file_bytes", card.n_bytes},        {"needed_bytes", card.n_needed_bytes},
          {"architecture", card.arch},         {"quantization", card.quantization},
          {"n_params", card.n_params},         {"n_ctx_train", card.n_ctx},
          {"capabilities", card.capabilities}, {"may_delete", may_delete(call, entry)}};
}

Json ModelDetails::of_server(const Call& call) const {
  Json places = Json::array();
  if (call.context.options.memory_bytes > 0) places.push_back(limit_json(call.context));
  for (const MemoryPlace& place : memory) {
    places.push_back({{"name", place.name}, {"free_bytes", place.free_bytes}, {"total_bytes", place.total_bytes}});
  }
  const Lack lack = what_lacks(call);
  return {{"may_load", call.may_manage},
          {"may_download", lack == Lack::kNothing},
          {"lacks", to_string(lack)},
          {"memory", std::move(places)},
          {"disk_free_bytes", lack == Lack::kNothing ? n_disk_bytes : 0}};
}

}  // namespace realizar::server
