// Counts the tokens computed for each tenant, so that the one served least comes next (virtual token counters: Sheng et
// al. 2024, "Fairness in serving large language models"). A tenant that comes back starts level with the least served
// of those that are there: rest earns no credit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace realizar::engine {

class FairShare {
 public:
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
  // One of its requests gets a place among those that run, or gives it back. A place counts as a token, so that tenants
  // who are level take turns.
  void start(uint64_t tenant) {
    Account& account = accounts_[tenant];
    ++account.n_running;
    ++account.n_tokens;
  }
  void stop(uint64_t tenant) { --accounts_[tenant].n_running; }
  void charge(uint64_t tenant, uint32_t n_tokens) { accounts_[tenant].n_tokens += n_tokens; }

  uint64_t n_tokens(uint64_t tenant) const { return account_of(tenant).n_tokens; }
  uint32_t n_running(uint64_t tenant) const { return account_of(tenant).n_running; }
  // Orders tenants by when they last came without having a request here already.
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

  // What tenants were given counts as long as somebody competes with them, and as long as there are not too many.
  void forget_idle() {
    if (n_active_ > 0 && accounts_.size() <= kMaxAccounts) return;
    std::erase_if(accounts_, [](const auto& entry) { return entry.second.n_requests == 0; });
  }

  std::unordered_map<uint64_t, Account> accounts_;
  uint64_t n_arrivals_ = 0;
  size_t n_active_ = 0;  // tenants that have requests
};

}  // namespace realizar::engine
