// The generation of one call: a plan's news go out as its reply, counted, measured and traced; and a whole reply
// that may be long is written in pieces, all but the first by workers, the next one not before the client has taken
// most of those before it. I/O thread.
#pragma once

#include "server/call/call.h"
#include "server/call/plan_run.h"
#include "server/http/json_pieces.h"

namespace realizar::server {

// A piece is small work, of which a worker's other clients wait for one at most.
inline constexpr size_t kPieceBytes = 64u << 10;
// Replies up to this have a Content-Length; of longer ones no more than this is there at a time.
inline constexpr size_t kMaxAtOnceBytes = 1u << 20;

// The head of a stream in that dialect.
HttpResponse stream_head(const Protocol& protocol);

// Answers the call with what `json` writes, as a 200. Errors: what is thrown where it is made.
Task<Status> send_json(Call& call, JsonPieces& json);

// Generates what `plan` says, and answers the call with it.
Task<Status> generate(Call& call, ServedModelPtr model, CompletionPlan plan);

}  // namespace realizar::server
