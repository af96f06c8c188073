// Granite's models may rotate nothing.
#pragma once

#include "model/arch/arch_spec.h"

namespace realizar {

Status read_granite_rope(const ConfigKeys& keys, ModelConfig& c);
void tell_granite_rope(const ModelConfig& c, KeyTeller& keys);
// The same of models with layers of Mamba 2, whose folders tell it too.
void tell_hybrid_rope(const ModelConfig& c, KeyTeller& keys);

}  // namespace realizar
