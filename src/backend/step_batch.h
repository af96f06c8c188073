// One step's input: plain spans over memory that the engine owns, valid until the step is done. Rows are tokens. Decode
// rows come first, then the rows of prompt chunks; a sequence's rows are contiguous and in order of position. The
// arithmetic of a row depends only on its phase, never on its neighbours.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "realizar/types.h"

namespace realizar {

// A sequence's block tables, one per group of layers (state_layout.h), all equally long. For blocks that have left a
// group's window, a table names other blocks of the sequence, whose values get no weight.
class BlockTables {
 public:
  BlockTables() = default;
  // The table of a cache with one group.
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

// An adapter's index in the stacks (adapter_ops.h), and the factor on its output.
struct BatchAdapter {
  static constexpr uint32_t kNone = 0xffffffffu;

  uint32_t slot = kNone;
  float factor = 1.0f;
  bool operator==(const BatchAdapter&) const = default;
};

struct BatchSequence {
  uint32_t first_row;  // its rows are [first_row, first_row + n_rows)
  uint32_t n_rows;
  Pos first_pos;             // position of first_row; the cache already holds the earlier positions its rows attend to
  BlockTables block_tables;  // cover positions [0, first_pos + n_rows)
  // Slots of recurrent states before the first row (position 0 starts from zeros) and after the last row; may be equal.
  StateId state_from{}, state_to{};
  // The adapter applied to its rows.
  BatchAdapter adapter = {};

  bool has_adapter() const { return adapter.slot != BatchAdapter::kNone; }
};

// A token and its number of occurrences in the text so far.
struct SeenToken {
  TokenId id;
  uint32_t n_seen;
};

// How the token after a row is chosen on a backend that can: penalized logits, then the samplers in this order, then
// the given draw. The defaults turn each of them off.
struct TokenChoice {
  bool is_wanted = false;  // false: the caller chooses this row's token
  double u = 0;            // the draw, in [0, 1)
  float repeat_penalty = 1, frequency_penalty = 0, presence_penalty = 0;
  std::span<const SeenToken> seen = {};  // tokens within the penalties' reach, each once
  float temperature = 0;                 // 0: the likeliest
  uint32_t top_k = 0;                    // 0: off
  float typical_p = 1, top_p = 1, min_p = 0;
};

struct StepBatch {
  std::span<const TokenId> tokens;       // [n_rows]
  std::span<const Pos> positions;        // [n_rows]
  std::span<const BatchSequence> seqs;   // [n_seqs], by first_row, covering all rows
  uint32_t n_decode_rows = 0;            // rows [0, n_decode_rows) are decode rows, the others prefill rows
  std::span<const uint32_t> logit_rows;  // ascending
  // [logit_rows.size()], or empty: the backend chooses no tokens.
  std::span<const TokenChoice> choices = {};

  uint32_t n_rows() const { return static_cast<uint32_t>(tokens.size()); }
};

}  // namespace realizar
