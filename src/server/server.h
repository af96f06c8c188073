// realizar serve: models and the HTTP routes for them.
#pragma once

#include "realizar/result.h"
#include "server/call/options.h"

namespace realizar::server {

// Serves until SIGINT or SIGTERM, which lets running requests end, or a second one, which does not. Once the port is
// open, prints a line with the URL on standard output. Errors: those of the options; a failed load of the first model.
Status serve(const ServerOptions& options);

}  // namespace realizar::server
