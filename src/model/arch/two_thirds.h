// Widths of ffns of which config.json may ask for two thirds, in multiples of a number (LFM2, Refact).
#pragma once

#include "model/arch/arch_spec.h"

namespace realizar {

Status adjust_d_ff(const ConfigKeys& keys, ModelConfig& c);
void tell_adjusted_d_ff(const ModelConfig& c, KeyTeller& keys);

}  // namespace realizar
