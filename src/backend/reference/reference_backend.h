// The oracle: every operation, naive and scalar, one thread, sums in double. Never fast.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace realizar {

std::unique_ptr<Backend> make_reference_backend();

}  // namespace realizar
