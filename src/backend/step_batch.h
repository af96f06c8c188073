// What one step computes: plain spans over memory that the engine owns, valid until the step is done.
// Rows are tokens. Decode rows come first, then the rows of prompt chunks; a sequence's rows are contiguous and in
// order of position. The arithmetic of a row follows from its phase alone, never from its neighbours.
#pragma once

#include <cstdint>
#include <span>

#include "realizar/types.h"

namespace realizar {

struct BatchSequence {
  uint32_t first_row;  // its rows are [first_row, first_row + n_rows)
  uint32_t n_rows;
  Pos first_pos;                         // position of first_row; the cache holds [0, first_pos) already
  std::span<const BlockId> block_table;  // covers positions [0, first_pos + n_rows)
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
