#include "router.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "base/check.h"

namespace realizar::fleet {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"round-robin", "least-open", "conversation", "prompt", "kv-events"};
constexpr kv::HashKey kRingKey = {0x72696e67, 0x68617368};

uint64_t hash_of(std::span<const std::byte> bytes) {
  return kv::SipHash(kRingKey).finish(bytes);
}

class RoundRobin final : public Router {
 public:
  explicit RoundRobin(uint32_t n_servers) : n_servers_(n_servers) {}
  uint32_t pick(const Call&) override { return next_++ % n_servers_; }

 private:
  uint32_t n_servers_, next_ = 0;
};

// If several have as few, chooses the one after the last that was chosen.
class LeastOpen final : public Router {
 public:
  explicit LeastOpen(uint32_t n_servers) : open_(n_servers) {}
  uint32_t pick(const Call&) override {
    uint32_t least = next_;
    for (uint32_t i = 0; i < open_.n_servers(); ++i) {
      const uint32_t server = (next_ + i) % open_.n_servers();
      if (open_.of(server) < open_.of(least)) least = server;
    }
    next_ = (least + 1) % open_.n_servers();
    return least;
  }
  void on_sent(const Call& call) override { open_.add(call.server); }
  void on_ended(const Call& call) override { open_.remove(call.server); }

 private:
  OpenCounts open_;
  uint32_t next_ = 0;
};

class BoundedHash final : public Router {
 public:
  explicit BoundedHash(const RouterOptions& options)
      : options_(options), ring_(options.n_servers, options.n_ring_points), open_(options.n_servers) {}
  uint32_t pick(const Call& call) override {
    const uint64_t most = open_.most(options_.balance_factor);
    return ring_.pick(key_of(call), [&](uint32_t server) { return open_.of(server) < most; });
  }
  void on_sent(const Call& call) override { open_.add(call.server); }
  void on_ended(const Call& call) override { open_.remove(call.server); }

 private:
  uint64_t key_of(const Call& call) const {
    if (options_.policy == Policy::kPrompt) {
      const auto prompt = std::span(call.request.prompt);
      return hash_of(std::as_bytes(prompt.first(std::min<size_t>(prompt.size(), options_.n_hashed_tokens))));
    }
    const std::string text = std::to_string(call.conversation);
    return hash_of(std::as_bytes(std::span(text)));
  }

  const RouterOptions options_;
  HashRing ring_;
  OpenCounts open_;
};

// Dynamo's rule: the server with the least overlap_weight * prefill_blocks + decode_blocks, where both count its open
// requests and the new one: prefill_blocks without those in its cache, decode_blocks each once, however many open
// requests share it (NVIDIA Dynamo, "Router design", cost calculation).
class KvRouter final : public Router {
 public:
  explicit KvRouter(const RouterOptions& options)
      : options_(options), names_(1, options.block_tokens, options.key), loads_(options.n_servers) {}

  uint32_t pick(const Call& call) override {
    const size_t n_prompt = call.request.prompt.size();
    newest_.names = names_of(call);
    n_cached_.assign(loads_.size(), 0);
    n_active_.assign(loads_.size(), 0);
    cached_.match(newest_.names, n_cached_);
    active_.match(newest_.names, n_active_);
    uint32_t best = next_;
    double least = cost(best, n_prompt);
    for (uint32_t i = 1; i < loads_.size(); ++i) {
      const auto server = static_cast<uint32_t>((next_ + i) % loads_.size());
      const double other = cost(server, n_prompt);
      if (other >= least) continue;
      least = other;
      best = server;
    }
    next_ = static_cast<uint32_t>((best + 1) % loads_.size());
    newest_.n_prefill_tokens = n_prompt - size_t{n_cached_[best]} * options_.block_tokens;
    return best;
  }

  void on_sent(const Call& call) override {
    Load& load = loads_[call.server];
    load.n_prefill_tokens += newest_.n_prefill_tokens;
    for (const uint64_t name : newest_.names) {
      if (load.n_users[name]++ == 0) active_.take(call.server, {name, true});
    }
    open_.emplace(&call, std::move(newest_));
  }
  void on_first_token(const Call& call) override {
    loads_[call.server].n_prefill_tokens -= std::exchange(open_.at(&call).n_prefill_tokens, 0);
  }
  void on_ended(const Call& call) override {
    on_first_token(call);  // it may have ended without any
    Load& load = loads_[call.server];
    for (const uint64_t name : open_.at(&call).names) {
      const auto users = load.n_users.find(name);
      if (--users->second > 0) continue;
      load.n_users.erase(users);
      active_.take(call.server, {name, false});
    }
    open_.erase(&call);
  }
  void on_event(uint32_t server, const KvEvent& event) override { cached_.take(server, event); }

