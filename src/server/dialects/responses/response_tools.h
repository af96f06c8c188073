// The tools of a request of the Responses API.
#pragma once

#include "server/dialects/responses/response_input.h"

namespace realizar::server {

// Errors of both: InvalidArgument naming the field.
// The functions and custom tools of a namespace become such with joined names.
Status read_response_tools(Fields& body, const char* name, ResponseReading& into);
Status read_response_choice(Fields& body, const char* name, ResponseReading& into);

}  // namespace realizar::server
