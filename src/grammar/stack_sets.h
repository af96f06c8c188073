// The states of the pushdown automaton while it reads bytes: sets of stacks, interned, so that equal states have equal
// ids and what was computed of one once is known for ever.
//
// A set holds frames; a frame is a state of the automaton, how often its callee's body was read already, and the set of
// frames below it. Since frames with the same state and count are joined and their sets below united, ambiguity cannot
// multiply stacks (a graph-structured stack, Tomita 1985). Calls that end their caller leave no frame, so recursion at
// a rule's end costs no depth.
//
// Not for more than one thread at a time. Only grows: the owner starts anew when bytes() is too much.
#pragma once

#include <cstdint>
#include <deque>
#include <memory_resource>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/set_memo.h"

namespace realizar::grammar {

inline constexpr SetId kDead = 0;          // the empty set: no text continues
inline constexpr SetId kTooAmbiguous = 1;  // what continues is not worked out: it is too ambiguous

struct Frame {
  StateId state = 0;
  uint32_t count = 0;  // bodies of the state's callee read before this one
  SetId below = kDead;
  bool operator==(const Frame&) const = default;
};

// States of frames that stand for no callee.
inline constexpr StateId kEndState = 0xFFFFFFFF;      // the text may end here
inline constexpr StateId kPoppedState = 0xFFFFFFFE;   // a callee with unknown stack below has just returned
inline constexpr StateId kUnknownState = 0xFFFFFFFD;  // bytes were read since

class StackSets {
 public:
  // No call handles many more frames than this; a set that takes more is kTooAmbiguous.
  static constexpr uint64_t kMaxCallWork = 20'000;
  static constexpr size_t kMaxWidth = 4096;  // frames of a set
  static constexpr uint64_t kStepWork = 8;   // frames that take as long as what a step does besides

  // Stacks deeper than max_depth frames are dropped: text that needs them is not allowed.
  StackSets(const Automaton& automaton, uint32_t max_depth);

  SetId start() const { return start_; }
  // The set after one more byte.
  SetId step(SetId set, uint8_t byte);

  // Can a text that leads here end here?
  bool is_complete(SetId set) const { return has_state(set, kEndState); }
  // Does some byte lead on?
  bool can_continue(SetId set) const { return frames_of(set).size() > (is_complete(set) ? 1u : 0u); }
  bool is_unknown(SetId set) const { return frames_of(set).size() == 1 && frames_of(set)[0].state == kUnknownState; }
  uint32_t depth(SetId set) const { return infos_[set].depth; }
  uint32_t max_depth() const { return max_depth_; }
  std::span<const Frame> frames_of(SetId set) const { return infos_[set].frames; }

  // The set with the same continuations of up to n_bytes bytes whose counts are the smallest; where finding it costs
  // too much, the set itself.
  SetId canonical(SetId set, uint32_t n_bytes);
  // The frames with nothing known below.
  SetId on_unknown(std::span<const Frame> frames);
  // A set of `other`, which has the same automaton, here.
  SetId import(const StackSets& other, SetId set);

  size_t bytes() const;
  // Frames handled so far: a measure of time.
  uint64_t work() const { return work_; }

 private:
  struct Info {
    std::span<const Frame> frames;
    SetId* steps = nullptr;  // [n_byte_classes], once it was stepped from
    uint32_t depth = 0;
  };
  using Frames = std::vector<Frame>;

  void begin_call() { last_work_ = work_ + kMaxCallWork; }
  bool is_too_much() const { return work_ > last_work_; }
  bool has_state(SetId set, StateId state) const;
  SetId compute_step(SetId set, uint8_t byte);
  SetId close(Frames& kernel);
  void add_calls(const Frame& frame);
  CalleeId pop_called();
  void add_returned(const Frame& frame, Frames& out);
  void join_equal(Frames& frames);
  void join_sorted(Frames& frames);
  SetId unite(SetId a, SetId b);
  SetId intern(Frames& frames);
  template <class T>
  std::span<T> allocate(size_t n);
  uint32_t canonical_count(const Frame& frame, uint32_t n_bytes) const;
  SetId canonical_of(SetId set, uint32_t n_bytes);
  SetId import_from(const StackSets& other, SetId set, std::unordered_map<SetId, SetId>& known);

  const Automaton& automaton_;
  uint32_t max_depth_;
  SetId start_ = kDead, unknown_below_ = kDead;
  // Whatever grows here grows without moving what it has, so that no call takes long.
  std::pmr::monotonic_buffer_resource memory_;  // of frames and steps
  size_t memory_bytes_ = 0;
  std::deque<Info> infos_;
  SetMemo by_frames_;  // by their hash; of several with one hash, the second by the hash plus 1, and so on
  SetMemo unions_;     // by both sets
  SetMemo canonical_;  // by number of bytes and set
  uint64_t work_ = 0, last_work_ = 0;  // the call under way may go up to the second
  // Of the closure under way:
  std::vector<Frames> returns_;   // by callee: where its callers go on
  std::vector<CalleeId> called_;  // a heap, the lowest on top
  std::vector<bool> is_called_;   // by callee: it is in the heap
};

}  // namespace realizar::grammar
