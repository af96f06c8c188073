// Routers: the rules of load balancers in front of a fleet. They know what such a balancer knows: the requests that it
// has sent and that have ended, and the servers' events, with their delay.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kv/block_pool.h"
#include "server.h"

namespace realizar::fleet {

enum class Policy : uint8_t {
  kRoundRobin,
  kLeastOpen,     // the server with the fewest open requests; HAProxy's leastconn
  kConversation,  // consistent hashing of the conversation, with bounded load
  kPrompt,        // the same for the prompt's first tokens
  kKvEvents,      // by the contents of the servers' caches, and their load
};
std::string_view to_string(Policy policy);
std::optional<Policy> policy_named(std::string_view name);

struct RouterOptions {
  Policy policy = Policy::kRoundRobin;
  uint32_t n_servers = 1;
  // Consistent hashing, as in deploy/haproxy.cfg: how often each server is on the ring (HAProxy: 16 times its weight)
  // and the maximum number of open requests of a server, in per cent of the mean (hash-balance-factor). For kPrompt,
  // also the number of a prompt's tokens that are hashed.
  uint32_t n_ring_points = 1024;
  uint32_t balance_factor = 200;
  uint32_t n_hashed_tokens = 256;
  // For kKvEvents: the weight of a block to be computed relative to one used in decoding (Dynamo:
  // overlap_score_weight).
  double overlap_weight = 1;
  uint32_t block_tokens = 32;
  kv::HashKey key{};  // with which all servers name blocks
};

class Router {
 public:
  virtual ~Router() = default;
  // The server for a request. `call` has its request, conversation and cache_salt.
  virtual uint32_t pick(const Call& call) = 0;
  // Events of sent requests: call.server is set.
  virtual void on_sent(const Call&) {}
  virtual void on_first_token(const Call&) {}
  virtual void on_ended(const Call&) {}
  virtual void on_event(uint32_t /*server*/, const KvEvent&) {}
};
std::unique_ptr<Router> make_router(const RouterOptions& options);

// Servers on a circle, each at several points; a key belongs to the next point after its hash (Karger et al. 1997).
class HashRing {
 public:
  HashRing(uint32_t n_servers, uint32_t n_points);
  // The first server from the key on that `has_room`; there must be one.
  template <class HasRoom>
  uint32_t pick(uint64_t key, const HasRoom& has_room) const {
    size_t point = first_point(key);
    while (!has_room(points_[point].second)) point = (point + 1) % points_.size();
    return points_[point].second;
  }

 private:
  size_t first_point(uint64_t key) const;

  std::vector<std::pair<uint64_t, uint32_t>> points_;  // ascending
};

// Open requests of each server.
class OpenCounts {
 public:
  explicit OpenCounts(uint32_t n_servers) : n_open_(n_servers) {}
  void add(uint32_t server) { ++n_open_[server], ++n_total_; }
  void remove(uint32_t server) { --n_open_[server], --n_total_; }
  uint32_t of(uint32_t server) const { return n_open_[server]; }
  uint32_t n_servers() const { return static_cast<uint32_t>(n_open_.size()); }
  // The maximum for a server when one more request arrives: `factor` per cent of the mean, rounded up (Mirrokni et al.
  // 2016, "Consistent hashing with bounded loads").
  uint64_t most(uint32_t factor) const {
    const uint64_t share = (n_total_ + 1) * factor, whole = uint64_t{100} * n_open_.size();
    return (share + whole - 1) / whole;
  }

 private:
  std::vector<uint32_t> n_open_;
  uint64_t n_total_ = 0;
};

// The blocks of each server, as far as its events have reported them.
class BlockIndex {
 public:
  void take(uint32_t server, const KvEvent& event);
  // For each server, how many blocks it has from the beginning of the chain of `hashes`, into [n_servers].
  void match(std::span<const uint64_t> hashes, std::vector<uint32_t>& n_blocks);
  size_t n_blocks() const { return holders_.size(); }

 private:
  std::unordered_map<uint64_t, std::vector<uint32_t>> holders_;  // servers, ascending
  std::vector<uint32_t> here_, rest_;
};

}  // namespace realizar::fleet
