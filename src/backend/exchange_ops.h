// The operations of processes that share a model (ranks/): each rank runs its own program, and these exchange rows
// between ranks through an Exchange (exchange.h). Every rank reaches the same ones in the same order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/op_types.h"

namespace realizar {

// Division of n items among ranks in order, in indivisible units, as evenly as possible. The last unit may be smaller.
struct Sharing {
  uint32_t n = 0, unit = 1;

  struct Range {
    uint32_t first = 0, n = 0;
    bool operator==(const Range&) const = default;
  };
  constexpr uint32_t n_units() const { return (n + unit - 1) / unit; }
  constexpr Range of(uint32_t rank, uint32_t n_ranks) const {
    const uint32_t first = begin(rank, n_ranks);
    return {first, begin(rank + 1, n_ranks) - first};
  }
  bool operator==(const Sharing&) const = default;

 private:
  constexpr uint32_t begin(uint32_t rank, uint32_t n_ranks) const {
    const uint64_t units = uint64_t{n_units()} * rank / n_ranks;
    return static_cast<uint32_t>(std::min<uint64_t>(units * unit, n));
  }
};

// out = (out +) the sum of all ranks' `part`, element by element in rank order: bits depend only on the parts.
struct JoinOp {
  static constexpr const char* kName = "join";

  ActId out, part;  // [n_rows, n_cols]
  bool accumulate = false;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    accumulate ? v.adds_to(out) : v.writes(out);
    v.reads(part);
  }
  bool operator==(const JoinOp&) const = default;
};

// On rank 0, out = all ranks' `part` side by side; elsewhere `out` is not changed.
struct CollectOp {
  static constexpr const char* kName = "collect";

  ActId out;   // [n_rows, cols.n]
  ActId part;  // [n_rows, a rank's share of cols]
  Sharing cols;
  Rows rows = Rows::kAll;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(out);
    v.reads(part);
    v.trait("n_cols", cols.n, 0u);
    v.trait("unit", cols.unit, 1u);
    v.trait("rows", rows, Rows::kAll);
  }
  bool operator==(const CollectOp&) const = default;
};

// Sends the rows of `act` to another rank, whose ReceiveOp takes them.
struct SendOp {
  static constexpr const char* kName = "send";

  ActId act;
  uint32_t to;
  Rows rows = Rows::kAll;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.reads(act);
    v.trait("to", to, 0xffffffffu);
    v.trait("rows", rows, Rows::kAll);
  }
  bool operator==(const SendOp&) const = default;
};

struct ReceiveOp {
  static constexpr const char* kName = "receive";

  ActId act;
  uint32_t from;
  Rows rows = Rows::kAll;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(act);
    v.trait("from", from, 0xffffffffu);
    v.trait("rows", rows, Rows::kAll);
  }
  bool operator==(const ReceiveOp&) const = default;
};

}  // namespace realizar
