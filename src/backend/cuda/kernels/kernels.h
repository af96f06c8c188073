// What a CUDA device computes: the arguments of each kernel and the table of their launches (launches.inl lists them).
// Arguments hold the operation that they are of, `op`, for its numbers and kinds, and pointers in place of its handles.
// All pointers are to the device's memory. A launch is asynchronous, in the order of its stream, and takes the most
// rows that it may find; how many there are it reads from the device, so that a recorded launch outlives the step that
// it was made for.
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
inline constexpr uint32_t kMaxExpertGroups = 32;  // a lane each
// Rows of a matrix, and of all matrices of one launch: a block makes 8 columns of the output or more.
inline constexpr uint32_t kMaxMatrixRows = 8 * (kMaxGridY - 2);
inline constexpr uint32_t kMoreCodeBytes = 1024;
inline constexpr uint32_t kTileRows = 64;        // of activations, that kernels for many rows take at a time
inline constexpr uint32_t kPartTokens = 4096;    // of the vocabulary that a block looks at, where tokens are chosen
inline constexpr uint32_t kMaxCandidates = 256;  // for a token
inline constexpr uint32_t kMaxConvTaps = 64, kMaxStateDim = 256, kMaxKeyDim = 256;  // of recurrent layers

// A stack of matrices in planes, 16-byte aligned each; row r of matrix m is row m * n_rows + r of every plane, its
// groups are 32 columns. Plain types: `low` holds the elements alone, [row, n_cols and zeros up to a whole group]; of
// F8 `headers` holds their scales, F32, [row, f8_n_scales(n_cols)]. Stored types: `low` holds the blocks. Group types
// (the form of their row says what the codes mean): `low` and `high` hold [row, group, bits] words, where word w of b
// has the codes of columns 4(w + jb) .. 4(w + jb) + 3 in bits [jb, (j + 1) b) of its bytes; `headers` d (and m) of each
// group, or d (and dmin) of each 256 columns, or F32 of each row; `scales` the 8-bit scales of a group's sub-blocks,
// then their mins.
struct Matrix {
  const uint32_t *low, *high;
  const uint16_t* headers;
  const int8_t* scales;
  uint32_t n_mats, n_rows, n_cols;
  TypeId type;
};

// Rows [*first, *end) of activations; the numbers lie on the device.
struct RowRange {
  const uint32_t *first, *end;
};

// Rows of a prompt, at most kPromptTileRows.
struct PromptTile {
  uint32_t seq, first_row, n_rows;
};

// A sequence's rows, and the slots of recurrent layers' states that it begins with and leaves.
inline constexpr uint32_t kNoState = 0xffffffffu;  // of a sequence that begins: zeros
struct StepSequence {
  uint32_t first_row, n_rows, state_from, state_to;
  BatchAdapter adapter;
};

// The facts of a step's rows.
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

// Rows as int8: value = scale * code, a scale for each 32 columns.
struct QuantRows {
  uint32_t* codes;  // [row, n_cols / 4] words of 4, then kMoreCodeBytes that may be read
  float* scales;    // [row, n_cols / 32]
  int32_t* halves;  // [row, n_cols / 32] sums of the first 16 codes, and in the upper 16 bits of the others
};

// Rows as sums of two F16 or bf16 values: value = scale * (high + low), a power of two as scale for each row. For F8
// the words stand in another order (linear_split.inl).
struct SplitRows {
  uint32_t *high, *low;  // [row, n_cols / 2, and zeros up to a whole group] words of 2
  float* scales;         // [row]
};

