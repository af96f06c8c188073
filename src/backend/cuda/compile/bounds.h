// The numbers of a model that the kernels have places for.
#pragma once

#include "backend/program.h"
#include "realizar/result.h"

namespace realizar::cuda {

// `is_shared`: devices share each layer. Errors: as Backend::check.
Status check_bounds(const Program& program, bool is_shared);

}  // namespace realizar::cuda
