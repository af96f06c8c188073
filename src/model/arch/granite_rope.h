// Granite models may have no rotations.
#pragma once

#include "model/arch/arch_spec.h"

namespace realizar {

Status read_granite_rope(const ConfigKeys& keys, ModelConfig& c);
void tell_granite_rope(const ModelConfig& c, KeyTeller& keys);
// For models with layers of Mamba 2, whose folders have a key too.
void tell_hybrid_rope(const ModelConfig& c, KeyTeller& keys);

}  // namespace realizar
