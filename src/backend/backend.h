// The seam between model and device. A Backend owns weights, activations and the KV cache and knows nothing about
// configs or requests. Loading calls come first, on one thread; then programs are compiled; then each step is a run and
// a wait, which allocate nothing. One thread at a time may call; a backend has its own thread team.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/op_types.h"
#include "backend/state_layout.h"
#include "backend/step_batch.h"
#include "quant/type_id.h"
#include "realizar/result.h"

namespace realizar {

struct Program;

// The part of larger stored matrices [n_mats, n_rows, n_cols] that a source is.
struct StoredPart {
  uint32_t n_mats = 0, n_rows = 0, n_cols = 0;
  uint32_t first_mat = 0, first_row = 0, first_col = 0;  // first_col: at a block and scale boundary
};

// A matrix, or a stack of n_mats of them (experts), as stored: [n_mats, n_rows, n_cols], rows of blocks.
struct MatrixSource {
  std::string_view name;  // for messages
  TypeId type = TypeId::kF32;
  uint32_t n_mats = 1;
  uint32_t n_rows = 0;
  uint32_t n_cols = 0;
  // Row-major pieces that together hold all stored rows in order (one piece, or one per expert).
  std::vector<std::span<const std::byte>> pieces;
  // Row r of every stored matrix is its row row_order[r]; empty: as stored.
  std::vector<uint32_t> row_order;
  // The pieces hold [n_cols, n_rows] instead (plain types only); the backend transposes.
  bool transposed = false;
  int32_t layer = -1;         // of the model; -1: none
  bool is_writable = false;   // write_weights may replace its rows, so it stays where steps read it
  bool is_gathered = false;   // used only by an EmbedOp: each step reads the rows of its tokens
  bool is_embedding = false;  // used by an EmbedOp, possibly among others
  Shard shard = Shard::kWhole;
  uint32_t shard_unit = 0;  // rows or columns that stay together (those of one KV head); 0: all
  // Factors on the elements of an F8_E4M3 or NVFP4 matrix (never transposed), [stored n_mats * n_rows,
  // n_row_scales(type, n_cols)]. Empty: 1.
  std::span<const float> scales = {};
  std::optional<StoredPart> part = {};  // of the matrices in `pieces`, `row_order` and `scales`; all if unset
};

// Columns of an F8_E4M3 matrix that share a scale.
inline constexpr uint32_t kF8ScaleCols = 128;
constexpr uint32_t f8_n_scales(uint32_t n_cols) {
  return (n_cols + kF8ScaleCols - 1) / kF8ScaleCols;
}
// F32 scales per row, in addition to those in the type's blocks.
constexpr uint32_t n_row_scales(TypeId type, uint32_t n_cols) {
  if (type == TypeId::kF8_E4M3) return f8_n_scales(n_cols);
  return type == TypeId::kNVFP4 ? 1 : 0;
}

struct BackendLimits {
  uint32_t max_rows = 512;        // rows per step
  uint32_t max_logit_rows = 512;  // logit rows per step
  uint32_t max_seqs = 1;          // sequences per step
  uint32_t max_context = 0;       // positions per sequence
};

// One operation of a traced step.
struct OpTiming {
  OpKind kind;
  OpPlace place;
  bool decode;                     // the step had decode rows only
  uint64_t start_ns, duration_ns;  // on the steady clock
  uint64_t bytes;                  // weights and cache that it had to read
  uint64_t flops;                  // multiplications and additions that it had to do
};

// Rows that a matrix was multiplied by in a step. `matrix` is the name under which a stack of n_mats was loaded.
struct MatrixInput {
  std::string_view matrix;
  uint32_t mat_idx, n_mats, n_cols;
  std::span<const float* const> rows;
};
using MatrixInputCallback = std::function<void(const MatrixInput&)>;

// A device's memory and counters for metrics: written by the thread that drives the device, read by any.
struct DeviceUse {
  std::string name;                           // "cuda:0"
  size_t weight_bytes = 0, kv_bytes = 0;      // known before the first step
  size_t total_bytes = 0;                     // the device's memory, including other processes'
  std::atomic<uint64_t> free_bytes{0};        // free device memory when the model last allocated
  std::atomic<uint64_t> scratch_bytes{0};     // activations and work buffers of steps
  std::atomic<uint64_t> n_launches{0};        // operations launched one by one
  std::atomic<uint64_t> n_captures{0};        // graphs recorded: steps, or the parts of steps that run here
  std::atomic<uint64_t> n_replays{0};         // graphs replayed
  std::atomic<uint64_t> n_graph_failures{0};  // failed recordings; such steps are launched one by one
  std::atomic<uint64_t> n_streamed_bytes{0};  // weights copied to the device during steps
};

// Description and sizes of a backend. Byte counts cover what has been loaded and compiled so far.
struct BackendInfo {
  std::string name;                     // "cpu", "reference"
  std::string description;              // for --stats: device, instruction set, threads
  std::string arithmetic;               // backends with equal names produce equal bits
  bool decode_matches_prefill = false;  // prefill and decode of a row are bit-identical in every model
  // How tracing distorts the times of traced steps; empty if it does not.
  std::string trace_note = {};
  size_t weight_bytes = 0, kv_bytes = 0;
  // Reserved for activations and work buffers; a CPU has touched only what its largest steps needed.
  size_t scratch_bytes = 0;
  std::vector<const DeviceUse*> devices = {};  // empty if the backend has none of its own
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Loading.

