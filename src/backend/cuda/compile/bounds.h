// The numbers of a model that the kernels have places for.
#pragma once

#include "backend/program.h"
#include "realizar/result.h"

namespace realizar::cuda {

// Errors: as Backend::check.
Status check_bounds(const Program& program);

}  // namespace realizar::cuda
