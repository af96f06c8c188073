// A whole reply that may be long: it is written in pieces, all but the first by workers, and the next one is not before
// the client has taken most of those before it.
#pragma once

#include "server/call/call.h"
#include "server/http/json_pieces.h"
#include "server/http/work_pool.h"

namespace realizar::server {

// A piece is small work, of which a worker's other clients wait for one at most.
inline constexpr size_t kPieceBytes = 64u << 10;
// Replies up to this have a Content-Length; of longer ones no more than this is there at a time.
inline constexpr size_t kMaxAtOnceBytes = 1u << 20;

// For clients that wait long anyway: it leaves the processor to everything else.
inline constexpr size_t kRestWorkBytes = WorkPool::kSmallBytes + 1;

// Answers the call with what `json` writes, as a 200. Errors: what is thrown where it is made.
Task<Status> send_json(Call& call, JsonPieces& json);
// Sends what is left of `json` in a reply that has begun. Errors: as above, and the call's interruption.
Task<Status> send_rest(Call& call, JsonPieces& json);

}  // namespace realizar::server
