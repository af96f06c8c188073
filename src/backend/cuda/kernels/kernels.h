// Arguments of each CUDA kernel and the table of launches (listed in launches.inl). Arguments hold the operation, `op`,
// for its numbers and kinds, and pointers to device memory in place of its handles. A launch is asynchronous, in stream
// order, and is given an upper bound of its rows; it reads the actual number from the device, so that a recorded launch
// can be replayed in later steps.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "backend/cuda/compile/command.h"
#include "backend/cuda/kernels/attention_shape.h"
#include "backend/cuda/kernels/grid.h"
#include "backend/ops.h"

namespace realizar::cuda {

inline constexpr uint32_t kGroupCols = 32;  // columns that share an activation scale
inline constexpr uint32_t kMaxExperts = 512;
inline constexpr uint32_t kMaxExpertGroups = 32;  // one per lane
// Rows of a matrix, and of all matrices in one launch: a block computes at least 8 columns of the output.
inline constexpr uint32_t kMaxMatrixRows = 8 * (kMaxGridY - 2);
inline constexpr uint32_t kMoreCodeBytes = 1024;
inline constexpr uint32_t kTileRows = 64;        // rows of activations per tile in kernels for many rows
inline constexpr uint32_t kPartTokens = 4096;    // tokens of the vocabulary per block in choose
inline constexpr uint32_t kMaxCandidates = 256;  // per token
inline constexpr uint32_t kMaxConvTaps = 64, kMaxStateDim = 256, kMaxKeyDim = 256;  // for recurrent layers

// A stack of matrices in planes, each 16-byte aligned; row r of matrix m is row m * n_rows + r of every plane, its
// groups are 32 columns. Plain types: `low` holds the elements, [row, n_cols padded with zeros to a whole group]; for
// F8 `headers` holds their scales, F32, [row, f8_n_scales(n_cols)]. Stored types: `low` holds the blocks. Group types
// (the form of their row defines the codes): `low` and `high` hold [row, group, bits] words, where word w of b has the
// codes of columns 4(w + jb) .. 4(w + jb) + 3 in bits [jb, (j + 1) b) of its bytes; `headers` holds d (and m) of each
// group, or d (and dmin) of each 256 columns, or F32 of each row; `scales` the 8-bit scales of a group's sub-blocks,
// then their mins.
struct Matrix {
  const uint32_t *low, *high;
  const uint16_t* headers;
  const int8_t* scales;
  uint32_t n_mats, n_rows, n_cols;
  TypeId type;
};

// Rows [*first, *end) of activations; both numbers are in device memory.
struct RowRange {
  const uint32_t *first, *end;
};

// Prompt rows, at most kPromptTileRows.
struct PromptTile {
  uint32_t seq, first_row, n_rows;
};

// A sequence's rows, and the slots of its recurrent states before and after the step.
inline constexpr uint32_t kNoState = 0xffffffffu;  // for a new sequence: zeros
struct StepSequence {
  uint32_t first_row, n_rows, state_from, state_to;
  BatchAdapter adapter;
};

// The rows of a step.
struct StepView {
  const uint32_t* zero;           // [1] 0
  const uint32_t* n_rows;         // [1]
  const uint32_t* n_decode_rows;  // [1]
  const uint32_t* n_logit_rows;   // [1]
  const int32_t* tokens;          // [n_rows]
  const int32_t* positions;       // [n_rows]
  const uint32_t* seq_of_row;     // [n_rows]
  const uint32_t* logit_rows;     // [n_logit_rows]
  const int32_t* block_tables;    // [n_seqs], max_blocks apart
  const PromptTile* tiles;        // [n_tiles]
  const uint32_t* n_seqs;         // [1]
  const StepSequence* seqs;       // [n_seqs]
  uint32_t max_blocks;
};

// Rows as int8: value = scale * code, with one scale per 32 columns.
struct QuantRows {
  uint32_t* codes;  // [row, n_cols / 4] words of 4, then kMoreCodeBytes of readable padding
  float* scales;    // [row, n_cols / 32]
  int32_t* halves;  // [row, n_cols / 32] sums of the first 16 codes, and in the upper 16 bits of the others
};

// Rows as sums of two F16 or bf16 values: value = scale * (high + low), with a power of two as scale per row. For F8
// the order of words differs (linear_split.inl).
struct SplitRows {
  uint32_t *high, *low;  // [row, n_cols / 2, padded with zeros to a whole group] words of 2
  float* scales;         // [row]
};

// out = (out +) table[id] * scale, where id is ids[row], or if n_ids > 0 its remainder or quotient by that.
struct EmbedArgs {
  const uint32_t* n_rows;
  const int32_t* ids;
  Matrix table;
  float scale;
  bool accumulate;
  float* out;
  uint32_t n_ids = 0;
  bool is_quotient = false;
};
struct NormArgs {
  NormOp op;
  const uint32_t* n_rows;
  float* out;
  const float *in, *weight, *bias;
  uint32_t n_cols;   // per group
  QuantRows quants;  // of `out`, if requested; a row is then one norm group of n_cols, a multiple of kGroupCols
  const float* like = nullptr;  // rows of n_like_cols; null: none
  uint32_t n_like_cols = 0;
};
// Quantizes `in`, or with a gate activation(gate) * in.
struct QuantizeArgs {
  const uint32_t* n_rows;
  uint32_t rows_each;  // rows of `in` per row of n_rows
  const float* in;
  uint32_t n_cols;
  QuantRows out;
  const float* gate = nullptr;
  Activation activation = Activation::kNone;
};
struct SplitArgs {
  RowRange rows;
  uint32_t rows_each;  // rows of `in` per row of `rows`
  TypeId type;         // kF16, kBF16 or kF8_E4M3
  const float* in;
  uint32_t n_cols;
  SplitRows out;
};
// Destination of a product y.
enum class Store : uint8_t {
  kSet,   // out = y
  kAdd,   // out += y
  kGate,  // out = activation(out) * y; the activation does not apply to y
};
// Pairs row * n_used + k of rows with their k-th expert, sorted by expert: those of expert e start at starts[e]. Up to
// kTileRows pairs of one expert are a tile; the tiles of expert e start at starts[e] / kTileRows + e, at least one.
struct PairGroups {
  uint32_t* pairs;         // [n_pairs]
  uint32_t* starts;        // [n_experts + 1]
  uint32_t* tile_experts;  // [n_pairs / kTileRows + n_experts] expert of each tile
};
struct GroupPairsArgs {
  ExpertsOp op;
  RowRange rows;
  const float* ids;    // [row, n_used]
  uint32_t n_experts;  // held here
  PairGroups out;
};
// Another matrix for the same rows, with the same type and number of columns.
struct LinearPart {
  Matrix weight;
  float* out;
  const float* bias;
};
inline constexpr uint32_t kMaxMoreParts = 2;
struct LinearArgs {
  LinearOp op;  // within other operations: only its activation, for Store::kGate
  RowRange rows;
  Matrix weight;
  const float* in;   // for plain and stored types
  QuantRows quants;  // for group types
  SplitRows splits;  // for linear_few_split and linear_split
  float* out;
  const float* bias;
  // Stride of biases between experts; factors on pairs' products before the bias, null: 1.
  uint32_t bias_stride = 0;
  const float* pair_scales = nullptr;
  Store store;
  // linear_many and linear_split can take pairs instead of rows: out[pair] = the pair's expert applied to row pair /
  // pairs_each. Null pointers: no pairs.
  PairGroups groups;
  uint32_t pairs_each;
  uint32_t out_width = 0;  // row stride of `out`; 0: the weight's rows
  // Further products of the same rows in the same launch, except in kernels for many rows.
  LinearPart more[kMaxMoreParts];
  uint32_t n_more;
};
struct RopeStoreArgs {
  RopeStoreOp op;
  StepView step;
  KvView cache;
  float *q, *k;  // k and v: null if the layer does not keep them
  const float* v;
  const float* inv_freq;
  const float *q_norm, *k_norm;
};
// LatentStoreOp: latent attention's queries, and the key of each row for the cache.
struct LatentStoreArgs {
  LatentStoreOp op;
  StepView step;
  KvView cache;
  float* query;
  const float* q;
  float* latent;
  const float* inv_freq;
  const float* norm;
};
struct AttentionArgs {
  AttentionOp op;
  StepView step;
  KvView cache;
  float* out;
  const float* q;
  uint32_t window;      // window_of(op)
  const float* sinks;   // [n_heads]; null: none
  const float* slopes;  // [n_heads]; null: none
  // Partial results of rows with several cuts, by slot in a pass: [n_heads, dims | maximum, sum] each.
  float* partials;
  // Decode rows: the row and cut of each block, by pass; and the number of finished cuts per row and heads, zeros
  // before and after a launch, [n_rows, n_kv_heads, parts of their query heads].
  const RowCut* row_cuts;  // [n_row_cuts]
  uint64_t n_row_cuts, pass_row_cuts;
  uint32_t* arrivals;
  // Prompt rows: the tiles of one pass (for latents only the rows), their rows, and the maximum number of cuts. A row's
  // index among the partial results is relative to first_row.
  uint32_t first_tile, n_tiles, first_row, end_row, n_cuts;
};

// A separate product for each head of a row. The rows of activations are pairs: row * n_heads + head.
struct HeadPartsArgs {
  HeadLinearOp op;
  const uint32_t* n_rows;
  const float* in;  // [n_rows, n_heads, in_width]
  uint32_t n_cols;
  float* out;  // [n_rows, n_heads, n_cols]: the first n_cols of each head
};
// out[pair, 0 .. weight.n_rows) = weight_head . in[pair], for a few rows.
struct HeadLinearArgs {
  HeadLinearOp op;
  RowRange rows;
  Matrix weight;    // one matrix per head
  const float* in;  // [pairs, weight.n_cols]
  QuantRows quants;
  float* out;  // [pairs, out_width]
};
// Groups the pairs of many rows by head, as if heads were experts.
struct GroupHeadsArgs {
  HeadLinearOp op;
  RowRange rows;
  PairGroups out;
};

// A part of a layer's state, F32: slot i is at offset i * slot_bytes.
struct StateView {
  uint8_t* part;
  uint64_t slot_bytes;
};
struct ShortConvArgs {
  ShortConvOp op;
  StepView step;
  StateView state;
  float* out;
  const float* in;
  uint32_t n_cols;
  const float *weight, *bias;  // bias: null for none
  uint32_t n_parts = 0;        // of a sequence's rows; set by the launch
};
// Columns of activations, starting at first_col.
struct Columns {
  const float* values;
  uint32_t n_cols, first_col;

