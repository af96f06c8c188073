// The generation for one call: the updates of a plan are sent as its reply, counted, measured and traced; a whole reply
// that may be long is written in pieces, all but the first by workers, each only after the client has taken most of the
// previous ones. I/O thread.
#pragma once

#include "server/call/call.h"
#include "server/call/plan_run.h"
#include "server/http/json_pieces.h"

namespace realizar::server {

// A piece is a small unit of work: a worker's other clients wait for at most one.
inline constexpr size_t kPieceBytes = 64u << 10;
// Replies up to this size have a Content-Length; of longer ones no more than this is in memory at a time.
inline constexpr size_t kMaxAtOnceBytes = 1u << 20;

// The head of a stream in that dialect.
HttpResponse stream_head(const Protocol& protocol);

// Answers the call with the content of `json`, as a 200. Errors: exceptions while it is made.
Task<Status> send_json(Call& call, JsonPieces& json);

// Generates the answers of `plan`, and sends them as the call's reply.
Task<Status> generate(Call& call, ServedModelPtr model, CompletionPlan plan);

}  // namespace realizar::server
