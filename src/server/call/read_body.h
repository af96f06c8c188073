// Reads a body's bytes in its dialect. Any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "realizar/result.h"
#include "server/call/protocol.h"
#include "server/http/http.h"
#include "server/http/json.h"

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

// Unused fields of a body that look like typos: "'temprature' is not a field; did you mean 'temperature'?",
// concatenated for all of them. `body` is an object.
std::string field_warnings(const Json& body);

// The names of all fields in any dialect, sorted: these are not typos.
const std::vector<std::string>& known_fields();

// Schema keywords that are not enforced: "The answer is not held to '#/properties/tags/uniqueItems' of its schema."
std::string schema_warning(std::span<const std::string> left_out);

}  // namespace realizar::server