// out = (out +) table[id] * scale, where id is ids[row], or where n_ids > 0 its remainder or its quotient by that.
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
  uint32_t n_cols;   // of a group
  QuantRows quants;  // of `out`, where they are wanted too; a row is then one group, n_cols whole groups of those
  const float* like = nullptr;  // rows of n_like_cols; null: none
  uint32_t n_like_cols = 0;
};
// What becomes int8 is `in`, or activation(gate) * in where there is a gate.
struct QuantizeArgs {
  const uint32_t* n_rows;
  uint32_t rows_each;  // rows of `in` for each of n_rows
  const float* in;
  uint32_t n_cols;
  QuantRows out;
  const float* gate = nullptr;
  Activation activation = Activation::kNone;
};
struct SplitArgs {
  RowRange rows;
  uint32_t rows_each;  // rows of `in` for each of these
  TypeId type;         // kF16, kBF16 or kF8_E4M3
  const float* in;
  uint32_t n_cols;
  SplitRows out;
};
// What becomes of a product y.
enum class Store : uint8_t {
  kSet,   // out = y
  kAdd,   // out += y
  kGate,  // out = activation(out) * y, the activation applied here and not to y
};
// Pairs row * n_used + k of rows with their k-th expert, in the order of experts: those of expert e from starts[e] on.
// Up to kTileRows of one expert are a tile; expert e has those from starts[e] / kTileRows + e on, at least one.
struct PairGroups {
  uint32_t* pairs;         // [n_pairs]
  uint32_t* starts;        // [n_experts + 1]
  uint32_t* tile_experts;  // [n_pairs / kTileRows + n_experts] whose tile it is
};
struct GroupPairsArgs {
  ExpertsOp op;
  RowRange rows;
  const float* ids;    // [row, n_used]
  uint32_t n_experts;  // that are held
  PairGroups out;
};
// Another matrix for the same rows, of the same type and as many columns.
struct LinearPart {
  Matrix weight;
  float* out;
  const float* bias;
};
inline constexpr uint32_t kMaxMoreParts = 2;
struct LinearArgs {
  LinearOp op;  // of a product that is part of another operation: its activation, on Store::kGate, alone
  RowRange rows;
  Matrix weight;
  const float* in;   // plain and stored types read these
  QuantRows quants;  // group types these
  SplitRows splits;  // linear_few_split and linear_split these
  float* out;
  const float* bias;
  // Of one expert's biases to the next one's; what pairs' products are multiplied by before their bias; null: 1.
  uint32_t bias_stride = 0;
  const float* pair_scales = nullptr;
  Store store;
  // linear_many and linear_split alone may have pairs in the place of rows: out[pair] = what the pair's expert makes of
  // row pair / pairs_each. The pointers are null where there are none.
  PairGroups groups;
  uint32_t pairs_each;
  uint32_t out_width = 0;  // numbers from one row of `out` to the next; 0: as many as the weight has rows
  // More products of the same rows, which the same launch makes, of any product but those of many rows.
  LinearPart more[kMaxMoreParts];
  uint32_t n_more;
};
struct RopeStoreArgs {
  RopeStoreOp op;
  StepView step;
  KvView cache;
  float *q, *k;  // k and v: null, where the layer keeps none of them
  const float* v;
  const float* inv_freq;
  const float *q_norm, *k_norm;
};
// Latent attention's queries, and the key of each row that goes into the cache, as LatentStoreOp says.
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
  const float* slopes;  // the same
  // What the cuts of a row give, where there are several, in places of a pass: [n_heads, dims | maximum, sum] each.
  float* partials;
  // Decode rows: who has which cut, on which pass; and how many cuts of a row's heads are there: zeros before and after
  // a launch, [n_rows, n_kv_heads, parts of their query heads].
  const RowCut* row_cuts;  // [n_row_cuts]
  uint64_t n_row_cuts, pass_row_cuts;
  uint32_t* arrivals;
  // Prompt rows: the tiles of one pass (of latents the rows alone), their rows, and the most cuts that one of them has.
  // A row's place among the partial results is counted from first_row.
  uint32_t first_tile, n_tiles, first_row, end_row, n_cuts;
};

// A product of its own for each head of a row. The rows of activations are pairs: row * n_heads + head.
struct HeadPartsArgs {
  HeadLinearOp op;
  const uint32_t* n_rows;
  const float* in;  // [n_rows, n_heads, in_width]
  uint32_t n_cols;
  float* out;  // [n_rows, n_heads, n_cols]: the first of each head's
};
// out[pair, 0 .. weight.n_rows) = weight_head . in[pair], of a few rows.
struct HeadLinearArgs {
  HeadLinearOp op;
  RowRange rows;
  Matrix weight;    // a matrix a head
  const float* in;  // [pairs, weight.n_cols]
  QuantRows quants;
  float* out;  // [pairs, out_width]
};
// The pairs of many rows by their heads, as if these were experts.
struct GroupHeadsArgs {
  HeadLinearOp op;
  RowRange rows;
  PairGroups out;
};

