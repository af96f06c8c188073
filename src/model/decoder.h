// The forward pass, written once: for a batch of rows it tells the backend which operations to run. Owns its activation
// handles; allocates and branches on a device never.
#pragma once

#include <memory>
#include <span>

#include "backend/backend.h"
#include "backend/step_batch.h"
#include "model/model.h"
#include "realizar/result.h"

namespace realizar {

class Decoder {
 public:
  // `model` and `backend` must outlive it. Creates the activation buffers.
  static Result<Decoder> create(const Model& model, Backend& backend);

  // begin, all operations, submit. `batch` must live until wait.
  void encode(const StepBatch& batch);
  Status wait();
  // Takes the memory that steps with such rows need, and computes nothing. Errors: as Backend::reserve.
  Status reserve(const StepBatch& batch);
  // [batch.logit_rows.size(), n_vocab], valid after wait until the next encode.
  std::span<const float> logits() const;
  // The final normalized hidden states of the logit rows: [batch.logit_rows.size(), d_model].
  std::span<const float> hidden() const;
  // Tokens after the logit rows, where the batch had choices and the backend makes them; kNoToken where it did not.
  std::span<const TokenId> chosen() const;

 private:
  Decoder(const Model& model, Backend& backend) : model_(&model), backend_(&backend) {}

  void tell_operations(const StepBatch& batch);
  void layer(uint32_t i);
  void attention(uint32_t i);
  void ffn(uint32_t i);
  void experts(uint32_t i);
  void head();
  void norm(ActId out, ActId in, WeightId weight, WeightId bias, OpPlace place);
  void add_branch(ActId in, WeightId weight, WeightId bias, WeightId post_norm, OpPlace place);

  const Model* model_;
  Backend* backend_;
  ActId x_ = kNoAct;               // [n_rows, d_model], the residual stream
  ActId normed_ = kNoAct;          // [n_rows, d_model]
  ActId branch_ = kNoAct;          // [n_rows, d_model], a branch before its own norm
  ActId q_ = kNoAct;               // [n_rows, n_heads * head_dim]
  ActId k_ = kNoAct;               // [n_rows, n_kv_heads * head_dim]
  ActId v_ = kNoAct;               // as k_
  ActId attended_ = kNoAct;        // as q_
  ActId ff_ = kNoAct;              // [n_rows, d_ff]
  ActId router_logits_ = kNoAct;   // [n_rows, n_experts]
  ActId expert_weights_ = kNoAct;  // [n_rows, n_used]
  ActId expert_ids_ = kNoAct;      // [n_rows, n_used]
  ActId hidden_ = kNoAct;          // [n_logit_rows, d_model]
  ActId logits_ = kNoAct;          // [n_logit_rows, n_vocab]
};

}  // namespace realizar
