// How much of each scarce resource a tenant gets. Each tenant has a claim to its share: one that holds less gets room
// at once, from the tenant that holds most. Beyond that the tenant served least is next, by the number of tokens
// computed for it (virtual token counters: Sheng et al. 2024, "Fairness in serving large language models"). A tenant
// that returns starts level with the least served of the present ones: a pause earns no credit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>

namespace realizar::engine {

// The group within which priorities of requests are compared.
enum class PriorityScope : uint8_t { kTenant, kAll };

// The part of n_total things that each of n_tenants may have regardless of the others; at least one.
inline uint64_t share_of(uint64_t n_total, size_t n_tenants) {
  return std::max<uint64_t>(n_total / std::max<size_t>(n_tenants, 1), 1);
}

// Whether a tenant that would hold n_with gets room from the one that holds most.
inline bool has_claim(uint64_t n_with, uint64_t n_most, uint64_t share) {
  return n_with <= share && n_most > share;
}

struct Holding {
  uint64_t tenant;
  uint64_t n_held;
};

// Chooses which holder makes room when `wanted` asks for one more of n_total things: the newest one of the tenant that
// has most, if the wanting tenant has a claim; else holders.end(). `holders`: the oldest first; a holder for which
// `holding_of` says that it holds nothing is skipped.
template <class Holders, class HoldingOf>
auto newest_of_most(const Holders& holders, HoldingOf holding_of, const Holding& wanted, uint64_t n_total) {
  std::map<uint64_t, uint64_t> n_of{{wanted.tenant, 0}};
  for (const auto& holder : holders) {
    const Holding holding = holding_of(holder);
    if (holding.n_held > 0) n_of[holding.tenant] += holding.n_held;
  }
  auto newest = holders.end();
  uint64_t n_most = 0;
  for (auto holder = holders.begin(); holder != holders.end(); ++holder) {
    const Holding holding = holding_of(*holder);
    if (holding.n_held == 0 || n_of[holding.tenant] < n_most) continue;
    n_most = n_of[holding.tenant];
    newest = holder;
  }
  const bool claims = has_claim(n_of[wanted.tenant] + wanted.n_held, n_most, share_of(n_total, n_of.size()));
  return claims ? newest : holders.end();
}

class FairShare {
 public:
  // `n_slots`: requests that run at the same time.
  explicit FairShare(uint32_t n_slots = UINT32_MAX) : n_slots_(n_slots) {}

  // A request of `tenant` arrives or ends.
  void join(uint64_t tenant) {
    Account& account = accounts_[tenant];
    if (account.n_requests++ > 0) return;
    account.n_tokens = std::max(account.n_tokens, least_active(tenant));
    account.active_since = ++n_arrivals_;
    ++n_active_;
  }
  void leave(uint64_t tenant) {
    if (--accounts_[tenant].n_requests > 0) return;
    --n_active_;
    forget_idle();
  }
  // One of its requests gets a running slot, or releases it. A slot counts as a token, so that level tenants take
  // turns.
  void start(uint64_t tenant) {
    Account& account = accounts_[tenant];
    ++account.n_running;
    ++account.n_tokens;
  }
  void stop(uint64_t tenant) { --accounts_[tenant].n_running; }
  void charge(uint64_t tenant, uint32_t n_tokens) { accounts_[tenant].n_tokens += n_tokens; }

  uint64_t n_tokens(uint64_t tenant) const { return account_of(tenant).n_tokens; }
  uint32_t n_running(uint64_t tenant) const { return account_of(tenant).n_running; }
  uint32_t n_requests(uint64_t tenant) const { return account_of(tenant).n_requests; }
  // Whether it runs fewer requests than its share of the slots.
  bool lacks_slot(uint64_t tenant) const { return n_running(tenant) < slot_share(); }
  uint64_t slot_share() const { return share_of(n_slots_, n_active_); }
  size_t n_active() const { return n_active_; }  // tenants with requests
  // Orders tenants by the time since when they have had requests without a break.
  uint64_t active_since(uint64_t tenant) const { return account_of(tenant).active_since; }
  size_t n_accounts() const { return accounts_.size(); }

 private:
  static constexpr size_t kMaxAccounts = 4096;
  struct Account {
    uint64_t n_tokens = 0, active_since = 0;
    uint32_t n_requests = 0, n_running = 0;
  };

  const Account& account_of(uint64_t tenant) const {
    static constexpr Account kNone{};
    const auto found = accounts_.find(tenant);
    return found == accounts_.end() ? kNone : found->second;
  }

  uint64_t least_active(uint64_t newcomer) const {
    uint64_t least = UINT64_MAX;
    for (const auto& [tenant, account] : accounts_) {
      if (tenant != newcomer && account.n_requests > 0) least = std::min(least, account.n_tokens);
    }
    return least == UINT64_MAX ? 0 : least;
  }

  // Service counts only while other tenants compete, and while there are not too many accounts.
  void forget_idle() {
    if (n_active_ > 0 && accounts_.size() <= kMaxAccounts) return;
    std::erase_if(accounts_, [](const auto& entry) { return entry.second.n_requests == 0; });
  }

  std::unordered_map<uint64_t, Account> accounts_;
  uint64_t n_arrivals_ = 0;
  size_t n_active_ = 0;
  uint32_t n_slots_;
};

}  // namespace realizar::engine
