// The seam between model and device. A Backend owns weights, activations and the KV cache; it knows nothing of configs
// or requests. Loading calls come first, from one thread; programs are compiled when their weights and the cache are
// there; then, for each step, run and wait. Between run and wait nothing allocates. One thread at a time may call; a
// backend runs its own team below.
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

// Where the matrices of a source lie in larger stored ones, of [n_mats, n_rows, n_cols]: from these on.
struct StoredPart {
  uint32_t n_mats = 0, n_rows = 0, n_cols = 0;
  uint32_t first_mat = 0, first_row = 0, first_col = 0;  // first_col: at the begin of a block, and of a scale
};

// A matrix, or a stack of n_mats of them (experts), as stored: [n_mats, n_rows, n_cols], rows of blocks.
struct MatrixSource {
  std::string_view name;  // for messages
  TypeId type = TypeId::kF32;
  uint32_t n_mats = 1;
  uint32_t n_rows = 0;
  uint32_t n_cols = 0;
  // Row-major pieces that together hold all stored rows in order (one piece, or one an expert).
  std::vector<std::span<const std::byte>> pieces;
  // Row r of every stored matrix is its row row_order[r]; empty: as stored.
  std::vector<uint32_t> row_order;
  // The pieces hold [n_cols, n_rows] instead (plain types only); the backend transposes.
  bool transposed = false;
  int32_t layer = -1;         // of the model that it is part of; -1: of none
  bool is_writable = false;   // write_weights may replace its rows: it stays where steps read it
  bool is_gathered = false;   // an EmbedOp alone uses it: of each step it reads the rows of the tokens
  bool is_embedding = false;  // an EmbedOp uses it, be it alone or not
  Shard shard = Shard::kWhole;
  uint32_t shard_unit = 0;  // rows, or columns, that stay together: those that read or make one KV head; 0: all
  // What the elements of an F8_E4M3 or NVFP4 matrix, which is not transposed, are multiplied by: [n_mats * n_rows as
  // stored, n_row_scales(type, n_cols)]. Empty: by 1.
  std::span<const float> scales = {};
  std::optional<StoredPart> part = {};  // of what is stored, that `pieces`, `row_order` and `scales` are of; all of it
};

// Columns of an F8_E4M3 matrix that share a scale.
inline constexpr uint32_t kF8ScaleCols = 128;
constexpr uint32_t f8_n_scales(uint32_t n_cols) {
  return (n_cols + kF8ScaleCols - 1) / kF8ScaleCols;
}
// F32 scales that a row of the type has besides those in its blocks.
constexpr uint32_t n_row_scales(TypeId type, uint32_t n_cols) {
  if (type == TypeId::kF8_E4M3) return f8_n_scales(n_cols);
  return type == TypeId::kNVFP4 ? 1 : 0;
}

struct BackendLimits {
  uint32_t max_rows = 512;        // rows a step
  uint32_t max_logit_rows = 512;  // logit rows a step
  uint32_t max_seqs = 1;          // sequences a step
  uint32_t max_context = 0;       // positions a sequence
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

// Rows that a matrix was multiplied by in a step. `matrix` is the name that it was loaded by, of which a stack has
// n_mats; a row has n_cols numbers.
struct MatrixInput {
  std::string_view matrix;
  uint32_t mat_idx, n_mats, n_cols;
  std::span<const float* const> rows;
};
using MatrixInputCallback = std::function<void(const MatrixInput&)>;

// What a device holds of a model, and has done for it, for metrics: written by the thread that drives it, read by any.
struct DeviceUse {
  std::string name;                           // "cuda:0"
  size_t weight_bytes = 0, kv_bytes = 0;      // known before the first step
  size_t total_bytes = 0;                     // of the device's memory, whoever has it
  std::atomic<uint64_t> free_bytes{0};        // of that, when the model last took some
  std::atomic<uint64_t> scratch_bytes{0};     // activations, and what else steps compute in
  std::atomic<uint64_t> n_launches{0};        // operations that were launched one by one
  std::atomic<uint64_t> n_captures{0};        // steps, or the parts of steps that run here, that were recorded
  std::atomic<uint64_t> n_replays{0};         // the same that ran as recorded
  std::atomic<uint64_t> n_graph_failures{0};  // recordings that failed: such steps are launched one by one
  std::atomic<uint64_t> n_streamed_bytes{0};  // weights brought to the device during steps
};

// What a backend is and holds. The bytes are those of what was loaded and compiled so far.
struct BackendInfo {
  std::string name;           // "cpu", "reference"
  std::string description;    // for --stats: device, instruction set, threads
  std::string arithmetic;     // backends that give the same name here give the same bits
  bool phases_agree = false;  // a row has the same bits as a decode row and as a prompt's, whatever the model
  // How traced steps differ from others, for whoever reads their times; empty: not at all.
  std::string trace_note = {};
  size_t weight_bytes = 0, kv_bytes = 0;
  // Activations, and what else steps compute in: reserved, of which a CPU has touched what its largest steps needed.
  size_t scratch_bytes = 0;
  std::vector<const DeviceUse*> devices = {};  // of a backend that has devices of its own
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Loading.

