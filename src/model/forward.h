// The forward pass, written once for every architecture and device: a function of a model's config and of the handles
// of its weights.
#pragma once

#include "backend/program.h"
#include "model/model.h"
#include "model/model_config.h"

namespace realizar {

struct Forward {
  Program program;
  ActId hidden = kNoAct;  // [n_logit_rows, d_model], the final normalized hidden states
  ActId logits = kNoAct;  // [n_logit_rows, n_outputs(config)]; of an encoder without scores they are `hidden`
};

Forward build_forward(const ModelConfig& config, const Weights& weights);
// The same operations over weights that are not loaded yet, for Backend::check.
Program outline_forward(const ModelConfig& config);

}  // namespace realizar
