// The states of the pushdown automaton while it reads bytes: sets of stacks, interned, so that equal states have equal
// ids and results for one are computed only once.
//
// A set contains frames; a frame is a state of the automaton, the number of times that its callee's body was read, and
// the set of frames below it. Since frames with the same state and count are merged and their sets below united,
// ambiguity cannot multiply stacks (a graph-structured stack, Tomita 1985). Calls that end their caller leave no frame,
// so recursion at a rule's end costs no depth.
//
// One thread at a time. Only grows: the owner starts over when bytes() is too large.
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

inline constexpr SetId kDead = 0;          // the empty set: no text can follow
inline constexpr SetId kTooAmbiguous = 1;  // what can follow is not computed: it is too ambiguous

struct Frame {
  StateId state = 0;
  uint32_t count = 0;  // earlier readings of the callee's body
  SetId below = kDead;
  bool operator==(const Frame&) const = default;
};

// States of frames without a callee.
inline constexpr StateId kEndState = 0xFFFFFFFF;      // the text may end here
inline constexpr StateId kPoppedState = 0xFFFFFFFE;   // a callee with unknown stack below has just returned
inline constexpr StateId kUnknownState = 0xFFFFFFFD;  // bytes were read since

class StackSets {
 public:
  // No call processes many more frames than this; a set that needs more is kTooAmbiguous.
  static constexpr uint64_t kMaxCallWork = 20'000;
  static constexpr size_t kMaxWidth = 4096;  // frames in a set
  static constexpr uint64_t kStepWork = 8;   // frames that cost as much as the rest of a step

  // Stacks deeper than max_depth frames are dropped: texts that need them are not allowed.
  StackSets(const Automaton& automaton, uint32_t max_depth);

  SetId start() const { return start_; }
  // The set after one more byte.
  SetId step(SetId set, uint8_t byte);

  // Whether a text that leads here may end.
  bool is_complete(SetId set) const { return has_state(set, kEndState); }
  // Whether some byte may follow.
  bool can_continue(SetId set) const { return frames_of(set).size() > (is_complete(set) ? 1u : 0u); }
  bool is_unknown(SetId set) const { return frames_of(set).size() == 1 && frames_of(set)[0].state == kUnknownState; }
  uint32_t depth(SetId set) const { return infos_[set].depth; }
  uint32_t max_depth() const { return max_depth_; }
  std::span<const Frame> frames_of(SetId set) const { return infos_[set].frames; }

  // The set with the same continuations of up to n_bytes bytes and the smallest counts; if finding it costs too much,
  // the set itself.
  SetId canonical(SetId set, uint32_t n_bytes);
  // The frames on an unknown stack.
  SetId on_unknown(std::span<const Frame> frames);
  // Copies a set of `other`, which has the same automaton, to this object.
  SetId import(const StackSets& other, SetId set);

  size_t bytes() const;
  // Frames processed so far: a measure of time.
  uint64_t work() const { return work_; }

 private:
  struct Info {
    std::span<const Frame> frames;
    SetId* steps = nullptr;  // [n_byte_classes], after the first step from it
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
  // Everything that grows here does so without moving its content, so that no call takes long.
  std::pmr::monotonic_buffer_resource memory_;  // of frames and steps
  size_t memory_bytes_ = 0;
  std::deque<Info> infos_;
  SetMemo by_frames_;  // by hash; for several with the same hash, the second by the hash plus 1, and so on
  SetMemo unions_;     // by both sets
  SetMemo canonical_;  // by number of bytes and set
  uint64_t work_ = 0, last_work_ = 0;  // the current call may proceed up to the second
  // For the current closure:
  std::vector<Frames> returns_;   // by callee: where its callers go on
  std::vector<CalleeId> called_;  // a heap, the lowest on top
  std::vector<bool> is_called_;   // by callee: it is in the heap
};

}  // namespace realizar::grammar
