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
  // [batch.logit_rows.size(), n_vocab], valid after wait until the next encode.
  std::span<const float> logits() const;
  // The final normalized hidden states of the logit rows: [batch.logit_rows.size(), d_model].
  std::span<const float> hidden() const;

 private:
  struct Activations {
    ActId x, normed, q, k, v, attn, ff, router, expert_weights, expert_ids, selected, hidden, logits;
  };
  Decoder(const Model& model, Backend& backend, const Activations& acts)
      : model_(&model), backend_(&backend), acts_(acts) {}

  const Model* model_;
  Backend* backend_;
  Activations acts_;
};

}  // namespace realizar
