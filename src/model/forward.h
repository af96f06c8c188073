// The forward pass, written once for all architectures and devices: a function of a model's config and weight handles.
#pragma once

#include "backend/program.h"
#include "model/model.h"
#include "model/model_config.h"

namespace realizar {

struct Forward {
  Program program;
  ActId hidden = kNoAct;  // [n_logit_rows, d_model], hidden states after the final norm
  ActId logits = kNoAct;  // [n_logit_rows, n_outputs(config)]; `hidden` for an encoder without scores
};

Forward build_forward(const ModelConfig& config, const Weights& weights);
// The program before weights are loaded, for Backend::check().
Program outline_forward(const ModelConfig& config);

}  // namespace realizar
