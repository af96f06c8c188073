#include "server/models/model_aliases.h"

#include <fmt/format.h>

#include <utility>

namespace realizar::server {
namespace {

std::string key_of(std::string_view name) {
  std::string key = with_tag(name);
  for (char& c : key) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return key;
}

Error no_room_for_models() {
  return {ErrorCode::kResourceExhausted,
          fmt::format("this server keeps at most {} made models of {} MB together", ModelAliases::kMaxOfOne,
                      ModelAliases::kMaxBytesOfOne >> 20),
          "model"};
}

}  // namespace

std::string with_tag(std::string_view name) {
  const size_t colon = name.rfind(':'), slash = name.rfind('/');
  const bool has_tag = colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return has_tag ? std::string(name) : std::string(name) + ":latest";
}

size_t ModelAlias::n_bytes() const {
  return name.size() + base.size() + parent.size() + template_source.size() + system.size() + license.size() +
         parameters.size() + messages.size();
}

Status ModelAliases::put(uint64_t owner, ModelAlias model) {
  const std::string key = key_of(model.name);
  const std::lock_guard lock(mutex_);
  if (!shelves_.contains(owner) && shelves_.size() >= kMaxOwners) return no_room_for_models();
  Shelf& shelf = shelves_[owner];
  const auto place = shelf.find(key);
  size_t n_bytes = model.n_bytes();
  for (const auto& [other, made] : shelf) n_bytes += other == key ? 0 : made->n_bytes();
  const bool is_full = place == shelf.end() && shelf.size() >= kMaxOfOne;
  const bool fits = !is_full && n_bytes <= kMaxBytesOfOne;
  if (fits) shelf[key] = std::make_shared<const ModelAlias>(std::move(model));
  if (shelf.empty()) shelves_.erase(owner);
  return fits ? Status() : Status(no_room_for_models());
}

ModelAliasPtr ModelAliases::find(uint64_t owner, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto shelf = shelves_.find(owner);
  if (shelf == shelves_.end()) return nullptr;
  const auto found = shelf->second.find(key_of(name));
  return found == shelf->second.end() ? nullptr : found->second;
}

bool ModelAliases::erase(uint64_t owner, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto shelf = shelves_.find(owner);
  if (shelf == shelves_.end() || shelf->second.erase(key_of(name)) == 0) return false;
  if (shelf->second.empty()) shelves_.erase(shelf);
  return true;
}

std::vector<ModelAliasPtr> ModelAliases::list(uint64_t owner) const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelAliasPtr> models;
  if (const auto shelf = shelves_.find(owner); shelf != shelves_.end()) {
    for (const auto& [key, made] : shelf->second) models.push_back(made);
  }
  return models;
}

}  // namespace realizar::server
