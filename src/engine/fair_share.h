// Counts the tokens computed for each tenant, so that the one served least comes next (virtual token counters: Sheng et
// al. 2024, "Fairness in serving large language models"). A tenant that comes back starts level with the least served
// of those that are there: rest earns no credit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace realizar {

class FairShare {
 public:
  // A request of `tenant` arrives or ends.
  void join(uint64_t tenant) {
    Account& account = accounts_[tenant];
    if (account.n_requests++ == 0) account.n_tokens = std::max(account.n_tokens, least_active(tenant));
  }
  void leave(uint64_t tenant) { --accounts_[tenant].n_requests; }
  void charge(uint64_t tenant, uint32_t n_tokens) { accounts_[tenant].n_tokens += n_tokens; }

  uint64_t n_tokens(uint64_t tenant) const {
    const auto found = accounts_.find(tenant);
    return found == accounts_.end() ? 0 : found->second.n_tokens;
  }

 private:
  struct Account {
    uint64_t n_tokens = 0;
    uint32_t n_requests = 0;
  };

  uint64_t least_active(uint64_t newcomer) const {
    uint64_t least = UINT64_MAX;
    for (const auto& [tenant, account] : accounts_) {
      if (tenant != newcomer && account.n_requests > 0) least = std::min(least, account.n_tokens);
    }
    return least == UINT64_MAX ? 0 : least;
  }

  std::unordered_map<uint64_t, Account> accounts_;  // one for each key that was ever used
};

}  // namespace realizar