 private:
  struct Load {
    uint64_t n_prefill_tokens = 0;                   // of requests without a token yet
    std::unordered_map<uint64_t, uint32_t> n_users;  // open requests that use a block, by its name
  };
  struct Open {
    std::vector<uint64_t> names;  // of its prompt's whole blocks
    uint64_t n_prefill_tokens = 0;
  };

  double cost(uint32_t server, size_t n_prompt) const {
    const Load& load = loads_[server];
    const size_t n_new = n_prompt - size_t{n_cached_[server]} * options_.block_tokens;
    const double prefill_blocks = static_cast<double>(load.n_prefill_tokens + n_new) / options_.block_tokens;
    const size_t decode_blocks = load.n_users.size() + newest_.names.size() - n_active_[server];
    return options_.overlap_weight * prefill_blocks + static_cast<double>(decode_blocks);
  }

  std::vector<uint64_t> names_of(const Call& call) const {
    const auto prompt = std::span(call.request.prompt);
    std::vector<uint64_t> names;
    uint64_t hash = names_.root_hash(call.request.cache_salt);
    for (size_t end = options_.block_tokens; end <= prompt.size(); end += options_.block_tokens) {
      hash = names_.hash_after(hash, prompt.subspan(end - options_.block_tokens, options_.block_tokens));
      names.push_back(hash);
    }
    return names;
  }

  const RouterOptions options_;
  const kv::BlockPool names_;   // only for its hashes
  BlockIndex cached_, active_;  // from events, and blocks of open requests
  std::vector<Load> loads_;
  std::unordered_map<const Call*, Open> open_;
  Open newest_;                                // the most recently chosen one
  std::vector<uint32_t> n_cached_, n_active_;  // of its blocks, on each server
  uint32_t next_ = 0;
};

}  // namespace

std::string_view to_string(Policy policy) {
  return kNames[static_cast<size_t>(policy)];
}

std::optional<Policy> policy_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Policy>(found - kNames.begin());
}

std::unique_ptr<Router> make_router(const RouterOptions& options) {
  REQUIRE(options.n_servers > 0 && options.n_ring_points > 0 && options.balance_factor >= 100);
  switch (options.policy) {
    case Policy::kRoundRobin:
      return std::make_unique<RoundRobin>(options.n_servers);
    case Policy::kLeastOpen:
      return std::make_unique<LeastOpen>(options.n_servers);
    case Policy::kConversation:
    case Policy::kPrompt:
      return std::make_unique<BoundedHash>(options);
    case Policy::kKvEvents:
      return std::make_unique<KvRouter>(options);
  }
  return nullptr;
}

HashRing::HashRing(uint32_t n_servers, uint32_t n_points) {
  points_.reserve(size_t{n_servers} * n_points);
  for (uint32_t server = 0; server < n_servers; ++server) {
    for (uint32_t point = 0; point < n_points; ++point) {
      const std::array<uint32_t, 2> name = {server, point};
      points_.emplace_back(hash_of(std::as_bytes(std::span(name))), server);
    }
  }
  std::ranges::sort(points_);
}

size_t HashRing::first_point(uint64_t key) const {
  const auto next = std::ranges::lower_bound(points_, std::pair<uint64_t, uint32_t>(key, 0));
  return next == points_.end() ? 0 : static_cast<size_t>(next - points_.begin());
}

void BlockIndex::take(uint32_t server, const KvEvent& event) {
  if (event.is_stored) {
    std::vector<uint32_t>& servers = holders_[event.hash];
    const auto place = std::ranges::lower_bound(servers, server);
    if (place == servers.end() || *place != server) servers.insert(place, server);
    return;
  }
  const auto entry = holders_.find(event.hash);
  if (entry == holders_.end()) return;
  const auto place = std::ranges::lower_bound(entry->second, server);
  if (place != entry->second.end() && *place == server) entry->second.erase(place);
  if (entry->second.empty()) holders_.erase(entry);
}

// Only servers with all blocks so far can have more.
void BlockIndex::match(std::span<const uint64_t> hashes, std::vector<uint32_t>& n_blocks) {
  for (size_t block = 0; block < hashes.size(); ++block) {
    const auto entry = holders_.find(hashes[block]);
    if (entry == holders_.end()) return;
    if (block == 0) {
      here_ = entry->second;
    } else {
      rest_.clear();
      std::ranges::set_intersection(here_, entry->second, std::back_inserter(rest_));
      here_.swap(rest_);
    }
    for (const uint32_t server : here_) ++n_blocks[server];
    if (here_.empty()) return;
  }
}

}  // namespace realizar::fleet
