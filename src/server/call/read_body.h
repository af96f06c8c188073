// Reads a body's bytes in its dialect. Any thread.
#pragma once

#include <string>

#include "realizar/result.h"
#include "server/call/protocol.h"
#include "server/http/http.h"

namespace realizar::server {

// Notes about a body, for its call's record.
struct BodyNotes {
  std::string warning;    // about unused fields, and parts of a schema that are not enforced
  double prepare_ms = 0;  // spent in the dialect's reader
};

// Releases the body as soon as it is parsed. Errors: those of parse_json and of the dialect's reader; InvalidArgument
// if it is not an object, or if the model gives no text and the dialect requires it.
Result<Prepared> read_body(HttpBody& body, const Protocol& protocol, const ServedModelPtr& model,
                           const RequestContext& context, BodyNotes& notes);

}  // namespace realizar::server