  constexpr const float* row(uint32_t r) const { return values + uint64_t{r} * n_cols + first_col; }
};
struct StateScanArgs {
  StateScanOp op;
  StepView step;
  StateView state;
  float* out;
  Columns x, b, c;
  const float *dt, *gate;  // gate: null for none
  const float *a, *d, *dt_bias;
};
// DeltaRuleOp; in a head's state the value index varies slowest.
struct DeltaRuleArgs {
  DeltaRuleOp op;
  StepView step;
  StateView state;
  float* out;
  Columns q, k, v;
  float *decay, *beta;
  const float *a, *decay_bias;
};
// WkvOp; in a head's state the value index varies slowest.
struct WkvArgs {
  WkvOp op;
  StepView step;
  StateView state;
  float *out, *bonus;
  const float* r;
  float *decay, *k, *v, *rate, *removal;
  const float* first_v;  // null: v is not mixed
  float* v_share;
  const float *removal_scale, *rate_scale, *bonus_scale;
};

struct RouteArgs {
  RouteOp op;
  const uint32_t* n_rows;
  const float* logits;
  float *weights, *ids;
  const float* bias;    // null: none
  const float* scales;  // per expert; null: none
};
// hidden[row * n_used + k] = weight_e . in[row] (* weights[row, k], if given) + bias_e for the k-th expert e of the
// row, stored by kSet or kGate.
struct ExpertsHiddenArgs {
  ExpertsOp op;
  RowRange rows;
  Matrix weight;
  const float* in;
  QuantRows quants;
  const float* ids;
  Store store;
  float* hidden;
  const float *bias, *weights;  // null: none
};
// out += sum over k of weights[k] * (down_e . hidden[k] + bias_e), in the order of k; weights: null for 1. Experts that
// `down` does not hold add nothing.
struct ExpertsDownArgs {
  ExpertsOp op;
  RowRange rows;
  Matrix down;
  const float* hidden;
  QuantRows quants;
  const float *weights, *ids;
  float* out;
  const float* bias;  // [n_experts, down.n_rows]; null: none
};
// out[row] += sum over k of weights[pair] * (results[pair] + bias_e) for pair = row * n_used + k, in the order of k,
// for the n_experts from first_expert on.
struct ExpertsSumArgs {
  ExpertsOp op;
  RowRange rows;
  const float *results, *weights;  // weights: null for 1
  uint32_t n_cols;
  float* out;
  const float *ids, *bias;  // of the experts: [row, n_used], and [n_experts, n_cols]; null: none
  uint32_t n_experts;       // held here
};
struct GateArgs {
  GateOp op;
  const uint32_t* n_rows;
  float* out;
  const float *in, *gate;
  uint32_t n_cols, n_gate_cols;  // n_gate_cols == 1: one gate per row
};
struct CutArgs {
  CutOp op;
  const uint32_t* n_rows;
  float* out;
  const float* in;
  uint32_t n_cols;
};
struct AltUpArgs {
  AltUpOp op;
  const uint32_t* n_rows;
  float* x;
  float* streams[kMaxStreams];
  uint32_t n_cols;
  const float *router, *coefs, *scale;  // scale: null for none
};
// AdapterDownOp. Logit rows are those of select_rows.
struct AdapterDownArgs {
  AdapterDownOp op;
  StepView step;
  Matrix down;
  const float* ranks;  // by adapter
  const float* in;
  float* low;
  uint32_t n_low_cols;
};
struct AdapterUpArgs {
  AdapterUpOp op;
  StepView step;
  Matrix up;
  const float *ranks, *low;
  uint32_t n_low_cols;
  float* out;
};
struct SelectRowsArgs {
  StepView step;
  const float* in;
  float* out;
  uint32_t n_cols;
};

// SumPartsOp, with the parts in the order of devices.
struct SumPartsArgs {
  SumPartsOp op;
  const uint32_t* n_rows;
  const float* parts;  // [n_parts, n_rows, n_cols]
  uint32_t n_cols;
  const float* bias;
  float* out;
};

// A TokenChoice in device memory.
struct ChoiceRow {
  double u;
  float temperature, top_p, min_p;
  float repeat_penalty, frequency_penalty, presence_penalty;
  uint32_t top_k;  // 0: off
  uint32_t first_seen, n_seen;
  uint32_t is_wanted;
};
// Results of choose for a part of the vocabulary.
struct ChoicePart {
  double sum;  // of e^((logit - max) / temperature), without top-k
  float max;
  uint32_t n_candidates;
};
// out[row] = the token, or -1 if the caller must choose.
struct ChooseArgs {
  const uint32_t* n_rows;
  const float* logits;  // [n_rows, n_vocab]
  uint32_t n_vocab;
  const ChoiceRow* choices;  // [n_rows]
  const SeenToken* seen;
  uint64_t* candidates;  // [n_rows, parts of the vocabulary, kMaxCandidates] scratch
  ChoicePart* parts;     // [n_rows, parts of the vocabulary] scratch
  int32_t* out;
};

struct CopyArgs {
  const uint32_t* from;
  uint32_t* to;
  uint64_t n_quads;  // of 16 bytes
};
struct MultiplyArgs {
  uint32_t n_rounds;
  bool is_int8;  // else bf16
  float* out;
};

#define RZ_LAUNCH(Result, name, ...) Result (*name)(__VA_ARGS__);
struct KernelTable {
#include "backend/cuda/kernels/launches.inl"
};

}  // namespace realizar::cuda
