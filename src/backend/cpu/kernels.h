// The kernel table: what an instruction set must provide. Plain declarations only, since files compiled for an
// instruction set include this header. Weights come in panels of kPanelRows rows (see panels.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/type_rows.h"

namespace realizar::cpu {

inline constexpr uint32_t kPanelRows = 16;
inline constexpr uint32_t kGroupCols = 32;    // columns that share an activation scale
inline constexpr uint32_t kChainCols = 64;    // columns of a plain type whose products are one chain of additions
inline constexpr uint32_t kTileCols = 256;    // columns whose sums are made before they are added to the others
inline constexpr uint32_t kMaxDotRows = 12;   // the most that a level has of dot_rows
inline constexpr uint32_t kMaxValueRows = 4;  // rows that one pass over values serves
inline constexpr uint32_t kMaxGemmRows = 32;
inline constexpr uint32_t kTileDepth = 32;        // columns that a bf16 product takes at a time
inline constexpr uint32_t kTileRows = 16;         // rows of activations in one of its tiles
inline constexpr uint32_t kMinInt8TileRows = 11;  // fewer rows take vector instructions no longer than a tile
inline constexpr uint32_t kBf16TileRowBytes = 2 * kTileDepth;
inline constexpr size_t kRowTileBytes = size_t{kTileRows} * kBf16TileRowBytes;
inline constexpr size_t kRowBlockBytes =
    kTileCols / kTileDepth * kRowTileBytes;  // those rows' tiles of kTileCols columns
inline constexpr uint32_t kKvPiece = 32;     // positions that attention reduces at a time

// 32 quantized activations and what belongs to them: a line of the cache. The sums are of the quants, exact.
struct alignas(64) ActGroup {
  int8_t quants[kGroupCols];
  float scale, scaled_sum;  // scaled_sum = scale * sum
  float sum;
  float halves[2];  // sums of 16
};

// A block type's product: y[r * 16 + i] = panel row i . rows[r], n_rows <= dot_rows.
using DotFn = void (*)(const uint8_t* panel, uint32_t n_cols, const ActGroup* const* rows, uint32_t n_rows, float* y);
// A plain type's product: the same for rows in F32, with exactly the sums of gemm_f32.
using DotPlainFn = void (*)(const uint8_t* panel, uint32_t n_cols, const float* const* rows, uint32_t n_rows, float* y);
// The scores of the positions in two panels of keys, in F32: y[r * kKvPiece + i] = row i of the panels . rows[r], with
// exactly the sums of gemm_f32; n_rows <= dot_rows.
using ScoreFn = void (*)(const uint8_t* panel0, const uint8_t* panel1, uint32_t n_cols, const float* const* rows,
                         uint32_t n_rows, float* y);
// Columns [col, col + n) of a panel as a tile: F32 [n][16], or bf16 [n / 2][16][2]. Block types: multiples of 32.
using UnpackFn = void (*)(const uint8_t* panel, uint32_t col, uint32_t n, void* tile);
// acc[r * 32 + i] (+)= tile row i . rows[r] for two tiles of 16 rows each; n_rows <= gemm_f32_rows.
using GemmFn = void (*)(const void* tile0, const void* tile1, uint32_t n, const void* const* rows, uint32_t n_rows,
                        float* acc, bool first);

// Two bf16 tiles of weights. Values may be sums of two bf16 halves, w0 + w1 and x0 + x1: w0 x0 + w0 x1 + w1 x0 is their
// product but for 3 * 2^-18 of it at most. The second halves lie `low` bytes after the first; 0: there are none. Rows
// of activations have them where weights do.
struct Bf16Tiles {
  const void *tile0, *tile1;
  size_t low;
};
// The same as GemmFn with bf16 tiles and rows; n_rows <= gemm_bf16_rows. row_low: the rows' `low`.
using GemmBf16Fn = void (*)(const Bf16Tiles& tiles, uint32_t n, const void* const* rows, size_t row_low,
                            uint32_t n_rows, float* acc, bool first);
// The same for 32 rows that lie as row tiles, kTileRows rows of kTileDepth bf16 values each: columns [32 k, 32 k + 32)
// of the first 16 rows at rows + k * kRowTileBytes, those of the others kRowBlockBytes after them.
using GemmRowTilesFn = void (*)(const Bf16Tiles& tiles, uint32_t n, const uint8_t* rows, size_t row_low, float* acc,
                                bool first);
// acc[r * 32 + i] (+)= tile row i . rows[r] for two tiles of 16 rows each, the very sums of DotFn; n_rows <=
// kMaxGemmRows.
using GemmInt8Fn = void (*)(const void* tile0, const void* tile1, uint32_t n, const ActGroup* const* rows,
                            uint32_t n_rows, float* acc, bool first);

// What products run over panels of a type; null where its layout is multiplied without.
struct TypeKernels {
  DotFn dot;             // of groups alone
  DotPlainFn dot_plain;  // of plain types alone
  ScoreFn score;         // of the types of keys alone
  UnpackFn unpack_f32;   // not of stored blocks
  UnpackFn unpack_bf16;  // where has_bf16(), not of F32; plain types but BF16: the second halves after the first
  // Groups alone: to a CodeTile, a byte a code and F32 scales; n <= kTileCols, of which col is a multiple.
  UnpackFn unpack_codes;
  GemmInt8Fn gemm_int8;  // of groups alone
  // The same sums in tile registers, for kMinInt8TileRows to kTileRows rows; null where there are none.
  GemmInt8Fn gemm_int8_tiles;
  uint32_t int8_tile_cols;  // what tile registers must be configured for then: the bytes of a row
};

inline constexpr uint32_t kDeltaCols = 32;  // columns of a state that a delta_row takes at most

// One row of a delta rule for one head, and some columns of its values and of its state: DeltaRuleOp's k, q, d, v and
// out, and the sigmoid of its beta.
struct DeltaRow {
  const float *q, *k;  // [key_dim]
  const float* decay;  // [n_decays]
  const float* v;      // [n_cols]
  float* out;          // [n_cols]
  float share;
};

// The same of a time mix: WkvOp's r, d, k, z, c * z, v and out.
struct WkvRow {
  const float *r, *decay, *k, *removal, *rate;  // [head_dim]
  const float* v;                               // [n_cols]
  float* out;                                   // [n_cols]
};

inline constexpr uint32_t kScanRows = 16;  // rows that a scan_rows takes at most

// Rows of a state space's scan for one head: StateScanOp's x, b, c, t, d and what is summed for y before the gate. A
// stride is the number of floats from one row to the next.
struct ScanRows {
  uint32_t n_rows;
  const float* x;      // [n_rows, head_dim]
  const float *b, *c;  // [n_rows, d_state]
  float* out;          // [n_rows, head_dim]
  size_t x_stride, b_stride, c_stride, out_stride;
  const float* t;      // [n_rows]
  const float* decay;  // [n_rows]: what the whole state is multiplied by; unused where there is an `a`
  const float* a;      // [d_state], or null
  float d;
};

// The running softmax of one query: the largest score so far and the sum of e^(score - max).
struct Softmax {
  float max, sum;
};

// kClampedSwiglu and kClampedPlusOne: the two sides of Activation::kClampedSwiglu.
enum class MapKind : uint8_t {
  kNone,
  kSilu,
  kGelu,
  kGeluErf,
  kRelu,
  kReluSquared,
  kTanh,
  kExp,
  kClampedSwiglu,
  kClampedPlusOne,
  kSigmoid,
  kSoftplus,
  kNormalCdf
};

struct KernelTable {
  const char* name;
  const char* arithmetic;  // tables of one arithmetic give the same bits
  uint32_t dot_rows;       // rows that one pass over a packed panel serves
  uint32_t direct_rows;    // up to so many, passes over the packed panel take less time than unpacking it first
  uint32_t gemm_f32_rows, gemm_bf16_rows;
  TypeKernels types[TypeRows::kSize];  // in the order of the rows; see kernels_of()
  // Sums of kChainCols columns each, counted from the tile's first, that are added one after the other.
  GemmFn gemm_f32;
  GemmFn gemm_f32_chain;  // one sum, which goes on from acc column after column
  GemmBf16Fn gemm_bf16;   // null where the processor has no tiles for it, as the next two
  GemmRowTilesFn gemm_row_tiles;
  // For tiles of activations whose rows have so many bytes, kBf16TileRowBytes or int8_tile_cols, on the thread that
  // computes the products.
  void (*configure_tiles)(uint32_t row_bytes);
  // groups: [n / 32]; n is a multiple of 32.
  void (*quantize)(const float* x, uint32_t n, ActGroup* groups);
  // The next three are null where !has_bf16(); n is a multiple of 16.
  // kTileDepth columns of y, and of high and low, lie `stride` values after the ones before them.
  void (*to_bf16)(const float* x, uint32_t n, uint16_t* y, size_t stride);
  // x [n] rounded, and what the rounding lost. Their sum is x but for 2^-18 of it.
  void (*split_bf16)(const float* x, uint32_t n, uint16_t* high, uint16_t* low, size_t stride);
  // The same of an F32 tile [n][16], as tiles [n / 2][16][2].
  void (*split_tile)(const float* tile, uint32_t n, uint16_t* high, uint16_t* low);
  // The scores [n_rows, kKvPiece] become their weights in `states` [n_rows], which take them in; those outside
  // [from, to) weigh 0. corrections [n_rows]: the factors for what was summed with earlier weights. scale and softcap
  // are AttentionOp's. Each row alike, whichever are beside it.
  void (*softmax_piece)(float* scores, uint32_t n_rows, uint32_t from, uint32_t to, float scale, float softcap,
                        Softmax* states, float* corrections);
  // n <= 16 vectors of n_cols values, each n_bytes after the one before it, as F32 tiles: 16 columns each, kKvPiece
  // rows of 16, tile after tile. Rows n to 15 are zeroed, and so are columns beyond n_cols.
  void (*load_values[6])(const uint8_t* x, size_t n_bytes, uint32_t n, uint32_t n_cols, float* tiles);  // by KvType
  // sums[c / 32 * stride + r * 32 + c % 32] += weights[r][0] x[0][c] + weights[r][1] x[1][c] + ..., n terms in this
  // order, for each c < n_cols and r < n_rows <= kMaxValueRows; x [n] as it lies, vectors of n_bytes.
  void (*add_values[6])(const uint8_t* x, size_t n_bytes, uint32_t n, uint32_t n_cols, const float* const* weights,
                        uint32_t n_rows, float* sums, size_t stride);
  void (*map)(MapKind kind, float* x, uint32_t n);  // x = f(x), each element alike wherever it lies
  float (*dot_f32)(const float* a, const float* b, uint32_t n);
  float (*sum)(const float* a, uint32_t n);
  void (*axpy)(float alpha, const float* x, float* y, uint32_t n);        // y += alpha * x
  void (*scale)(float alpha, float* x, uint32_t n);                       // x *= alpha
  void (*mul_add)(const float* a, const float* b, float* y, uint32_t n);  // y += a * b, each element alike
  // Takes the row into state [key_dim, n_cols], n_cols <= kDeltaCols; n_decays is 1 or key_dim. The sums of a column
  // are the same whichever columns are beside it.
  void (*delta_row)(const DeltaRow& row, uint32_t key_dim, uint32_t n_decays, uint32_t n_cols, float* state);
  // The same into state [head_dim, n_cols].
  void (*wkv_row)(const WkvRow& row, uint32_t head_dim, uint32_t n_cols, float* state);
  // Takes the rows, one after the other, into state [head_dim, d_state]. Bits do not depend on how many come at once.
  void (*scan_rows)(const ScanRows& rows, uint32_t head_dim, uint32_t d_state, float* state);
  // Loops that only keep one unit busy: peak_chains independent instructions of 16 lanes a step. Null: no such unit.
  uint32_t peak_chains;
  float (*peak_read)(const uint8_t* bytes, size_t n_bytes);
  float (*peak_fma)(uint32_t n_steps);
  float (*peak_bf16)(uint32_t n_steps);
  float (*peak_int8)(uint32_t n_steps);

  // Prefill multiplies as bf16: block types rounded, F16 and BF16 as sums of two halves (see matmul.h).
  bool has_bf16() const { return gemm_bf16 != nullptr; }
};

// The kernels of a level, put into a table. A level that has all of them is compiled in four parts, side by side: part
// 0 has all but the products of block types, the others have those, each for some types (part_of() in isa/kernels.inl).
template <int kPart>
void put_portable(KernelTable& table);
template <int kPart>
void put_avx2(KernelTable& table);
void put_avx_vnni(KernelTable& table);  // over AVX2's
template <int kPart>
void put_avx512(KernelTable& table);
void put_amx(KernelTable& table);  // over AVX-512's
template <int kPart>
void put_neon(KernelTable& table);
void put_dotprod(KernelTable& table);  // over NEON's
void put_i8mm(KernelTable& table);     // over NEON's

}  // namespace realizar::cpu
