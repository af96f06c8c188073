// The position of one sequence in its grammar, and the tokens that may come next. A Matcher is small and copied freely
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

// Everything computed for one grammar and one vocabulary. Starts over when it exceeds max_bytes.
class MaskCache {
 public:
  MaskCache(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie,
            size_t max_bytes = size_t{64} << 20, uint64_t narrow_nodes = MaskTable::kNarrowNodes);

  const Grammar& grammar() const { return *grammar_; }

 private:
  friend class Matcher;
  // Moves a matcher's state to a new table if the old one was replaced or is full. Requires the lock.
  void refresh(std::shared_ptr<MaskTable>& table, SetId& state);

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const TokenTrie> trie_;
  size_t max_bytes_;
  uint64_t narrow_nodes_;
  std::mutex mutex_;                  // guards every table made here
  std::shared_ptr<MaskTable> table_;  // older ones live on in matchers until their next call
};

class Matcher {
 public:
  explicit Matcher(std::shared_ptr<MaskCache> cache);

  const Grammar& grammar() const { return cache_->grammar(); }

  // Bit i of the mask ([ceil(n_vocab / 64)]): token i may come next. Never includes control tokens: is_complete() tells
  // whether the text may end. No bit is set if the text cannot continue.
  void fill_mask(std::span<uint64_t> mask);
  // Does a part of fill_mask()'s work, until n_work (in MaskTable's units) is used up, and subtracts the work done.
  // kTooCostly: the mask would be incomplete.
  MaskProgress prepare(int64_t& n_work);
  // Whether the text so far is a complete sentence of the grammar.
  bool is_complete();
  // Whether some byte may follow.
  bool can_continue();

  // False, without effect, if the grammar does not allow the token. That includes stacks deeper than
  // MaskTable::kMaxDepth, e.g. in JSON nested that deep.
  bool accept(TokenId token);
  bool accept_bytes(std::string_view bytes);
  // Like accept(), but deferred: the work is done by prepare(), or by the next call of any kind.
  void accept_later(TokenId token);

 private:
  bool catch_up(int64_t& n_work);
  void catch_up();

  std::shared_ptr<MaskCache> cache_;
  std::shared_ptr<MaskTable> table_;
  SetId state_;
  std::string_view ahead_;  // the rest of an accepted token that was not yet read
  SetId ahead_state_ = kDead;
};

}  // namespace realizar::grammar
