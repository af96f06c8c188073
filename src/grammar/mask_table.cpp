#include "grammar/mask_table.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace realizar::grammar {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
// Only one token in a hundred of Llama 3's vocabulary is longer.
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
      sets_(grammar_->automaton(), kMaxDepth) {
  for (uint32_t i = 0; i < trie_->nodes().size(); ++i) {
    if (trie_->nodes()[i].depth > kShortBytes && !trie_->tokens_at(i).empty()) long_nodes_.push_back(i);
  }
}

SetId MaskTable::step(SetId set, std::string_view bytes) {
  for (size_t i = 0; i < bytes.size() && set != kDead; ++i) set = sets_.step(set, static_cast<uint8_t>(bytes[i]));
  return set;
}

SetId MaskTable::step_on(SetId set, std::string_view& bytes, int64_t& n_work) {
  while (!bytes.empty() && set != kDead && n_work > 0) {
    const uint64_t n_before = work();
    set = sets_.step(set, static_cast<uint8_t>(bytes.front()));
    n_work -= static_cast<int64_t>(work() - n_before);
    bytes.remove_prefix(1);
  }
  return set;
}

const TokenSet& MaskTable::tokens_after(SetId set) {
  int64_t n_work = std::numeric_limits<int64_t>::max();
  static_cast<void>(prepare(set, n_work));
  return masks_.at(canonical(set));
}

MaskProgress MaskTable::prepare(SetId set, int64_t& n_work) {
  set = canonical(set);
  if (masks_.contains(set)) return too_costly_.contains(set) ? MaskProgress::kTooCostly : MaskProgress::kDone;
  const auto [found, is_new] = under_way_.try_emplace(set);
  MaskWork& mask = found->second;
  if (is_new) {
    mask.words.assign(trie_->mask_words(), 0);
    begin(mask.walk, set);
  }
  const auto n_allowed = static_cast<uint64_t>(std::max<int64_t>(n_work, 0));
  const uint64_t n_before = work();
  const bool is_done = go_on(mask, set, n_before + std::min(n_allowed, kMaxMaskWork - mask.n_done));
  const uint64_t n_used = work() - n_before;
  n_work -= static_cast<int64_t>(n_used);
  mask.n_done += n_used;
  if (!is_done && !mask.walk.is_too_costly && mask.n_done < kMaxMaskWork) return MaskProgress::kUnderWay;
  if (!is_done) too_costly_.insert(set);
  keep(set, mask);
  under_way_.erase(set);
  return is_done ? MaskProgress::kDone : MaskProgress::kTooCostly;
}

void MaskTable::keep(SetId set, MaskWork& mask) {
  const TokenSet& kept = masks_.emplace(set, TokenSet(std::move(mask.words))).first->second;
  masks_bytes_ += kept.bytes() + 64;
}

void MaskTable::begin(Walk& walk, SetId from) const {
  walk.next = 0;
  walk.n_visited = 0;
  walk.path.resize(size_t{trie_->max_token_bytes()} + 1);
  walk.path[0] = from;
}

// Calls visit(node, set) for every node up to max_bytes deep that can be reached from the walk's start.
template <class Visit>
MaskTable::WalkEnd MaskTable::go_on(Walk& walk, uint64_t max_nodes, uint32_t max_bytes, uint64_t last_work,
                                    Visit visit) {
  const auto nodes = trie_->nodes();
  uint32_t& i = walk.next;
  while (i < nodes.size()) {
    if (work() > last_work) return WalkEnd::kStopped;
    const TokenTrie::Node node = nodes[i];
    ++n_nodes_;
    if (node.depth > max_bytes) {
      i = node.end;
      continue;
    }
    const SetId set = sets_.step(walk.path[node.depth - 1u], node.byte);
    if (set == kTooAmbiguous) {
      walk.is_too_costly = true;
      return WalkEnd::kStopped;
    }
    if (++walk.n_visited > max_nodes) return WalkEnd::kTooLong;
    if (set == kDead) {
      i = node.end;
      continue;
    }
    walk.path[node.depth] = set;
    visit(i, set);
    ++i;
  }
  return WalkEnd::kWhole;
}

void MaskTable::allow(std::vector<uint64_t>& words, uint32_t node) const {
  for (const TokenId id : trie_->tokens_at(node)) {
    const auto i = static_cast<size_t>(to_index(id));
    words[i / 64] |= uint64_t{1} << (i % 64);
  }
}

// False if the work is used up before the mask is done, or a set on the way is too costly.
bool MaskTable::go_on(MaskWork& mask, SetId set, uint64_t last_work) {
  using Phase = MaskWork::Phase;
  if (mask.phase == Phase::kNarrow) {
    const WalkEnd end = walk_all(mask, narrow_nodes_, last_work);
    if (end == WalkEnd::kStopped) return false;
    end == WalkEnd::kWhole ? void(mask.phase = Phase::kDone) : begin_shared(mask, set);
  }
  if (mask.phase == Phase::kShared && !go_on_shared(mask, set, last_work)) return false;
  if (mask.phase == Phase::kDeep) return walk_all(mask, kNoLimit, last_work) == WalkEnd::kWhole;
  for (; mask.phase == Phase::kDepends; ++mask.n_used) {
    if (mask.n_used == mask.used.size()) {
      mask.phase = mask.only_short ? Phase::kLong : Phase::kDone;
      break;
    }
    if (!try_nodes(mask, set, mask.used[mask.n_used]->depends, last_work)) return false;
  }
  return mask.phase == Phase::kDone || try_nodes(mask, set, long_nodes_, last_work);
}

