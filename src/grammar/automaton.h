// The pushdown automaton over bytes. Each callee (a rule, or a counted repetition) has an automaton without empty
// moves, possibly with several edges for one byte, whose edges read a byte or call another callee. A callee never
// matches the empty text; if the grammar allows that, its caller also has a path past the call. No callee can call
// itself before it has read a byte, and a callee has a lower number than those that it calls first.
//
// A callee's body is read min to max times before it returns; a rule's body once.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "grammar/expression.h"
#include "grammar/limits.h"
#include "grammar/rule_analysis.h"
#include "realizar/result.h"

namespace realizar::grammar {

using StateId = uint32_t;
using CalleeId = uint32_t;

struct ByteEdge {
  uint8_t first = 0, last = 0;
  StateId target = 0;
  bool operator==(const ByteEdge&) const = default;
  bool operator<(const ByteEdge& o) const {
    return std::tie(first, last, target) < std::tie(o.first, o.last, o.target);
  }
};
struct CallEdge {
  CalleeId callee = 0;
  StateId target = 0;  // where the caller continues
  bool operator==(const CallEdge&) const = default;
  bool operator<(const CallEdge& o) const { return std::tie(callee, target) < std::tie(o.callee, o.target); }
};

struct State {
  uint32_t bytes_begin = 0, bytes_end = 0;
  uint32_t calls_begin = 0, calls_end = 0;
  CalleeId owner = 0;
  bool accepting = false;  // the end of the owner's body
};
struct Callee {
  StateId start = 0;  // no edge leads back to it
  uint32_t min = 1, max = 1;
};

struct Automaton {
  std::vector<State> states;
  std::vector<ByteEdge> byte_edges;
  std::vector<CallEdge> call_edges;
  std::vector<Callee> callees;
  CalleeId root = 0;
  bool root_nullable = false;
  bool has_counts = false;                   // some callee is a counted repetition
  std::array<uint8_t, 256> byte_class = {};  // bytes of the same class have the same edges everywhere
  uint32_t n_byte_classes = 0;

  std::span<const ByteEdge> bytes_of(const State& s) const {
    return std::span(byte_edges).subspan(s.bytes_begin, s.bytes_end - s.bytes_begin);
  }
  std::span<const CallEdge> calls_of(const State& s) const {
    return std::span(call_edges).subspan(s.calls_begin, s.calls_end - s.calls_begin);
  }
};

// Errors: InvalidArgument beyond `limits`.
Result<Automaton> build_automaton(const RuleSet& rules, const RuleAnalysis& analysis, const Limits& limits,
                                  const Deadline& deadline);

}  // namespace realizar::grammar
