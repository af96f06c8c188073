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
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/automaton.h"

namespace realizar::grammar {

using SetId = uint32_t;
inline constexpr SetId kDead = 0;  // the empty set: no text continues

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
  // Stacks deeper than max_depth frames are dropped: text that needs them is not allowed.
  StackSets(const Automaton& automaton, uint32_t max_depth);

  SetId start() const { return start_; }
  // The set after one more byte. kDead also where more than kMaxWidth frames were needed.
  SetId step(SetId set, uint8_t byte);

  // Can a text that leads here end here?
  bool is_complete(SetId set) const { return has_state(set, kEndState); }
  // Does some byte lead on?
  bool can_continue(SetId set) const { return infos_[set].size > (is_complete(set) ? 1u : 0u); }
  bool is_unknown(SetId set) const { return infos_[set].size == 1 && frames_of(set)[0].state == kUnknownState; }
  uint32_t depth(SetId set) const { return infos_[set].depth; }
  uint32_t max_depth() const { return max_depth_; }
  std::span<const Frame> frames_of(SetId set) const {
    return std::span(frames_).subspan(infos_[set].begin, infos_[set].size);
  }

  // The set with the same continuations of up to n_bytes bytes whose counts are the smallest.
  SetId canonical(SetId set, uint32_t n_bytes);
  // The frames with nothing known below.
  SetId on_unknown(std::span<const Frame> frames);
  // A set of `other`, which has the same automaton, here.
  SetId import(const StackSets& other, SetId set);

  size_t bytes() const;
  // Frames handled so far: a measure of time.
  uint64_t work() const { return work_; }

  static constexpr size_t kMaxWidth = 4096;

 private:
  struct Info {
    uint32_t begin = 0, size = 0;  // in frames_
    uint32_t depth = 0;
    uint32_t row = 0xFFFFFFFF;  // in steps_, once it was stepped from
    uint64_t hash = 0;
  };
  using Frames = std::vector<Frame>;

  bool has_state(SetId set, StateId state) const;
  SetId compute_step(SetId set, uint8_t byte);
  SetId close(Frames& kernel);
  void add_calls(const Frame& frame);
  void add_returned(const Frame& frame, Frames& out) const;
  void join_equal(Frames& frames);
  SetId unite(SetId a, SetId b);
  SetId intern(Frames& frames);
  SetId lookup(const Frames& frames, uint64_t hash, size_t& slot) const;
  void grow_table();
  uint32_t canonical_count(const Frame& frame, uint32_t n_bytes) const;
  SetId import_from(const StackSets& other, SetId set, std::unordered_map<SetId, SetId>& known);

  const Automaton& automaton_;
  uint32_t max_depth_;
  SetId start_ = kDead, unknown_below_ = kDead;
  std::vector<Info> infos_;
  Frames frames_;
  std::vector<SetId> steps_;  // rows of n_byte_classes
  std::vector<SetId> table_;  // open addressing, linear probing; a power of two; kDead: free
  std::unordered_map<uint64_t, SetId> unions_;
  std::unordered_map<uint64_t, SetId> canonical_;  // by number of bytes and set
  uint64_t work_ = 0;
  struct Pending {
    CalleeId callee;
    Frames returns;
  };
  std::vector<Pending> pending_;  // calls of the closure under way, by callee
};

}  // namespace realizar::grammar
