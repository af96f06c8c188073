// The operations of low-rank adapters (LoRA: Hu et al. 2021): each row of a product gets its sequence's adapter's
// contribution, factor * up . (down . in). The matrices of all adapters lie in F32 stacks, indexed by adapter, whose
// rows Backend::write_weights replaces between steps.
#pragma once

#include <cstdint>

#include "backend/op_types.h"

namespace realizar {

inline constexpr uint32_t kMaxAdapterRank = 512;
// Columns per partial sum; the partial sums of a row are added in order.
inline constexpr uint32_t kAdapterPiece = 1024;
constexpr uint32_t n_adapter_pieces(uint32_t n_cols) {
  return (n_cols + kAdapterPiece - 1) / kAdapterPiece;
}

// low[r, p * max_rank + i] = factor * the sum of down[i, c] * in[r, c] over the columns c of piece p, for each i below
// the rank of the row's adapter; the factor is the operation's times the sequence's. Other elements of `low` are not
// changed.
struct AdapterDownOp {
  static constexpr const char* kName = "adapter_down";

  ActId low;       // [n_rows, n_adapter_pieces(n_cols) * max_rank or more]
  ActId in;        // [n_rows, n_cols]
  WeightId down;   // a stack of matrices [max_rank, n_cols], by adapter
  WeightId ranks;  // vector, by adapter
  float factor = 1.0f;
  Rows rows = Rows::kAll;
  OpPlace place = {};

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.writes(low);
    v.reads(in);
    v.matrix("down", down);
    v.vector("ranks", ranks);
    v.trait("factor", factor, 1.0f);
    v.trait("rows", rows, Rows::kAll);
  }
  bool operator==(const AdapterDownOp&) const = default;
};

// y = out[r, i] + the sum over k of up[i, k] * (the sum of low[r, p * max_rank + k] over the pieces p), or out[r, i]
// without an adapter; out = epilogue(y) for all rows.
struct AdapterUpOp {
  static constexpr const char* kName = "adapter_up";

  ActId out;          // [n_rows, n_cols]
  ActId low;          // written by AdapterDownOp
  WeightId up;        // a stack of matrices [n_cols, max_rank]
  WeightId ranks;     // vector
  uint32_t n_pieces;  // per row of `low`
  Epilogue epilogue = {};
  Rows rows = Rows::kAll;
  OpPlace place = {};

  // Whether rows without an adapter change too.
  constexpr bool changes_all() const { return epilogue != Epilogue(); }

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.adds_to(out);
    v.reads(low);
    v.matrix("up", up);
    v.vector("ranks", ranks);
    v.trait("n_pieces", n_pieces, 0u);
    epilogue.visit(v);
    v.trait("rows", rows, Rows::kAll);
  }
  bool operator==(const AdapterUpOp&) const = default;
};

}  // namespace realizar
