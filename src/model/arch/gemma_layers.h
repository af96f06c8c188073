// Traits that the layers of Gemma 3n and 4 have in common, and the larger models of Gemma 2 and 3.
#pragma once

#include "model/arch/arch_spec.h"

namespace realizar {

// Tables of the layers' own; normalized values, scores that no factor scales, and last layers that attend to what an
// earlier one keeps, some with ffns of twice the width.
Status read_gemma_layers(const ConfigKeys& keys, ModelConfig& c);
void tell_gemma_layers(const ModelConfig& c, KeyTeller& keys);
// q.k is divided by sqrt(d_model / n_heads), not by sqrt(head_dim).
void scale_by_width(ModelConfig& c);

}  // namespace realizar
