// Token masks by state, computed on demand, in pieces if one takes long, and cached. A state that few tokens can follow
// is walked through the trie directly. For the others, such as the inside of a string, the answer for most tokens
// depends only on the top frames, so it is computed once with nothing known about the frames below, and only the tokens
// that leave those frames are tried on each stack. (The split is described by Dong et al. 2024, "XGrammar", section
// 3.1.)
//
// One thread at a time; see MaskCache in matcher.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/stack_sets.h"
#include "grammar/token_trie.h"

namespace realizar::grammar {

// Tokens as bits, or as a list if there are few.
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

// The progress of a mask.
enum class MaskProgress : uint8_t { kDone, kUnderWay, kTooCostly };

class MaskTable {
 public:
  static constexpr uint32_t kMaxDepth = 1000;
  // The maximum work for a mask, counted in visited trie nodes; a frame of a stack counts as kFrameWork of them. One
  // unit takes about five nanoseconds.
  static constexpr uint64_t kMaxMaskWork = 50'000'000;
  static constexpr uint64_t kFrameWork = 8;

  // A walk of this many nodes costs about as much as checking the shared parts.
  static constexpr uint64_t kNarrowNodes = 4096;

  // States that reach more than narrow_nodes nodes use the shared parts.
  MaskTable(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie,
            uint64_t narrow_nodes = kNarrowNodes);

  StackSets& sets() { return sets_; }
  const StackSets& sets() const { return sets_; }
  SetId step(SetId set, std::string_view bytes);
  // Steps over the first of the bytes and removes them, until n_work is used up; subtracts the work done.
  SetId step_on(SetId set, std::string_view& bytes, int64_t& n_work);
  // Continues the mask of `set` until n_work is used up, and subtracts the work done, which may exceed n_work by one
  // step of the sets.
  MaskProgress prepare(SetId set, int64_t& n_work);
  // Whether it has begun, and is not done.
  bool is_under_way(SetId set) { return under_way_.contains(canonical(set)); }
  // The tokens allowed after `set`. For a mask that costs too much, only those found before the limit. Valid until the
  // next call.
  const TokenSet& tokens_after(SetId set);
  size_t bytes() const { return sets_.bytes() + masks_bytes_ + under_way_.size() * work_bytes(); }

 private:
  // The result of the top frames for tokens up to some length.
  struct Shared {
    TokenSet allowed;               // regardless of the frames below
    std::vector<uint32_t> depends;  // trie nodes, ascending, whose tokens leave these frames before they end
    uint32_t max_depth = 0;         // of the stacks seen
  };

  // A walk through the trie.
  struct Walk {
    uint32_t next = 0;  // node
    uint64_t n_visited = 0;
    std::vector<SetId> path;     // sets after each byte of the current path
    bool is_too_costly = false;  // it reached a set that is too costly
  };
  enum class WalkEnd : uint8_t { kWhole, kTooLong, kStopped };

  // An unfinished shared part.
  struct SharedDraft {
    Shared shared;
    std::vector<uint64_t> words;
  };

  // An unfinished mask: first it is walked directly; if that takes long, the shared parts of its tops are made, and the
  // tokens that these leave open are tried.
  struct MaskWork {
    enum class Phase : uint8_t { kNarrow, kShared, kDeep, kDepends, kLong, kDone };
    Phase phase = Phase::kNarrow;
    uint64_t n_done = 0;
    Walk walk;
    std::vector<uint64_t> words;
    std::vector<SetId> tops;          // whose shared parts are needed
    std::vector<const Shared*> used;  // for the first of them
    bool only_short = false;          // some part only knows short tokens
    std::optional<SharedDraft> draft;
    size_t n_used = 0;          // of which all open nodes have been tried
    size_t n_tried = 0;         // nodes of the current list
    std::string_view previous;  // bytes of the last of them
  };

  uint64_t work() const { return kFrameWork * sets_.work() + n_nodes_; }
  size_t work_bytes() const { return (trie_->mask_words() + trie_->max_token_bytes()) * sizeof(uint64_t); }
  SetId canonical(SetId set) { return sets_.canonical(set, trie_->max_token_bytes()); }
  void begin(Walk& walk, SetId from) const;
  template <class Visit>
  WalkEnd go_on(Walk& walk, uint64_t max_nodes, uint32_t max_bytes, uint64_t last_work, Visit visit);
  void allow(std::vector<uint64_t>& words, uint32_t node) const;
  bool go_on(MaskWork& mask, SetId set, uint64_t last_work);
  WalkEnd walk_all(MaskWork& mask, uint64_t max_nodes, uint64_t last_work);
  void begin_shared(MaskWork& mask, SetId set);
  bool go_on_shared(MaskWork& mask, SetId set, uint64_t last_work);
  const Shared* shared_of(MaskWork& mask, SetId top, uint32_t max_bytes, uint64_t last_work);
  bool try_nodes(MaskWork& mask, SetId set, std::span<const uint32_t> nodes, uint64_t last_work);
  void keep(SetId set, MaskWork& mask);

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const TokenTrie> trie_;
  uint64_t narrow_nodes_;
  StackSets sets_;
  std::vector<uint32_t> long_nodes_;           // of tokens with more than kShortBytes
  std::unordered_map<SetId, TokenSet> masks_;  // by canonical set
  std::unordered_map<uint64_t, Shared> shared_;
  std::unordered_map<SetId, MaskWork> under_way_;
  std::unordered_set<SetId> too_costly_;  // their masks are incomplete
  size_t masks_bytes_ = 0;
  uint64_t n_nodes_ = 0;  // visited so far
};

}  // namespace realizar::grammar
