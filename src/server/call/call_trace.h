// The data of an ended call for its trace.
#pragma once

#include "server/watch/otlp.h"

namespace realizar::server {

class Call;

// The call has a span and a route. Its times are those of its record.
RequestTrace trace_of(const Call& call, int status);

}  // namespace realizar::server
