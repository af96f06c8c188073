// Declarations shared by the headers of all layer kinds.
#pragma once

#include <cstdint>

#include "backend/op_types.h"
#include "backend/state_layout.h"
#include "realizar/result.h"

namespace realizar {

class LayerBuilder;
class TensorBinder;
enum class Dim : uint8_t;

}  // namespace realizar
