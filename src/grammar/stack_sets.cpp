#include "grammar/stack_sets.h"

#include <algorithm>

namespace realizar::grammar {
namespace {

constexpr SetId kNotComputed = 0xFFFFFFFF;

bool is_special(StateId state) {
  return state >= kUnknownState;
}

uint64_t mixed(uint64_t x) {  // the finalizer of splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

uint64_t hash_of(std::span<const Frame> frames) {
  uint64_t hash = frames.size();
  for (const Frame& f : frames) {
    hash = mixed(hash ^ (uint64_t{f.state} << 32 | f.count)) + 0x9E3779B97F4A7C15u;
    hash = mixed(hash ^ f.below);
  }
  return hash;
}

}  // namespace

StackSets::StackSets(const Automaton& automaton, uint32_t max_depth)
    : automaton_(automaton), max_depth_(max_depth), infos_(1), table_(1024, kDead) {
  Frames popped{{kPoppedState, 0, kDead}};
  unknown_below_ = intern(popped);
  Frames end{{kEndState, 0, kDead}};
  const SetId end_below = intern(end);
  Frames first{{automaton.callees[automaton.root].start, 0, end_below}};
  if (automaton.root_nullable) first.push_back({kEndState, 0, kDead});
  start_ = close(first);
}

SetId StackSets::step(SetId set, uint8_t byte) {
  if (set == kDead) return kDead;
  const uint32_t n_classes = automaton_.n_byte_classes;
  if (infos_[set].row == kNotComputed) {
    infos_[set].row = static_cast<uint32_t>(steps_.size() / n_classes);
    steps_.resize(steps_.size() + n_classes, kNotComputed);
  }
  const size_t at = size_t{infos_[set].row} * n_classes + automaton_.byte_class[byte];
  if (steps_[at] == kNotComputed) {
    const SetId next = compute_step(set, byte);
    steps_[at] = next;
  }
  return steps_[at];
}

SetId StackSets::compute_step(SetId set, uint8_t byte) {
  Frames kernel;
  const auto [begin, size, depth, row, hash] = infos_[set];
  for (uint32_t i = begin; i < begin + size; ++i) {
    const Frame frame = frames_[i];
    ++work_;
    if (frame.state == kPoppedState || frame.state == kUnknownState) kernel.push_back({kUnknownState, 0, kDead});
    if (is_special(frame.state)) continue;
    for (const ByteEdge& edge : automaton_.bytes_of(automaton_.states[frame.state])) {
      if (edge.first > byte) break;
      if (byte <= edge.last) add_returned({edge.target, frame.count, frame.below}, kernel);
    }
  }
  return kernel.empty() ? kDead : close(kernel);
}

// The frame, unless nothing can follow its state, and all that follows where its callee ends here.
void StackSets::add_returned(const Frame& frame, Frames& out) const {
  const State& state = automaton_.states[frame.state];
  if (state.bytes_begin < state.bytes_end || state.calls_begin < state.calls_end) out.push_back(frame);
  if (!state.accepting) return;
  const Callee& callee = automaton_.callees[state.owner];
  const uint32_t count = frame.count + 1;
  if (count < callee.max) {
    out.push_back({callee.start, callee.max == kUnbounded ? std::min(count, callee.min) : count, frame.below});
  }
  if (count >= callee.min) {
    const auto below = frames_of(frame.below);
    out.insert(out.end(), below.begin(), below.end());
  }
}

// Adds what the frames call, callers first, and keeps the frames that wait for a byte.
SetId StackSets::close(Frames& kernel) {
  join_equal(kernel);
  pending_.clear();
  Frames active;
  const auto enter = [&](const Frame& frame) {
    ++work_;
    if (is_special(frame.state)) return active.push_back(frame);
    const State& state = automaton_.states[frame.state];
    if (state.bytes_begin < state.bytes_end) active.push_back(frame);
    if (state.calls_begin < state.calls_end) add_calls(frame);
  };
  for (const Frame& frame : kernel) enter(frame);
  for (size_t n_done = 0; n_done < pending_.size(); ++n_done) {
    // Callees that are called later in this loop have higher numbers and are sorted after it.
    Frames returns = std::move(pending_[n_done].returns);
    const CalleeId callee = pending_[n_done].callee;
    join_equal(returns);
    if (returns.empty()) continue;
    const SetId below = intern(returns);
    if (infos_[below].depth < max_depth_) enter({automaton_.callees[callee].start, 0, below});
    if (active.size() > kMaxWidth) return kDead;
  }
  join_equal(active);
  return intern(active);
}

void StackSets::add_calls(const Frame& frame) {
  for (const CallEdge& call : automaton_.calls_of(automaton_.states[frame.state])) {
    auto place = std::ranges::lower_bound(pending_, call.callee, {}, &Pending::callee);
    if (place == pending_.end() || place->callee != call.callee) place = pending_.insert(place, {call.callee, {}});
    add_returned({call.target, frame.count, frame.below}, place->returns);
  }
}

// Sorted; frames of one state and count become one.
void StackSets::join_equal(Frames& frames) {
  work_ += frames.size();
  std::ranges::sort(frames, [](const Frame& a, const Frame& b) {
    return a.state != b.state ? a.state < b.state : a.count != b.count ? a.count < b.count : a.below < b.below;
  });
  size_t n_kept = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    if (n_kept > 0 && frames[n_kept - 1].state == frames[i].state && frames[n_kept - 1].count == frames[i].count) {
      frames[n_kept - 1].below = unite(frames[n_kept - 1].below, frames[i].below);
    } else {
      frames[n_kept++] = frames[i];
    }
  }
  frames.resize(n_kept);
}

// Recurses as deep as the stacks do, so not deeper than max_depth_.
SetId StackSets::unite(SetId a, SetId b) {
  if (a == b || b == kDead) return a;
  if (a == kDead) return b;
  if (a > b) std::swap(a, b);
  const uint64_t key = uint64_t{a} << 32 | b;
  if (const auto found = unions_.find(key); found != unions_.end()) return found->second;
  Frames both(frames_of(a).begin(), frames_of(a).end());
  both.insert(both.end(), frames_of(b).begin(), frames_of(b).end());
  join_equal(both);
  return unions_[key] = intern(both);
}

// `frames` sorted and joined.
SetId StackSets::intern(Frames& frames) {
  if (frames.empty()) return kDead;
  const uint64_t hash = hash_of(frames);
  size_t slot = 0;
  if (const SetId found = lookup(frames, hash, slot); found != kDead) return found;
  const auto id = static_cast<SetId>(infos_.size());
  Info info;
  info.begin = static_cast<uint32_t>(frames_.size());
  info.size = static_cast<uint32_t>(frames.size());
  info.hash = hash;
  for (const Frame& frame : frames) info.depth = std::max(info.depth, infos_[frame.below].depth + 1);
  frames_.insert(frames_.end(), frames.begin(), frames.end());
  infos_.push_back(info);
  table_[slot] = id;
  if (infos_.size() * 2 > table_.size()) grow_table();
  return id;
}

SetId StackSets::lookup(const Frames& frames, uint64_t hash, size_t& slot) const {
  const size_t mask = table_.size() - 1;
  for (slot = hash & mask; table_[slot] != kDead; slot = (slot + 1) & mask) {
    const SetId id = table_[slot];
    if (infos_[id].hash == hash && std::ranges::equal(frames_of(id), frames)) return id;
  }
  return kDead;
}

void StackSets::grow_table() {
  table_.assign(table_.size() * 2, kDead);
  const size_t mask = table_.size() - 1;
  for (SetId id = 1; id < infos_.size(); ++id) {
    size_t slot = infos_[id].hash & mask;
    while (table_[slot] != kDead) slot = (slot + 1) & mask;
    table_[slot] = id;
  }
}

bool StackSets::has_state(SetId set, StateId state) const {
  return std::ranges::any_of(frames_of(set), [&](const Frame& f) { return f.state == state; });
}

SetId StackSets::on_unknown(std::span<const Frame> frames) {
  Frames own;
  for (const Frame& frame : frames) {
    if (!is_special(frame.state)) own.push_back({frame.state, frame.count, unknown_below_});
  }
  join_equal(own);
  return intern(own);
}

// n bytes read at most n bodies. Where these reach neither bound, or the lower one was passed and the upper one is out
// of reach, the count does not matter.
uint32_t StackSets::canonical_count(const Frame& frame, uint32_t n_bytes) const {
  if (is_special(frame.state)) return 0;
  const Callee& callee = automaton_.callees[automaton_.states[frame.state].owner];
  const uint64_t reached = uint64_t{frame.count} + n_bytes + 1;
  if (reached < callee.min) return 0;
  if (frame.count >= callee.min && (callee.max == kUnbounded || reached < callee.max)) return callee.min;
  return frame.count;
}

SetId StackSets::canonical(SetId set, uint32_t n_bytes) {
  if (!automaton_.has_counts || set == kDead) return set;
  const uint64_t key = uint64_t{n_bytes} << 32 | set;
  if (const auto found = canonical_.find(key); found != canonical_.end()) return found->second;
  Frames frames(frames_of(set).begin(), frames_of(set).end());
  for (Frame& frame : frames) {
    frame.count = canonical_count(frame, n_bytes);
    frame.below = canonical(frame.below, n_bytes);
  }
  join_equal(frames);
  return canonical_[key] = intern(frames);
}

SetId StackSets::import(const StackSets& other, SetId set) {
  std::unordered_map<SetId, SetId> known;
  return import_from(other, set, known);
}

SetId StackSets::import_from(const StackSets& other, SetId set, std::unordered_map<SetId, SetId>& known) {
  if (set == kDead) return kDead;
  if (const auto found = known.find(set); found != known.end()) return found->second;
  Frames frames(other.frames_of(set).begin(), other.frames_of(set).end());
  for (Frame& frame : frames) frame.below = import_from(other, frame.below, known);
  join_equal(frames);
  return known[set] = intern(frames);
}

size_t StackSets::bytes() const {
  return infos_.size() * sizeof(Info) + frames_.size() * sizeof(Frame) + table_.size() * sizeof(SetId) +
         steps_.size() * sizeof(SetId) + 40 * (unions_.size() + canonical_.size());
}

}  // namespace realizar::grammar
