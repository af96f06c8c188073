#include "grammar/stack_sets.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

namespace realizar::grammar {
namespace {

constexpr SetId kNotComputed = 0xFFFFFFFF;

uint64_t mixed(uint64_t x) {  // the finalizer of splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// A key for two numbers that are not both 0; never 0, and different for different pairs.
uint64_t key_of(uint32_t a, uint32_t b) {
  return mixed(uint64_t{a} << 32 | b);
}

bool is_special(StateId state) {
  return state >= kUnknownState;
}

bool comes_before(const Frame& a, const Frame& b) {
  return a.state != b.state ? a.state < b.state : a.count != b.count ? a.count < b.count : a.below < b.below;
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
    : automaton_(automaton),
      max_depth_(max_depth),
      infos_(kTooAmbiguous + 1),
      returns_(automaton.callees.size()),
      is_called_(automaton.callees.size()) {
  begin_call();
  Frames popped{{kPoppedState, 0, kDead}};
  unknown_below_ = intern(popped);
  Frames end{{kEndState, 0, kDead}};
  const SetId end_below = intern(end);
  Frames first{{automaton.callees[automaton.root].start, 0, end_below}};
  if (automaton.root_nullable) first.push_back({kEndState, 0, kDead});
  start_ = close(first);
}

SetId StackSets::step(SetId set, uint8_t byte) {
  if (set == kDead || set == kTooAmbiguous) return set;
  Info& info = infos_[set];
  if (info.steps == nullptr) {
    const std::span<SetId> steps = allocate<SetId>(automaton_.n_byte_classes);
    std::ranges::fill(steps, kNotComputed);
    info.steps = steps.data();
  }
  SetId& next = info.steps[automaton_.byte_class[byte]];
  if (next == kNotComputed) {
    begin_call();
    next = compute_step(set, byte);
  }
  return next;
}

SetId StackSets::compute_step(SetId set, uint8_t byte) {
  work_ += kStepWork;
  Frames kernel;
  for (const Frame& frame : frames_of(set)) {
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

// Adds the frame, unless nothing can follow its state, and everything that follows if its callee ends here.
void StackSets::add_returned(const Frame& frame, Frames& out) {
  if (is_too_much()) return;
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
    work_ += below.size();
    out.insert(out.end(), below.begin(), below.end());
  }
}

// Adds the frames' callees, callers first, and keeps the frames that wait for a byte.
SetId StackSets::close(Frames& kernel) {
  join_equal(kernel);
  Frames active;
  const auto enter = [&](const Frame& frame) {
    ++work_;
    if (is_special(frame.state)) return active.push_back(frame);
    const State& state = automaton_.states[frame.state];
    if (state.bytes_begin < state.bytes_end) active.push_back(frame);
    if (state.calls_begin < state.calls_end) add_calls(frame);
  };
  for (const Frame& frame : kernel) enter(frame);
  while (!called_.empty()) {
    // Callees that are called later in this loop have higher numbers, so all callers of this one are known.
    const CalleeId callee = pop_called();
    Frames returns = std::exchange(returns_[callee], {});
    if (returns.empty() || is_too_much()) continue;
    join_equal(returns);
    if (is_too_much()) continue;
    const SetId below = intern(returns);
    if (infos_[below].depth < max_depth_) enter({automaton_.callees[callee].start, 0, below});
  }
  join_equal(active);
  return is_too_much() || active.size() > kMaxWidth ? kTooAmbiguous : intern(active);
}

void StackSets::add_calls(const Frame& frame) {
  for (const CallEdge& call : automaton_.calls_of(automaton_.states[frame.state])) {
    ++work_;
    add_returned({call.target, frame.count, frame.below}, returns_[call.callee]);
    if (is_called_[call.callee]) continue;
    is_called_[call.callee] = true;
    called_.push_back(call.callee);
    std::ranges::push_heap(called_, std::greater());
  }
}

CalleeId StackSets::pop_called() {
  std::ranges::pop_heap(called_, std::greater());
  const CalleeId callee = called_.back();
  called_.pop_back();
  is_called_[callee] = false;
  return callee;
}

// Sorts; frames with the same state and count are merged.
void StackSets::join_equal(Frames& frames) {
  std::ranges::sort(frames, comes_before);
  join_sorted(frames);
}

void StackSets::join_sorted(Frames& frames) {
  work_ += frames.size();
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

// Recurses as deep as the stacks, so not deeper than max_depth_. Beyond the work limit the result is invalid.
SetId StackSets::unite(SetId a, SetId b) {
  if (a == b || b == kDead || is_too_much()) return a;
  if (a == kDead) return b;
  if (a > b) std::swap(a, b);
  if (const SetId found = unions_.find(key_of(a, b)); found != kDead) return found;
  Frames both;
  both.reserve(frames_of(a).size() + frames_of(b).size());
  std::ranges::merge(frames_of(a), frames_of(b), std::back_inserter(both), comes_before);
  join_sorted(both);
  if (is_too_much()) return a;
  const SetId set = intern(both);
  unions_.insert(key_of(a, b), set);
  return set;
}

// `frames`: sorted and merged.
SetId StackSets::intern(Frames& frames) {
  if (frames.empty()) return kDead;
  uint64_t hash = hash_of(frames);
  for (SetId found = by_frames_.find(hash); found != kDead; found = by_frames_.find(++hash)) {
    if (std::ranges::equal(frames_of(found), frames)) return found;
  }
  const auto id = static_cast<SetId>(infos_.size());
  const std::span<Frame> kept = allocate<Frame>(frames.size());
  std::ranges::copy(frames, kept.begin());
  Info info{kept};
  for (const Frame& frame : frames) info.depth = std::max(info.depth, infos_[frame.below].depth + 1);
  infos_.push_back(info);
  by_frames_.insert(hash, id);
  return id;
}

template <class T>
std::span<T> StackSets::allocate(size_t n) {
  memory_bytes_ += n * sizeof(T);
  auto* first = static_cast<T*>(memory_.allocate(n * sizeof(T), alignof(T)));
  std::uninitialized_default_construct_n(first, n);
  return {first, n};
}

bool StackSets::has_state(SetId set, StateId state) const {
  return std::ranges::any_of(frames_of(set), [&](const Frame& f) { return f.state == state; });
}

SetId StackSets::on_unknown(std::span<const Frame> frames) {
  begin_call();
  Frames own;
  for (const Frame& frame : frames) {
    if (!is_special(frame.state)) own.push_back({frame.state, frame.count, unknown_below_});
  }
  join_equal(own);
  return intern(own);
}

// n bytes read at most n bodies. If these reach neither bound, or the lower bound was passed and the upper one is out
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
  if (!automaton_.has_counts) return set;
  begin_call();
  const SetId found = canonical_of(set, n_bytes);
  if (!is_too_much()) return found;
  canonical_.insert(key_of(n_bytes, set), set);
  return set;
}

SetId StackSets::canonical_of(SetId set, uint32_t n_bytes) {
  if (set == kDead || set == kTooAmbiguous || is_too_much()) return set;
  if (const SetId found = canonical_.find(key_of(n_bytes, set)); found != kDead) return found;
  Frames frames(frames_of(set).begin(), frames_of(set).end());
  for (Frame& frame : frames) {
    frame.count = canonical_count(frame, n_bytes);
    frame.below = canonical_of(frame.below, n_bytes);
  }
  join_equal(frames);
  if (is_too_much()) return set;
  const SetId smallest = intern(frames);
  canonical_.insert(key_of(n_bytes, set), smallest);
  return smallest;
}

SetId StackSets::import(const StackSets& other, SetId set) {
  std::unordered_map<SetId, SetId> known;
  begin_call();
  const SetId here = import_from(other, set, known);
  return is_too_much() ? kTooAmbiguous : here;
}

SetId StackSets::import_from(const StackSets& other, SetId set, std::unordered_map<SetId, SetId>& known) {
  if (set == kDead || set == kTooAmbiguous || is_too_much()) return set;
  if (const auto found = known.find(set); found != known.end()) return found->second;
  Frames frames(other.frames_of(set).begin(), other.frames_of(set).end());
  for (Frame& frame : frames) frame.below = import_from(other, frame.below, known);
  join_equal(frames);
  return known[set] = intern(frames);
}

size_t StackSets::bytes() const {
  return infos_.size() * sizeof(Info) + memory_bytes_ + by_frames_.bytes() + unions_.bytes() + canonical_.bytes();
}

}  // namespace realizar::grammar
