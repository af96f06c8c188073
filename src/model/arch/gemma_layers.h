// Traits that Gemma 3n and 4 share, and one of the larger models of Gemma 2 and 3.
#pragma once

#include "model/arch/arch_spec.h"

namespace realizar {

// Per-layer embeddings, normalized values, q.k without a factor, and last layers that share the keys and values of an
// earlier one, some with ffns of twice the width.
Status read_gemma_layers(const ConfigKeys& keys, ModelConfig& c);
void tell_gemma_layers(const ModelConfig& c, KeyTeller& keys);
// Divides q.k by sqrt(d_model / n_heads) instead of sqrt(head_dim).
void scale_by_width(ModelConfig& c);

}  // namespace realizar
