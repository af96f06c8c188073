// The oracle: every operation, naive and scalar, one thread, sums in double. Never fast.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/exchange.h"

namespace realizar {

// `exchange`: between ranks that share programs, or null; it must outlive the backend.
std::unique_ptr<Backend> make_reference_backend(Exchange* exchange = nullptr);

}  // namespace realizar
