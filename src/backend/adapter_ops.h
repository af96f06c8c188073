// The operations of adapters of low rank (LoRA: Hu et al. 2021): each row of a product gets what the adapter of its
// sequence adds to it, factor * up . (down . in). The matrices of all adapters lie in F32 stacks with a slot for each,
// whose rows Backend::write_weights replaces between steps.
#pragma once

#include <cstdint>

#include "backend/op_types.h"

namespace realizar {

inline constexpr uint32_t kMaxAdapterRank = 512;
// Columns whose products are summed by themselves: the sums of a row's pieces are then added in order.
inline constexpr uint32_t kAdapterPiece = 1024;
constexpr uint32_t n_adapter_pieces(uint32_t n_cols) {
  return (n_cols + kAdapterPiece - 1) / kAdapterPiece;
}

// low[r, p * max_rank + i] = factor * the sum of down[i, c] * in[r, c] over the columns c of piece p, for each i below
// the rank of the row's adapter; the factor is the operation's times that of the sequence. What other rows have in
// `low`, and other slots, is left as it was.
struct AdapterDownOp {
  static constexpr const char* kName = "adapter_down";

  ActId low;       // [n_rows, n_adapter_pieces(n_cols) * max_rank or more]
  ActId in;        // [n_rows, n_cols]
  WeightId down;   // a stack of matrices [max_rank, n_cols], by the slot of the adapter
  WeightId ranks;  // vector, by slot
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

// y = out[r, i] + the sum over k of up[i, k] * (the sum of low[r, p * max_rank + k] over the pieces p), or without an
// adapter out[r, i]; out = y, or activation(y) * scale with the softcap of LinearOp, for all rows.
struct AdapterUpOp {
  static constexpr const char* kName = "adapter_up";

  ActId out;          // [n_rows, n_cols]
  ActId low;          // as AdapterDownOp leaves it
  WeightId up;        // a stack of matrices [n_cols, max_rank]
  WeightId ranks;     // vector
  uint32_t n_pieces;  // of a row of `low`
  Activation activation = Activation::kNone;
  Xielu xielu = {};
  float scale = 1.0f;
  float softcap = 0.0f;
  Rows rows = Rows::kAll;
  OpPlace place = {};

  // Whether rows without an adapter change as well.
  constexpr bool changes_all() const { return activation != Activation::kNone || scale != 1.0f || softcap > 0; }

  template <class Visitor>
  void visit(Visitor&& v) const {
    v.adds_to(out);
    v.reads(low);
    v.matrix("up", up);
    v.vector("ranks", ranks);
    v.trait("n_pieces", n_pieces, 0u);
    v.trait("activation", activation, Activation::kNone);
    v.trait("alpha_p", xielu.alpha_p, 0.0f);
    v.trait("alpha_n", xielu.alpha_n, 0.0f);
    v.trait("beta", xielu.beta, 0.0f);
    v.trait("xielu_eps", xielu.eps, 0.0f);
    v.trait("scale", scale, 1.0f);
    v.trait("softcap", softcap, 0.0f);
    v.trait("rows", rows, Rows::kAll);
  }
  bool operator==(const AdapterUpOp&) const = default;
};

}  // namespace realizar
