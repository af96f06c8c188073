// Stored responses, in memory, for previous_response_id, item_reference and GET. Each belongs to a tenant (auth.h), and
// is invisible to others. Limited in number and bytes: a tenant's least recently used are dropped first. Any thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace realizar::server {

struct StoredResponse {
  std::string id;
  std::string previous_id;            // the response that it continues; "": none
  std::string input;                  // JSON: an array of items
  std::string response;               // JSON, as sent to the client
  std::vector<std::string> item_ids;  // of the output's items, and of those input items that got their ids here
  bool is_over = true;                // nothing will be added
  bool in_background = false;

  size_t n_bytes() const { return id.size() + previous_id.size() + input.size() + response.size(); }
};
using StoredResponsePtr = std::shared_ptr<const StoredResponse>;

struct ResponseLimits {
  uint64_t max_bytes = 64u << 20;         // of all tenants together
  uint64_t max_bytes_of_one = 16u << 20;  // of a tenant
  size_t max_responses_of_one = 1000;
};

class ResponseStore {
 public:
  explicit ResponseStore(const ResponseLimits& limits) : limits_(limits) {}

  size_t max_bytes_of_one() const { return limits_.max_bytes_of_one; }
  // Replaces the tenant's response with that id, if there is one. A response that exceeds a tenant's share is not kept.
  void put(uint64_t tenant, StoredResponse response);
  // Null if the tenant has none. A found response counts as used.
  StoredResponsePtr find(uint64_t tenant, const std::string& id);
  // The response that has the item.
  StoredResponsePtr find_by_item(uint64_t tenant, const std::string& item_id);
  // The response and its predecessors, the oldest first, back to the first missing one.
  std::vector<StoredResponsePtr> find_chain(uint64_t tenant, const std::string& last_id);
  // False where there is none.
  bool erase(uint64_t tenant, const std::string& id);

 private:
  struct Shelf {
    std::list<StoredResponsePtr> responses;  // most recently used first
    std::unordered_map<std::string, std::list<StoredResponsePtr>::iterator> by_id;
    std::unordered_map<std::string, std::string> response_of_item;
    uint64_t n_bytes = 0;
  };
  StoredResponsePtr find_on(Shelf& shelf, const std::string& id);
  void remove(uint64_t tenant, const std::string& id);
  void drop_oldest(uint64_t tenant);

  const ResponseLimits limits_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, Shelf> shelves_;  // none is empty
  uint64_t n_bytes_ = 0;
};

}  // namespace realizar::server
