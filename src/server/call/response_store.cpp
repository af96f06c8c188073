#include "server/call/response_store.h"

#include <algorithm>
#include <utility>

namespace realizar::server {

void ResponseStore::put(uint64_t tenant, StoredResponse response) {
  const size_t n_bytes = response.n_bytes();
  if (n_bytes > limits_.max_bytes_of_one || n_bytes > limits_.max_bytes) return;
  const std::lock_guard lock(mutex_);
  const auto before = shelves_.find(tenant);
  if (before != shelves_.end() && before->second.by_id.contains(response.id)) remove(tenant, response.id);
  Shelf& shelf = shelves_[tenant];
  shelf.responses.push_front(std::make_shared<const StoredResponse>(std::move(response)));
  const StoredResponse& stored = *shelf.responses.front();
  shelf.by_id[stored.id] = shelf.responses.begin();
  for (const std::string& item : stored.item_ids) shelf.response_of_item[item] = stored.id;
  shelf.n_bytes += n_bytes;
  n_bytes_ += n_bytes;
  // The new response by itself is within its tenant's limits, so the shelf is not empty afterwards.
  while (shelf.n_bytes > limits_.max_bytes_of_one || shelf.responses.size() > limits_.max_responses_of_one) {
    drop_oldest(tenant);
  }
  const auto bytes_of = [](const auto& kept) { return kept.second.n_bytes; };
  while (n_bytes_ > limits_.max_bytes) drop_oldest(std::ranges::max_element(shelves_, {}, bytes_of)->first);
}

StoredResponsePtr ResponseStore::find(uint64_t tenant, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto shelf = shelves_.find(tenant);
  return shelf == shelves_.end() ? nullptr : find_on(shelf->second, id);
}

StoredResponsePtr ResponseStore::find_by_item(uint64_t tenant, const std::string& item_id) {
  const std::lock_guard lock(mutex_);
  const auto shelf = shelves_.find(tenant);
  if (shelf == shelves_.end()) return nullptr;
  const auto item = shelf->second.response_of_item.find(item_id);
  return item == shelf->second.response_of_item.end() ? nullptr : find_on(shelf->second, item->second);
}

std::vector<StoredResponsePtr> ResponseStore::find_chain(uint64_t tenant, const std::string& last_id) {
  const std::lock_guard lock(mutex_);
  std::vector<StoredResponsePtr> chain;
  const auto shelf = shelves_.find(tenant);
  if (shelf == shelves_.end()) return chain;
  for (auto found = find_on(shelf->second, last_id); found != nullptr;) {
    chain.push_back(found);
    found = find_on(shelf->second, found->previous_id);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

bool ResponseStore::erase(uint64_t tenant, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto shelf = shelves_.find(tenant);
  if (shelf == shelves_.end() || !shelf->second.by_id.contains(id)) return false;
  remove(tenant, id);
  return true;
}

StoredResponsePtr ResponseStore::find_on(Shelf& shelf, const std::string& id) {
  const auto found = shelf.by_id.find(id);
  if (found == shelf.by_id.end()) return nullptr;
  shelf.responses.splice(shelf.responses.begin(), shelf.responses, found->second);
  return *found->second;
}

void ResponseStore::remove(uint64_t tenant, const std::string& id) {
  Shelf& shelf = shelves_.at(tenant);
  const auto found = shelf.by_id.find(id);
  const StoredResponsePtr gone = *found->second;
  for (const std::string& item : gone->item_ids) shelf.response_of_item.erase(item);
  shelf.n_bytes -= gone->n_bytes();
  n_bytes_ -= gone->n_bytes();
  shelf.responses.erase(found->second);
  shelf.by_id.erase(found);
  if (shelf.responses.empty()) shelves_.erase(tenant);
}

void ResponseStore::drop_oldest(uint64_t tenant) {
  const std::string id = shelves_.at(tenant).responses.back()->id;
  remove(tenant, id);
}

}  // namespace realizar::server
