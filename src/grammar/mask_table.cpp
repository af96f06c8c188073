#include "grammar/mask_table.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace realizar::grammar {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
// One token in a hundred of Llama 3's vocabulary is longer.
constexpr uint32_t kShortBytes = 16;
constexpr uint32_t kAnyBytes = TokenTrie::kMaxTokenBytes;

bool has_bit(const std::vector<uint64_t>& words, TokenId id) {
  const auto i = static_cast<size_t>(to_index(id));
  return (words[i / 64] >> (i % 64) & 1) != 0;
}

}  // namespace

TokenSet::TokenSet(std::vector<uint64_t> words) {
  size_t n_set = 0;
  for (const uint64_t word : words) n_set += static_cast<size_t>(std::popcount(word));
  if (n_set > words.size()) {
    words_ = std::move(words);
    return;
  }
  ids_.reserve(n_set);
  for (size_t i = 0; i < words.size(); ++i) {
    for (uint64_t rest = words[i]; rest != 0; rest &= rest - 1) {
      ids_.push_back(TokenId{static_cast<int32_t>(i * 64 + static_cast<size_t>(std::countr_zero(rest)))});
    }
  }
}

void TokenSet::write_to(std::span<uint64_t> words) const {
  if (!words_.empty()) {
    std::ranges::copy(words_, words.begin());
    return;
  }
  std::ranges::fill(words, 0);
  add_to(words);
}

void TokenSet::add_to(std::span<uint64_t> words) const {
  for (size_t i = 0; i < words_.size(); ++i) words[i] |= words_[i];
  for (const TokenId id : ids_) {
    const auto i = static_cast<size_t>(to_index(id));
    words[i / 64] |= uint64_t{1} << (i % 64);
  }
}

MaskTable::MaskTable(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie,
                     uint64_t narrow_nodes)
    : grammar_(std::move(grammar)),
      trie_(std::move(trie)),
      narrow_nodes_(narrow_nodes),
      sets_(grammar_->automaton(), kMaxDepth),
      path_(size_t{trie_->max_token_bytes()} + 1) {
  for (uint32_t i = 0; i < trie_->nodes().size(); ++i) {
    if (trie_->nodes()[i].depth > kShortBytes && !trie_->tokens_at(i).empty()) long_nodes_.push_back(i);
  }
}

SetId MaskTable::step(SetId set, std::string_view bytes) {
  for (size_t i = 0; i < bytes.size() && set != kDead; ++i) set = sets_.step(set, static_cast<uint8_t>(bytes[i]));
  return set;
}

const TokenSet& MaskTable::tokens_after(SetId set) {
  set = sets_.canonical(set, trie_->max_token_bytes());
  const auto [found, is_new] = masks_.try_emplace(set);
  if (is_new) {
    found->second = compute(set);
    masks_bytes_ += found->second.bytes() + 64;
  }
  return found->second;
}

// Calls visit(node, set) for every node up to max_bytes deep that `from` leads to. False if max_nodes or the work's
// limit ended it early.
template <class Visit>
bool MaskTable::walk(SetId from, uint64_t max_nodes, uint32_t max_bytes, Visit visit) {
  const auto nodes = trie_->nodes();
  const uint64_t last_work = sets_.work() + kMaxMaskWork;
  path_[0] = from;
  uint64_t n_visited = 0;
  for (uint32_t i = 0; i < nodes.size();) {
    const TokenTrie::Node node = nodes[i];
    if (node.depth > max_bytes) {
      i = node.end;
      continue;
    }
    const SetId set = sets_.step(path_[node.depth - 1u], node.byte);
    if (++n_visited > max_nodes || sets_.work() > last_work) return false;
    if (set == kDead) {
      i = node.end;
      continue;
    }
    path_[node.depth] = set;
    visit(i, set);
    ++i;
  }
  return true;
}

void MaskTable::allow(uint32_t node) {
  for (const TokenId id : trie_->tokens_at(node)) {
    const auto i = static_cast<size_t>(to_index(id));
    words_[i / 64] |= uint64_t{1} << (i % 64);
  }
}

