// A program as the team executes it: where its activations lie, what each operation saves its neighbours, and how much
// memory its steps compute in. Decided once, when the program is compiled.
#pragma once

#include <vector>

#include "backend/act_layout.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/weight_store.h"

namespace realizar::cpu {

inline constexpr uint32_t kMaxExperts = 1024;    // of a layer
inline constexpr uint32_t kMaxUsedExperts = 32;  // by a token

struct Hints {
  bool prepares = true;    // the input's prepared rows are not there yet
  bool rotates = true;     // the rotations of the step's positions are not there yet
  bool barrier = true;     // the next operation needs what this one made
  uint32_t units_idx = 0;  // of attention: which of Plan::unit_rows its units have
};

struct PlannedOp {
  Op op;
  Hints hints;
};

// What steps compute in, for as many rows as the limits allow.
struct ScratchSizes {
  size_t n_ops = 0;
  size_t activation_bytes = 0;
  uint32_t prepared_cols = 0;   // of the widest activation that a product reads prepared
  uint32_t rotation_cols = 0;   // dimensions of a head that are rotated, at most
  size_t attention_floats = 0;  // of one task
  size_t part_floats = 0;       // of the parts of all decode rows
  size_t n_units_lists = 0;
  uint32_t n_used = 0;                // experts of a token
  uint32_t hidden_cols = 0;           // of an expert's hidden rows
  uint32_t prepared_hidden_cols = 0;  // of those that are read prepared
  uint32_t expert_cols = 0;           // of its outputs
  uint32_t n_head_slots = 0;          // heads of a row that have products of their own
  uint32_t head_cols = 0;             // of those that are brought together first
  uint32_t prepared_head_cols = 0;    // of those that are read prepared
  size_t join_floats = 0;             // of ranks' parts of a sum; in a plan those of one rank
};
// As large as each of the two.
ScratchSizes larger(const ScratchSizes& a, const ScratchSizes& b);

struct Plan {
  ActLayout acts;
  std::vector<PlannedOp> ops;
  std::vector<uint32_t> unit_rows;  // rows of an attention unit: each number that operations want
  ScratchSizes scratch;
  bool has_adapters = false;
};

// Errors: Unsupported, by name, where the operations are more than this backend does.
Status check_bounds(const Program& program);
// Precondition: check_bounds.
Plan make_plan(const Program& program, const KernelTable& kernels, const WeightStore& weights,
               const BackendLimits& limits);

}  // namespace realizar::cpu
