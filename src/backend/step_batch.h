// What one step computes: plain spans over memory that the engine owns, valid until the step is done.
// Rows are tokens. Decode rows come first, then the rows of prompt chunks; a sequence's rows are contiguous and in
// order of position. The arithmetic of a row follows from its phase alone, never from its neighbours.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "realizar/types.h"

namespace realizar {

// A sequence's block tables, one for each group of layers (state_layout.h); they are all as long. For blocks
// that a group's window has left, a table names others of the sequence, whose numbers get no weight.
class BlockTables {
 public:
  BlockTables() = default;
  // The table of a cache that has one group.
  template <class Blocks>
  requires std::convertible_to<const Blocks&, std::span<const BlockId>> BlockTables(const Blocks& table)
      : first_(table) {}  // NOLINT(google-explicit-constructor): a table is a view
  // The groups' tables lie `stride` blocks apart.
  BlockTables(std::span<const BlockId> first, uint32_t stride) : first_(first), stride_(stride) {}

  std::span<const BlockId> of(uint32_t group) const { return {first_.data() + size_t{group} * stride_, first_.size()}; }
  size_t size() const { return first_.size(); }

 private:
  std::span<const BlockId> first_;
  uint32_t stride_ = 0;
};

// A slot for the states of all recurrent layers of one sequence.
enum class StateId : uint32_t {};

// An adapter by its slot in the stacks (adapter_ops.h), and the factor on what it adds.
struct BatchAdapter {
  static constexpr uint32_t kNone = 0xffffffffu;

  uint32_t slot = kNone;
  float factor = 1.0f;
  bool operator==(const BatchAdapter&) const = default;
};

struct BatchSequence {
  uint32_t first_row;  // its rows are [first_row, first_row + n_rows)
  uint32_t n_rows;
  Pos first_pos;             // position of first_row; the cache holds what its rows see before it already
  BlockTables block_tables;  // cover positions [0, first_pos + n_rows)
  // Recurrent layers begin with the states in the one slot, or at position 0 with zeros, and leave those after the
  // last row in the other; both may be the same.
  StateId state_from{}, state_to{};
  // What its rows add to products that have operations of adapters.
  BatchAdapter adapter = {};

  bool has_adapter() const { return adapter.slot != BatchAdapter::kNone; }
};

// A token of the text so far, and how often it was seen there.
struct SeenToken {
  TokenId id;
  uint32_t n_seen;
};

// How the token after a row is chosen, for a backend that can: logits as penalties leave them, then the samplers in
// this order, and a draw that was made already. The defaults turn each of them off.
struct TokenChoice {
  bool is_wanted = false;  // false: this row's token is not the backend's to choose
  double u = 0;            // the draw, in [0, 1)
  float repeat_penalty = 1, frequency_penalty = 0, presence_penalty = 0;
  std::span<const SeenToken> seen = {};  // each token once; those that penalties look at
  float temperature = 0;                 // 0: the likeliest
  uint32_t top_k = 0;                    // 0: off
  float typical_p = 1, top_p = 1, min_p = 0;
};

struct StepBatch {
  std::span<const TokenId> tokens;       // [n_rows]
  std::span<const Pos> positions;        // [n_rows]
  std::span<const BatchSequence> seqs;   // [n_seqs], by first_row, covering all rows
  uint32_t n_decode_rows = 0;            // rows [0, n_decode_rows) are decode rows, the others prefill rows
  std::span<const uint32_t> logit_rows;  // rows that want logits, ascending
  // [logit_rows.size()], or empty: no token is chosen by the backend.
  std::span<const TokenChoice> choices = {};

  uint32_t n_rows() const { return static_cast<uint32_t>(tokens.size()); }
};

}  // namespace realizar