// A part of a layer's state, F32: that of slot i lies i * slot_bytes further on.
struct StateView {
  uint8_t* part;
  uint64_t slot_bytes;
};
// As ShortConvOp says.
struct ShortConvArgs {
  ShortConvOp op;
  StepView step;
  StateView state;
  float* out;
  const float* in;
  uint32_t n_cols;
  const float *weight, *bias;  // bias: null for none
  uint32_t n_parts = 0;        // of a sequence's rows; the launch sets it
};
// Columns of activations from first_col on.
struct Columns {
  const float* values;
  uint32_t n_cols, first_col;

  constexpr const float* row(uint32_t r) const { return values + uint64_t{r} * n_cols + first_col; }
};
// As StateScanOp says.
struct StateScanArgs {
  StateScanOp op;
  StepView step;
  StateView state;
  float* out;
  Columns x, b, c;
  const float *dt, *gate;  // gate: null for none
  const float *a, *d, *dt_bias;
};
// As DeltaRuleOp says; of a head's state the values vary slowest.
struct DeltaRuleArgs {
  DeltaRuleOp op;
  StepView step;
  StateView state;
  float* out;
  Columns q, k, v;
  float *decay, *beta;
  const float *a, *decay_bias;
};
// As WkvOp says; of a head's state the values vary slowest.
struct WkvArgs {
  WkvOp op;
  StepView step;
  StateView state;
  float *out, *bonus;
  const float* r;
  float *decay, *k, *v, *rate, *removal;
  const float* first_v;  // null: v stays as it is
  float* v_share;
  const float *removal_scale, *rate_scale, *bonus_scale;
};

struct RouteArgs {
  RouteOp op;
  const uint32_t* n_rows;
  const float* logits;
  float *weights, *ids;
  const float* bias;    // null: none
  const float* scales;  // of experts; null: none
};
// hidden[row * n_used + k] = weight_e . in[row] (* weights[row, k], where there are some) + bias_e for the k-th expert
// e of the row, stored as kSet or kGate says.
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
// and for the n_experts from first_expert on.
struct ExpertsSumArgs {
  ExpertsOp op;
  RowRange rows;
  const float *results, *weights;  // weights: null for 1
  uint32_t n_cols;
  float* out;
  const float *ids, *bias;  // of the experts: [row, n_used], and [n_experts, n_cols]; null: none
  uint32_t n_experts;       // that are held
};
// out = (out +) in * sigmoid(gate), or in * gate where it is a factor
struct GateArgs {
  GateOp op;
  const uint32_t* n_rows;
  float* out;
  const float *in, *gate;
  uint32_t n_cols, n_gate_cols;  // 1 of these: a gate a row
};
// As CutOp says.
struct CutArgs {
  CutOp op;
  const uint32_t* n_rows;
  float* out;
  const float* in;
  uint32_t n_cols;
};
// As AltUpOp says.
struct AltUpArgs {
  AltUpOp op;
  const uint32_t* n_rows;
  float* x;
  float* streams[kMaxStreams];
  uint32_t n_cols;
  const float *router, *coefs, *scale;  // scale: null for none
};
// As AdapterDownOp says. Rows of the logits are those that select_rows made.
struct AdapterDownArgs {
  AdapterDownOp op;
  StepView step;
  Matrix down;
  const float* ranks;  // by the adapter's place
  const float* in;
  float* low;
  uint32_t n_low_cols;
};
// As AdapterUpOp says.
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

// out = (out +) bias + parts[0] + parts[1] + ..., in this order: parts of sums that devices have made.
struct SumPartsArgs {
  SumPartsOp op;
  const uint32_t* n_rows;
  const float* parts;  // [n_parts, n_rows, n_cols]
  uint32_t n_cols;
  const float* bias;
  float* out;
};

// A TokenChoice as the device reads it.
struct ChoiceRow {
  double u;
  float temperature, top_p, min_p;
  float repeat_penalty, frequency_penalty, presence_penalty;
  uint32_t top_k;  // 0: off
  uint32_t first_seen, n_seen;
  uint32_t is_wanted;
};
// What is known of a part of the vocabulary.
struct ChoicePart {
  double sum;  // of e^((logit - max) / temperature), where there is no top-k
  float max;
  uint32_t n_candidates;
};
// out[row] = the token, -1 where the caller has to choose.
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
