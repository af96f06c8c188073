// The kernel table: functions that an instruction set provides. Plain declarations only, since files compiled for an
// instruction set include this header. Weights are packed in panels of kPanelRows rows (packed_matrix.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/type_rows.h"

namespace realizar::cpu {

inline constexpr uint32_t kPanelRows = 16;
inline constexpr uint32_t kGroupCols = 32;    // columns that share an activation scale
inline constexpr uint32_t kChainCols = 64;    // columns of a plain type that one chain of additions covers
inline constexpr uint32_t kTileCols = 256;    // columns that are summed before they are added to the total
inline constexpr uint32_t kMaxDotRows = 12;   // largest dot_rows of any level
inline constexpr uint32_t kMaxValueRows = 4;  // rows per pass over values
inline constexpr uint32_t kMaxGemmRows = 32;
inline constexpr uint32_t kTileDepth = 32;        // columns per bf16 product
inline constexpr uint32_t kTileRows = 16;         // rows of activations per bf16 tile
inline constexpr uint32_t kMinInt8TileRows = 11;  // with fewer rows vector instructions are as fast as a tile
inline constexpr uint32_t kBf16TileRowBytes = 2 * kTileDepth;
inline constexpr size_t kRowTileBytes = size_t{kTileRows} * kBf16TileRowBytes;
inline constexpr size_t kRowBlockBytes = kTileCols / kTileDepth * kRowTileBytes;  // kTileCols columns of kTileRows rows
inline constexpr uint32_t kKvPiece = 32;                                          // positions per softmax update

// 32 quantized activations with their scale and sums: one cache line. The sums of the quants are exact.
struct alignas(64) ActGroup {
  int8_t quants[kGroupCols];
  float scale, scaled_sum;  // scaled_sum = scale * sum
  float sum;
  float halves[2];  // sums of 16
};

// Product for group types: y[r * 16 + i] = panel row i . rows[r], n_rows <= dot_rows.
using DotFn = void (*)(const uint8_t* panel, uint32_t n_cols, const ActGroup* const* rows, uint32_t n_rows, float* y);
// Product for plain types: as DotFn for rows in F32, with exactly the sums of gemm_f32.
using DotPlainFn = void (*)(const uint8_t* panel, uint32_t n_cols, const float* const* rows, uint32_t n_rows, float* y);
// Scores of the positions in two panels of keys, in F32: y[r * kKvPiece + i] = row i of the panels . rows[r], with
// exactly the sums of gemm_f32; n_rows <= dot_rows.
using ScoreFn = void (*)(const uint8_t* panel0, const uint8_t* panel1, uint32_t n_cols, const float* const* rows,
                         uint32_t n_rows, float* y);
// Unpacks columns [col, col + n) of a panel: to F32 [n][16], or bf16 [n / 2][16][2]. Block types: multiples of 32.
using UnpackFn = void (*)(const uint8_t* panel, uint32_t col, uint32_t n, void* tile);
// acc[r * 32 + i] (+)= tile row i . rows[r] for two tiles of 16 rows each; n_rows <= gemm_f32_rows.
using GemmFn = void (*)(const void* tile0, const void* tile1, uint32_t n, const void* const* rows, uint32_t n_rows,
                        float* acc, bool first);

// Two bf16 tiles of weights. Values may be sums of two bf16 halves, w0 + w1 and x0 + x1; w0 x0 + w0 x1 + w1 x0 is their
// product with a relative error of at most 3 * 2^-18. The second halves lie `low` bytes after the first; 0: there are
// none. Rows of activations are split if the weights are.
struct Bf16Tiles {
  const void *tile0, *tile1;
  size_t low;
};
// GemmFn with bf16 tiles and rows; n_rows <= gemm_bf16_rows. row_low: the rows' `low`.
using GemmBf16Fn = void (*)(const Bf16Tiles& tiles, uint32_t n, const void* const* rows, size_t row_low,
                            uint32_t n_rows, float* acc, bool first);
// GemmBf16Fn for 32 rows in row tiles, kTileRows rows of kTileDepth bf16 values each: columns [32 k, 32 k + 32) of the
// first 16 rows at rows + k * kRowTileBytes, those of the others kRowBlockBytes after them.
using GemmRowTilesFn = void (*)(const Bf16Tiles& tiles, uint32_t n, const uint8_t* rows, size_t row_low, float* acc,
                                bool first);
// acc[r * 32 + i] (+)= tile row i . rows[r] for two tiles of 16 rows, exactly the sums of DotFn; n_rows <=
// kMaxGemmRows.
using GemmInt8Fn = void (*)(const void* tile0, const void* tile1, uint32_t n, const ActGroup* const* rows,
                            uint32_t n_rows, float* acc, bool first);

// Kernels for products with panels of a type; null if its layout does not use them.
struct TypeKernels {
  DotFn dot;             // groups only
  DotPlainFn dot_plain;  // plain types only
  ScoreFn score;         // types of keys only
  UnpackFn unpack_f32;   // not of stored blocks
  UnpackFn unpack_bf16;  // where has_bf16(), not for F32; plain types except BF16: the second halves after the first
  // Groups only: to a CodeTile, one byte per code and F32 scales; n <= kTileCols, and col is a multiple of it.
  UnpackFn unpack_codes;
  GemmInt8Fn gemm_int8;  // groups only
  // gemm_int8 in tile registers, for kMinInt8TileRows to kTileRows rows; null if unsupported.
  GemmInt8Fn gemm_int8_tiles;
  uint32_t int8_tile_cols;  // row size in bytes for configuring the tile registers
};

inline constexpr uint32_t kDeltaCols = 32;  // most columns of a state per delta_row

// One row of a delta rule for one head and some columns of its values and its state: DeltaRuleOp's k, q, d, v and out,
// and the sigmoid of its beta.
struct DeltaRow {
  const float *q, *k;  // [key_dim]
  const float* decay;  // [n_decays]
  const float* v;      // [n_cols]
  float* out;          // [n_cols]
  float share;
};

// DeltaRow for a time mix: WkvOp's r, d, k, z, c * z, v and out.
struct WkvRow {
  const float *r, *decay, *k, *removal, *rate;  // [head_dim]
  const float* v;                               // [n_cols]
  float* out;                                   // [n_cols]
};

inline constexpr uint32_t kScanRows = 16;  // most rows per scan_rows

// Rows of a state space scan for one head: StateScanOp's x, b, c, t, d, and y before the gate. A stride is the number
// of floats from one row to the next.
struct ScanRows {
  uint32_t n_rows;
  const float* x;      // [n_rows, head_dim]
  const float *b, *c;  // [n_rows, d_state]
  float* out;          // [n_rows, head_dim]
  size_t x_stride, b_stride, c_stride, out_stride;
  const float* t;      // [n_rows]
  const float* decay;  // [n_rows]: factor on the whole state; unused with `a`
  const float* a;      // [d_state], or null
  float d;
};

// Running softmax of one query: the largest score so far and the sum of e^(score - max).
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
  const char* arithmetic;  // tables with the same arithmetic give the same bits
  uint32_t dot_rows;       // rows per pass over a packed panel
  uint32_t direct_rows;    // up to this many rows, products with the packed panel are faster than unpacking it first
  uint32_t gemm_f32_rows, gemm_bf16_rows;
  TypeKernels types[TypeRows::kSize];  // in the order of TypeRows; see kernels_of()
  // Sums of kChainCols columns each, from the tile's first column, added in order.
  GemmFn gemm_f32;
  GemmFn gemm_f32_chain;  // one sum, continued from acc column by column
  GemmBf16Fn gemm_bf16;   // null, like the next two, if the processor has no tiles for it
  GemmRowTilesFn gemm_row_tiles;
  // Configures the calling thread's tile registers for rows of this size: kBf16TileRowBytes or int8_tile_cols.
  void (*configure_tiles)(uint32_t row_bytes);
  // groups: [n / 32]; n is a multiple of 32.
  void (*quantize)(const float* x, uint32_t n, ActGroup* groups);
  // The next three are null if !has_bf16(); n is a multiple of 16.
  // Each kTileDepth columns of y, and of high and low, lie `stride` values after the previous ones.
  void (*to_bf16)(const float* x, uint32_t n, uint16_t* y, size_t stride);
  // x [n] rounded, and the rounding error. Their sum is x with a relative error of 2^-18.
  void (*split_bf16)(const float* x, uint32_t n, uint16_t* high, uint16_t* low, size_t stride);
  // split_bf16 for an F32 tile [n][16], as tiles [n / 2][16][2].
  void (*split_tile)(const float* tile, uint32_t n, uint16_t* high, uint16_t* low);
  // Replaces scores [n_rows, kKvPiece] by softmax weights and updates `states` [n_rows]; positions outside [from, to)
  // weigh 0. corrections [n_rows]: factors for sums of earlier weights. scale, softcap: AttentionOp's. Rows are
  // independent.
  void (*softmax_piece)(float* scores, uint32_t n_rows, uint32_t from, uint32_t to, float scale, float softcap,
                        Softmax* states, float* corrections);
  // Loads n <= 16 vectors of n_cols values, n_bytes apart, as F32 tiles: 16 columns each, kKvPiece rows of 16, tile
  // after tile. Rows n to 15 and columns beyond n_cols are zeroed.
  void (*load_values[6])(const uint8_t* x, size_t n_bytes, uint32_t n, uint32_t n_cols, float* tiles);  // by KvType
  // sums[c / 32 * stride + r * 32 + c % 32] += weights[r][0] x[0][c] + weights[r][1] x[1][c] + ..., n terms in this
  // order, for each c < n_cols and r < n_rows <= kMaxValueRows; x [n] as stored, vectors of n_bytes.
  void (*add_values[6])(const uint8_t* x, size_t n_bytes, uint32_t n, uint32_t n_cols, const float* const* weights,
                        uint32_t n_rows, float* sums, size_t stride);
  void (*map)(MapKind kind, float* x, uint32_t n);  // x = f(x), element by element
  float (*dot_f32)(const float* a, const float* b, uint32_t n);
  float (*sum)(const float* a, uint32_t n);
  void (*axpy)(float alpha, const float* x, float* y, uint32_t n);        // y += alpha * x
  void (*scale)(float alpha, float* x, uint32_t n);                       // x *= alpha
  void (*mul_add)(const float* a, const float* b, float* y, uint32_t n);  // y += a * b, element by element
  // Adds the row to state [key_dim, n_cols], n_cols <= kDeltaCols; n_decays is 1 or key_dim. A column's sums do not
  // depend on other columns.
  void (*delta_row)(const DeltaRow& row, uint32_t key_dim, uint32_t n_decays, uint32_t n_cols, float* state);
  // delta_row for a time mix, with state [head_dim, n_cols].
  void (*wkv_row)(const WkvRow& row, uint32_t head_dim, uint32_t n_cols, float* state);
  // Adds the rows in order to state [head_dim, d_state]. Bits do not depend on the number of rows per call.
  void (*scan_rows)(const ScanRows& rows, uint32_t head_dim, uint32_t d_state, float* state);
  // Loops that keep one unit busy: peak_chains independent instructions of 16 lanes per step. Null: no such unit.
  uint32_t peak_chains;
  float (*peak_read)(const uint8_t* bytes, size_t n_bytes);
  float (*peak_fma)(uint32_t n_steps);
  float (*peak_bf16)(uint32_t n_steps);
  float (*peak_int8)(uint32_t n_steps);

  // Whether prefill multiplies as bf16: block types rounded, F16 and BF16 as sums of two halves (see matmul.h).
  bool has_bf16() const { return gemm_bf16 != nullptr; }
};

// Kernels of a level, put into a table. Complete levels are compiled in four parts, in parallel: part 0 has everything
// except the products of block types, which the others share by type (part_of() in isa/kernels.inl).
template <int kPart>
void put_portable(KernelTable& table);
template <int kPart>
void put_avx2(KernelTable& table);
void put_avx_vnni(KernelTable& table);  // on top of AVX2's
template <int kPart>
void put_avx512(KernelTable& table);
void put_amx(KernelTable& table);  // on top of AVX-512's
template <int kPart>
void put_neon(KernelTable& table);
void put_dotprod(KernelTable& table);  // on top of NEON's
void put_i8mm(KernelTable& table);     // on top of NEON's

}  // namespace realizar::cpu
