// realizar serve: models and the HTTP routes that reach them.
#pragma once

#include "realizar/result.h"
#include "server/call/options.h"

namespace realizar::server {

// Serves until SIGINT or SIGTERM, which lets running requests end, or a second one, which does not. Once the port is
// open, standard output gets a line with the URL. Errors: those of the options; a failed load of the first model.
Status serve(const ServerOptions& options);

}  // namespace realizar::server
