// Ffn widths that config.json may reduce to two thirds, rounded to a multiple (LFM2, Refact).
#pragma once

#include "model/arch/arch_spec.h"

namespace realizar {

Status adjust_d_ff(const ConfigKeys& keys, ModelConfig& c);
void tell_adjusted_d_ff(const ModelConfig& c, KeyTeller& keys);

}  // namespace realizar
