// How far one sequence is into its grammar, and which tokens may come next. A Matcher is small and copied freely
// (speculation keeps a copy and goes back to it); one thread at a time may use it. Matchers of one grammar share a
// MaskCache, from any threads; it holds a lock during each call.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "grammar/grammar.h"
#include "grammar/mask_table.h"
#include "grammar/token_trie.h"
#include "realizar/types.h"

namespace realizar::grammar {

// What has been computed for one grammar and one vocabulary. Beyond max_bytes it starts anew.
class MaskCache {
 public:
  MaskCache(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie,
            size_t max_bytes = size_t{64} << 20, uint64_t narrow_nodes = MaskTable::kNarrowNodes);

  const Grammar& grammar() const { return *grammar_; }

 private:
  friend class Matcher;
  // Moves a matcher's state to a new table where the old one was given up or is full. Under the lock.
  void refresh(std::shared_ptr<MaskTable>& table, SetId& state);

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const TokenTrie> trie_;
  size_t max_bytes_;
  uint64_t narrow_nodes_;
  std::mutex mutex_;                  // of every table made here
  std::shared_ptr<MaskTable> table_;  // older ones live on in matchers until these are used again
};

class Matcher {
 public:
  explicit Matcher(std::shared_ptr<MaskCache> cache);

  const Grammar& grammar() const { return cache_->grammar(); }

  // Bit i of the mask ([ceil(n_vocab / 64)]): token i may come next. Never control tokens: whether the text may end is
  // is_complete(). No bit where the text cannot go on.
  void fill_mask(std::span<uint64_t> mask);
  // Does a part of what fill_mask() has to compute, until n_work (as MaskTable counts it) is used up, and takes away
  // what it used. kTooCostly: the mask would not be whole.
  MaskProgress prepare(int64_t& n_work);
  // The text so far is a whole sentence of the grammar.
  bool is_complete();
  // Some byte may follow.
  bool can_continue();

  // False, and nothing changes, where the grammar does not allow it. That includes stacks deeper than
  // MaskTable::kMaxDepth, e.g. in JSON nested that deep.
  bool accept(TokenId token);
  bool accept_bytes(std::string_view bytes);
  // Does as accept() does, but not now: it is a part of what prepare() does, or whatever is called first.
  void accept_later(TokenId token);

 private:
  bool catch_up(int64_t& n_work);
  void catch_up();

  std::shared_ptr<MaskCache> cache_;
  std::shared_ptr<MaskTable> table_;
  SetId state_;
  std::string_view ahead_;  // the rest of a token that was accepted and not yet read
  SetId ahead_state_ = kDead;
};

}  // namespace realizar::grammar
