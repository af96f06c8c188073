// Work memory of operations: activations and intermediate results. Shared by programs, since one runs at a time.
#pragma once

#include <span>
#include <vector>

#include "backend/cpu/matmul.h"
#include "backend/cpu/plan.h"

namespace realizar::cpu {

class Scratch {
 public:
  explicit Scratch(const KernelTable& kernels) : kernels_(kernels) {}
  void configure(const BackendLimits& limits, uint32_t n_members) {
    limits_ = limits;
    members_.resize(n_members);
  }
  // Grows to these sizes; contents are lost. Errors: ResourceExhausted.
  Status fit(const ScratchSizes& sizes);
  size_t n_bytes() const;

  std::byte* activations() const { return activations_.as<std::byte>(); }
  float* rotations() const { return rotations_.as<float>(); }  // [max rows, rotation_cols / 2, (cos, sin)]
  float* parts() const { return parts_.as<float>(); }
  float* hidden() const { return hidden_.as<float>(); }                                // [slots, hidden_cols]
  float* partial() const { return partial_.as<float>(); }                              // [slots, expert_cols]
  std::span<float> joins() const { return {joins_.as<float>(), sizes_.join_floats}; }  // parts of a sum from all ranks
  size_t rotation_cols() const { return sizes_.rotation_cols; }
  float* head_parts() const { return head_parts_.as<float>(); }  // [rows, heads, head_cols]
  PreparedRows& prepared_heads() { return prepared_heads_; }
  PreparedRows& prepared() { return prepared_; }  // of one activation at a time
  PreparedRows& prepared_hidden() { return prepared_hidden_; }
  // A member's work memory: for products, for the sums of two of them, and for one attention task.
  ProductScratch products(uint32_t member) const {
    auto* tile = members_[member].products.as<std::byte>();
    return {tile, tile + kTileBytes};
  }
  float* accumulators(uint32_t member, uint32_t which) const {
    return members_[member].sums.as<float>() + which * n_sums();
  }
  std::byte* tile(uint32_t member) const { return products(member).tile; }
  float* attention(uint32_t member) const { return members_[member].attention.as<float>(); }

 private:
  struct Member {
    Pages products, sums, attention;
  };
  uint32_t n_rows() const { return std::max(limits_.max_rows, limits_.max_logit_rows); }
  size_t n_sums() const { return size_t{max_sum_rows(kernels_, n_rows())} * kPairRows; }

  const KernelTable& kernels_;
  BackendLimits limits_;
  ScratchSizes sizes_;
  Pages activations_, rotations_, parts_, hidden_, partial_, head_parts_, joins_;
  PreparedRows prepared_, prepared_hidden_, prepared_heads_;
  std::vector<Member> members_;
};

}  // namespace realizar::cpu
