// Responses that were asked to be stored, in memory, for previous_response_id, item_reference and GET. Each belongs to
// a tenant (auth.h), and no other sees it. Bounded in number and bytes: the least recently used of a tenant go first.
// Any thread.
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
  std::string previous_id;            // the response that it goes on with; "": none
  std::string input;                  // JSON: an array of items
  std::string response;               // JSON, as it was answered
  std::vector<std::string> item_ids;  // of its items: the output's, and those of the input that got theirs here
  bool is_over = true;                // nothing comes to it any more
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
  // In the place of the tenant's response of that id, where there is one. What is larger than a tenant's share is not
  // kept.
  void put(uint64_t tenant, StoredResponse response);
  // Null where there is none of the tenant. What is found counts as used.
  StoredResponsePtr find(uint64_t tenant, const std::string& id);
  // The response that has the item.
  StoredResponsePtr find_by_item(uint64_t tenant, const std::string& item_id);
  // The response and those that it goes on with, the oldest first: as far back as none is gone.
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
  uint64_t largest_tenant() const;

  const ResponseLimits limits_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, Shelf> shelves_;  // none is empty
  uint64_t n_bytes_ = 0;
};

}  // namespace realizar::server
