// Token masks by state, computed when first needed and kept. A state from which few tokens lead on is walked through
// the trie as it is. For the others, such as the inside of a string, the answer for most tokens depends on the top
// frames alone, so it is worked out once with nothing known below, and only the tokens that leave those frames are
// tried on each stack. (The split is described by Dong et al. 2024, "XGrammar", section 3.1.)
//
// Not for more than one thread at a time; see mask_cache.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/stack_sets.h"
#include "grammar/token_trie.h"

namespace realizar::grammar {

// Tokens as bits, or as a list where they are few.
class TokenSet {
 public:
  TokenSet() = default;
  explicit TokenSet(std::vector<uint64_t> words);
  void write_to(std::span<uint64_t> words) const;
  void add_to(std::span<uint64_t> words) const;
  bool empty() const { return ids_.empty() && words_.empty(); }
  size_t bytes() const { return words_.size() * sizeof(uint64_t) + ids_.size() * sizeof(TokenId); }

 private:
  std::vector<uint64_t> words_;
  std::vector<TokenId> ids_;
};

class MaskTable {
 public:
  static constexpr uint32_t kMaxDepth = 1000;
  // A mask that takes more frames than this holds only the tokens found until then. Real grammars stay far below.
  static constexpr uint64_t kMaxMaskWork = 20'000'000;

  // A walk of this many nodes costs about as much as looking at the shared parts.
  static constexpr uint64_t kNarrowNodes = 4096;

  // States from which more than narrow_nodes nodes are met use the shared parts.
  MaskTable(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie,
            uint64_t narrow_nodes = kNarrowNodes);

  StackSets& sets() { return sets_; }
  const StackSets& sets() const { return sets_; }
  SetId step(SetId set, std::string_view bytes);
  // The tokens allowed after `set`. Valid until the next call.
  const TokenSet& tokens_after(SetId set);
  size_t bytes() const { return sets_.bytes() + masks_bytes_; }

 private:
  // What the top frames alone say of tokens up to some length.
  struct Shared {
    TokenSet allowed;               // whatever is below
    std::vector<uint32_t> depends;  // trie nodes, ascending, whose tokens leave the frames before they end
    uint32_t max_depth = 0;         // of the stacks met
  };

  template <class Visit>
  bool walk(SetId from, uint64_t max_nodes, uint32_t max_bytes, Visit visit);
  void allow(uint32_t node);
  TokenSet compute(SetId set);
  bool add_shared(SetId set, std::vector<const Shared*>& used, bool& only_short);
  const Shared& shared_of(SetId top, uint32_t max_bytes);
  void try_nodes(SetId set, std::span<const uint32_t> nodes);

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const TokenTrie> trie_;
  uint64_t narrow_nodes_;
  StackSets sets_;
  std::vector<uint32_t> long_nodes_;           // with tokens of more than kShortBytes
  std::unordered_map<SetId, TokenSet> masks_;  // by canonical set
  std::unordered_map<uint64_t, Shared> shared_;
  size_t masks_bytes_ = 0;
  std::vector<uint64_t> words_;  // the mask under way
  std::vector<SetId> path_;      // sets after each byte of the walk's current path
};

}  // namespace realizar::grammar