  // Sets the limits. Only check may be called earlier.
  virtual Status configure(const BackendLimits& limits) = 0;
  // Whether the backend can run the operations, judging by their own fields: weights that are not loaded yet may be
  // kNoWeight. Errors: Unsupported, by name, with the bound.
  virtual Status check(const Program&) const { return {}; }
  // Copies, repacks or uploads; the source's bytes are not read after the call. Errors: Unsupported (the type, by
  // name), FormatError (a weight is NaN or infinite), ResourceExhausted.
  virtual Result<WeightId> load_matrix(const MatrixSource& source) = 0;
  // `layer`: as in MatrixSource.
  virtual Result<WeightId> load_vector(std::span<const float> values, int32_t layer = -1) = 0;
  // Between steps: replaces rows of every matrix of a writable F32 stack, starting at `first_row`, or all values of a
  // vector. Errors: FormatError (a value is NaN or infinite), Internal.
  virtual Status write_weights(WeightId id, size_t first_row, std::span<const float> values) = 0;
  // Errors: Unsupported (a layer's state or type), ResourceExhausted.
  virtual Status create_kv_cache(const CacheLayout& layout) = 0;

  // Running.

  // Decides everything that does not depend on a step and allocates for every step within the limits; programs share
  // this memory, since one runs at a time. Errors: as check; ResourceExhausted.
  virtual Result<ProgramId> compile(const Program& program) = 0;
  // `batch` and the memory it points to must live until the step's results are read.
  virtual void run(ProgramId program, const StepBatch& batch) = 0;
  // Errors: Internal (a device failed), ResourceExhausted; the step's results are then undefined.
  virtual Status wait() = 0;
  // After wait, until the next run: the rows of the activation, [rows of its row set, n_cols].
  virtual std::span<const float> read(ActId act) const = 0;
  // After wait, until the next run: tokens chosen by a ChooseOp, [n logit rows], or empty; kNoToken where the caller
  // must choose from the logits.
  virtual std::span<const TokenId> chosen() const { return {}; }
  // Whether a ChooseOp supports the choice; unsupported choices are left to the caller.
  virtual bool can_choose(const TokenChoice&) const { return false; }

  // The cache, between steps: one KV block of all layers, block_bytes() in the backend's own layout.

  virtual size_t block_bytes() const = 0;
  virtual void read_block(BlockId id, std::span<std::byte> bytes) const = 0;
  virtual void write_block(BlockId id, std::span<const std::byte> bytes) = 0;
  virtual void zero_block(BlockId id) = 0;
  // Copies a block without waiting, in step order.
  virtual void copy_block(BlockId from, BlockId to) = 0;
  // A layer's keys and values in a block, as F32 [block_tokens, n_kv_heads, k_dim or v_dim].
  virtual void read_kv(uint32_t layer, BlockId id, std::span<float> keys, std::span<float> values) const = 0;
  // read_block and write_block without waiting, in step order. The bytes are memory of allocate_host, which lives as
  // long as the backend; an empty span: none left, or not supported.
  virtual std::span<std::byte> allocate_host(size_t) { return {}; }
  virtual void save_block(BlockId id, std::span<std::byte> bytes) const { read_block(id, bytes); }
  virtual void restore_block(BlockId id, std::span<const std::byte> bytes) { write_block(id, bytes); }

  // Recurrent states, between steps: one slot is state_bytes(), 0 if the model has no recurrent layers.

  virtual size_t state_bytes() const { return 0; }
  virtual void read_state(StateId, std::span<std::byte>) const {}
  virtual void write_state(StateId, std::span<const std::byte>) {}
  virtual void zero_state(StateId) {}

  // Reporting.

  virtual BackendInfo info() const = 0;
  // Whether no further step can succeed.
  virtual bool is_lost() const { return false; }
  virtual void set_trace(bool on) = 0;
  virtual std::span<const OpTiming> last_trace() const = 0;
  // Reports the inputs of every matrix product of later steps, in program order, on one thread, during the step; an
  // empty callback stops this. Errors: Unsupported, where activations are not visible.
  virtual Status watch_inputs(MatrixInputCallback) {
    return unsupported(info().name + ": what matrices are multiplied by can be seen on the CPU alone", "backend");
  }
};

}  // namespace realizar
