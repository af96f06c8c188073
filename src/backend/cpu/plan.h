// A program as the team executes it: layout of activations, work that operations share, and sizes of work memory.
// Decided once, when the program is compiled.
#pragma once

#include <vector>

#include "backend/act_layout.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/weight_store.h"

namespace realizar::cpu {

inline constexpr uint32_t kMaxExperts = 1024;    // per layer
inline constexpr uint32_t kMaxUsedExperts = 32;  // per token

struct Hints {
  bool prepares = true;    // the input is not prepared yet
  bool rotates = true;     // the rotations of the step's positions are not computed yet
  bool barrier = true;     // the next operation depends on this one's output
  uint32_t units_idx = 0;  // for attention: index into Plan::unit_rows
};

struct PlannedOp {
  Op op;
  Hints hints;
};

// Sizes of work memory for the largest steps within the limits.
struct ScratchSizes {
  size_t n_ops = 0;
  size_t activation_bytes = 0;
  uint32_t prepared_cols = 0;   // widest activation that a product reads in prepared form
  uint32_t rotation_cols = 0;   // most rotated dimensions per head
  size_t attention_floats = 0;  // per task
  size_t part_floats = 0;       // parts of all decode rows
  size_t n_units_lists = 0;
  uint32_t n_used = 0;                // experts per token
  uint32_t hidden_cols = 0;           // width of an expert's hidden rows
  uint32_t prepared_hidden_cols = 0;  // of those read in prepared form
  uint32_t expert_cols = 0;           // width of its outputs
  uint32_t n_head_slots = 0;          // heads per row with products of their own
  uint32_t head_cols = 0;             // of those that are gathered first
  uint32_t prepared_head_cols = 0;    // of those read in prepared form
  size_t join_floats = 0;             // parts of a sum from all ranks; in a plan, from one rank
};
// The maximum of each size.
ScratchSizes larger(const ScratchSizes& a, const ScratchSizes& b);

struct Plan {
  ActLayout acts;
  std::vector<PlannedOp> ops;
  std::vector<uint32_t> unit_rows;  // rows of an attention unit: each number used by an operation
  ScratchSizes scratch;
  bool has_adapters = false;
};

// Errors: Unsupported, by name, for operations beyond this backend's limits.
Status check_bounds(const Program& program);
// Precondition: check_bounds.
Plan make_plan(const Program& program, const KernelTable& kernels, const WeightStore& weights,
               const BackendLimits& limits);

}  // namespace realizar::cpu