MaskTable::WalkEnd MaskTable::walk_all(MaskWork& mask, uint64_t max_nodes, uint64_t last_work) {
  const auto visit = [&](uint32_t node, SetId) { allow(mask.words, node); };
  return go_on(mask.walk, max_nodes, kAnyBytes, last_work, visit);
}

// The tops: frames on the same stack, with nothing known about it.
void MaskTable::begin_shared(MaskWork& mask, SetId set) {
  std::vector<Frame> frames(sets_.frames_of(set).begin(), sets_.frames_of(set).end());
  std::ranges::stable_sort(frames, {}, &Frame::below);
  for (auto begin = frames.begin(); begin != frames.end();) {
    const auto end = std::find_if(begin, frames.end(), [&](const Frame& f) { return f.below != begin->below; });
    if (const SetId top = sets_.on_unknown({begin, end}); top != kDead) mask.tops.push_back(top);
    begin = end;
  }
  mask.phase = MaskWork::Phase::kShared;
}

// The shared parts of the tops; only those of short tokens if these do not see the end of a count that long tokens do.
// If a token might reach the depth limit, which shared parts do not know, the whole mask is walked.
bool MaskTable::go_on_shared(MaskWork& mask, SetId set, uint64_t last_work) {
  while (mask.used.size() < mask.tops.size()) {
    if (work() > last_work) return false;
    const SetId top = mask.tops[mask.used.size()], short_top = sets_.canonical(top, kShortBytes);
    const bool is_short = short_top != top;
    const Shared* shared = shared_of(mask, short_top, is_short ? kShortBytes : kAnyBytes, last_work);
    if (shared == nullptr) return false;
    mask.only_short = mask.only_short || is_short;
    if (sets_.depth(set) + shared->max_depth > sets_.max_depth()) {
      std::ranges::fill(mask.words, 0);
      begin(mask.walk, set);
      mask.phase = MaskWork::Phase::kDeep;
      return true;
    }
    mask.used.push_back(shared);
    shared->allowed.add_to(mask.words);
    n_nodes_ += mask.words.size() / 8;
  }
  mask.phase = MaskWork::Phase::kDepends;
  return true;
}

// Null if it is not finished yet.
const MaskTable::Shared* MaskTable::shared_of(MaskWork& mask, SetId top, uint32_t max_bytes, uint64_t last_work) {
  const uint64_t key = uint64_t{max_bytes} << 32 | top;
  if (const auto found = shared_.find(key); found != shared_.end()) {
    mask.draft.reset();
    return &found->second;
  }
  if (!mask.draft) {
    mask.draft.emplace(SharedDraft{{}, std::vector<uint64_t>(trie_->mask_words(), 0)});
    begin(mask.walk, top);
  }
  SharedDraft& draft = *mask.draft;
  const auto visit = [&](uint32_t node, SetId set) {
    draft.shared.max_depth = std::max(draft.shared.max_depth, sets_.depth(set));
    if (sets_.is_unknown(set)) {
      if (!trie_->tokens_at(node).empty()) draft.shared.depends.push_back(node);
    } else {
      allow(draft.words, node);
    }
  };
  if (go_on(mask.walk, kNoLimit, max_bytes, last_work, visit) != WalkEnd::kWhole) return nullptr;
  draft.shared.allowed = TokenSet(std::move(draft.words));
  const Shared& shared = shared_.emplace(key, std::move(draft.shared)).first->second;
  masks_bytes_ += shared.allowed.bytes() + shared.depends.size() * sizeof(uint32_t) + 64;
  mask.draft.reset();
  return &shared;
}

// Allows the nodes that `set` leads to; false if that is not finished yet. Nodes come in the trie's order, so that each
// continues where its path leaves that of the previous one.
bool MaskTable::try_nodes(MaskWork& mask, SetId set, std::span<const uint32_t> nodes, uint64_t last_work) {
  std::vector<SetId>& path = mask.walk.path;
  if (mask.n_tried == 0) {
    path[0] = set;
    mask.previous = {};
  }
  for (; mask.n_tried < nodes.size(); ++mask.n_tried) {
    if (work() > last_work) return false;
    ++n_nodes_;
    const uint32_t node = nodes[mask.n_tried];
    const TokenId id = trie_->tokens_at(node)[0];
    if (has_bit(mask.words, id)) continue;
    const std::string_view bytes = trie_->bytes(id);
    const auto differs = std::ranges::mismatch(bytes, mask.previous);
    for (auto at = static_cast<size_t>(differs.in1 - bytes.begin()); at < bytes.size(); ++at) {
      path[at + 1] = sets_.step(path[at], static_cast<uint8_t>(bytes[at]));
      ++n_nodes_;
    }
    mask.walk.is_too_costly = path[bytes.size()] == kTooAmbiguous;
    if (mask.walk.is_too_costly) return false;
    if (path[bytes.size()] != kDead) allow(mask.words, node);
    mask.previous = bytes;
  }
  mask.n_tried = 0;
  return true;
}

}  // namespace realizar::grammar
