// From a body's bytes to what its dialect makes of it. Any thread.
#pragma once

#include <string>

#include "realizar/result.h"
#include "server/call/protocol.h"
#include "server/http/http.h"

namespace realizar::server {

// Notes on a body, for its call's record.
struct BodyNotes {
  std::string warning;    // of fields that nothing reads, and of what a schema's grammar does not hold
  double prepare_ms = 0;  // that the dialect's reader took
};

// Lets go of the body as soon as it is parsed. Errors: those of parse_json and of the dialect's reader; InvalidArgument
// for what is no object, and where the model gives no text and the dialect wants some.
Result<Prepared> read_body(HttpBody& body, const Protocol& protocol, const ServedModelPtr& model,
                           const RequestContext& context, BodyNotes& notes);

}  // namespace realizar::server