TokenSet MaskTable::compute(SetId set) {
  words_.assign(trie_->mask_words(), 0);
  const auto visit = [this](uint32_t node, SetId) { allow(node); };
  if (walk(set, narrow_nodes_, kAnyBytes, visit)) return TokenSet(words_);
  std::vector<const Shared*> used;
  bool only_short = false;
  if (!add_shared(set, used, only_short)) {
    walk(set, kNoLimit, kAnyBytes, visit);
    return TokenSet(words_);
  }
  for (const Shared* shared : used) shared->allowed.add_to(words_);
  for (const Shared* shared : used) try_nodes(set, shared->depends);
  if (only_short) try_nodes(set, long_nodes_);
  return TokenSet(words_);
}

// The shared parts of frames that stand on the same stack; of short tokens only, where these do not see the end of a
// count that long ones do. False where a token might reach the depth's limit, which they do not know.
bool MaskTable::add_shared(SetId set, std::vector<const Shared*>& used, bool& only_short) {
  std::vector<Frame> frames(sets_.frames_of(set).begin(), sets_.frames_of(set).end());
  std::ranges::stable_sort(frames, {}, &Frame::below);
  std::vector<SetId> tops;
  for (auto begin = frames.begin(); begin != frames.end();) {
    const auto end = std::find_if(begin, frames.end(), [&](const Frame& f) { return f.below != begin->below; });
    if (const SetId top = sets_.on_unknown({begin, end}); top != kDead) tops.push_back(top);
    begin = end;
  }
  for (const SetId top : tops) {
    std::vector<uint64_t> own(trie_->mask_words(), 0);
    std::swap(own, words_);
    const SetId short_top = sets_.canonical(top, kShortBytes);
    const Shared& shared = short_top == top ? shared_of(top, kAnyBytes) : shared_of(short_top, kShortBytes);
    only_short = only_short || short_top != top;
    std::swap(own, words_);
    if (sets_.depth(set) + shared.max_depth > sets_.max_depth()) return false;
    used.push_back(&shared);
  }
  return true;
}

const MaskTable::Shared& MaskTable::shared_of(SetId top, uint32_t max_bytes) {
  const auto [found, is_new] = shared_.try_emplace(uint64_t{max_bytes} << 32 | top);
  Shared& shared = found->second;
  if (!is_new) return shared;
  const auto visit = [&](uint32_t node, SetId set) {
    shared.max_depth = std::max(shared.max_depth, sets_.depth(set));
    if (sets_.is_unknown(set)) {
      if (!trie_->tokens_at(node).empty()) shared.depends.push_back(node);
    } else {
      allow(node);
    }
  };
  walk(top, kNoLimit, max_bytes, visit);
  shared.allowed = TokenSet(words_);
  masks_bytes_ += shared.allowed.bytes() + shared.depends.size() * sizeof(uint32_t) + 64;
  return shared;
}

// Allows the nodes that `set` leads to. Nodes come in the trie's order, so that each goes on where it leaves the path
// of the one before.
void MaskTable::try_nodes(SetId set, std::span<const uint32_t> nodes) {
  const uint64_t last_work = sets_.work() + kMaxMaskWork;
  path_[0] = set;
  std::string_view previous;
  for (const uint32_t node : nodes) {
    const TokenId id = trie_->tokens_at(node)[0];
    if (has_bit(words_, id)) continue;
    if (sets_.work() > last_work) return;
    const std::string_view bytes = trie_->bytes(id);
    const auto differs = std::ranges::mismatch(bytes, previous);
    for (auto at = static_cast<size_t>(differs.in1 - bytes.begin()); at < bytes.size(); ++at) {
      path_[at + 1] = sets_.step(path_[at], static_cast<uint8_t>(bytes[at]));
    }
    if (path_[bytes.size()] != kDead) allow(node);
    previous = bytes;
  }
}

}  // namespace realizar::grammar