  // Limits are fixed before any other call but check.
  virtual Status configure(const BackendLimits& limits) = 0;
  // Whether it can run such operations, as far as they say it themselves: weights that are not loaded yet may be
  // kNoWeight. Errors: Unsupported, by name, with the bound.
  virtual Status check(const Program&) const { return {}; }
  // Copies, repacks or uploads; the source's bytes are not read after the call. Errors: Unsupported (type, by name),
  // FormatError (a weight is NaN or infinite), ResourceExhausted.
  virtual Result<WeightId> load_matrix(const MatrixSource& source) = 0;
  // `layer`: as a matrix's.
  virtual Result<WeightId> load_vector(std::span<const float> values, int32_t layer = -1) = 0;
  // Between steps: replaces the rows of a writable F32 stack from row `first_row` of all its matrices' on, or all
  // values of a vector. Errors: FormatError (a value is NaN or infinite), Internal.
  virtual Status write_weights(WeightId id, size_t first_row, std::span<const float> values) = 0;
  // Errors: Unsupported, where it cannot keep what a layer wants kept; ResourceExhausted.
  virtual Status create_kv_cache(const CacheLayout& layout) = 0;

  // Running.

  // Decides all that does not depend on a step, and takes the memory of every step within the limits; programs share
  // it, since one runs at a time. Errors: as check; ResourceExhausted.
  virtual Result<ProgramId> compile(const Program& program) = 0;
  // `batch` and what it points to must live until the step's results are read.
  virtual void run(ProgramId program, const StepBatch& batch) = 0;
  // Errors: Internal (a device failed), ResourceExhausted; the step's results are then undefined.
  virtual Status wait() = 0;
  // After wait, until the next run: the activation's rows, [n rows of its row set, n_cols].
  virtual std::span<const float> read(ActId act) const = 0;
  // The same for the tokens that a ChooseOp chose, [n logit rows], or none; kNoToken where the caller has to choose
  // from the logits.
  virtual std::span<const TokenId> chosen() const { return {}; }
  // Whether a ChooseOp makes such a choice; a backend may leave all of them to the caller.
  virtual bool can_choose(const TokenChoice&) const { return false; }

  // The cache. One KV block of all layers, block_bytes() of them in the backend's own layout; between steps.

  virtual size_t block_bytes() const = 0;
  virtual void read_block(BlockId id, std::span<std::byte> bytes) const = 0;
  virtual void write_block(BlockId id, std::span<const std::byte> bytes) = 0;
  virtual void zero_block(BlockId id) = 0;
  // One block's bytes into another, without waiting, in the order of the steps.
  virtual void copy_block(BlockId from, BlockId to) = 0;
  // A block's keys and values of one layer as numbers, F32 [block_tokens, n_kv_heads, k_dim or v_dim];
  // between steps.
  virtual void read_kv(uint32_t layer, BlockId id, std::span<float> keys, std::span<float> values) const = 0;
  // read_block and write_block without waiting, in the order of the steps, to and from memory of allocate_host, which
  // lives as long as the backend; empty: there is none, or no more.
  virtual std::span<std::byte> allocate_host(size_t) { return {}; }
  virtual void save_block(BlockId id, std::span<std::byte> bytes) const { read_block(id, bytes); }
  virtual void restore_block(BlockId id, std::span<const std::byte> bytes) { write_block(id, bytes); }

  // A slot of the states of recurrent layers, state_bytes() of them; between steps. 0: the model has no such layers.

  virtual size_t state_bytes() const { return 0; }
  virtual void read_state(StateId, std::span<std::byte>) const {}
  virtual void write_state(StateId, std::span<const std::byte>) {}
  virtual void zero_state(StateId) {}

  // Telling.

  virtual BackendInfo info() const = 0;
  // No step will ever succeed again.
  virtual bool is_lost() const { return false; }
  virtual void set_trace(bool on) = 0;
  virtual std::span<const OpTiming> last_trace() const = 0;
  // Tells of the products of all steps that follow, in the order of the program, on one thread while the step waits; an
  // empty callback: of none. Errors: Unsupported, where activations cannot be seen.
  virtual Status watch_inputs(MatrixInputCallback) {
    return unsupported(info().name + ": what matrices are multiplied by can be seen on the CPU alone", "backend");
  }
};

}  // namespace realizar
