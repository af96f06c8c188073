// Headers by which OpenAI's clients learn how much more they may ask, and how long an answer took. They tell what the
// server measures and nothing else: its limits are of requests under way, so that no time is known at which they are
// lifted, and there is none of tokens.
#pragma once

#include "server/call/call.h"

namespace realizar::server {

// Of the head of the reply to `call`, which ends with it where `is_whole`. x-ratelimit-*: of the caller's key where
// keys have a limit, else of the queue of the model, once that is known. openai-processing-ms: since the body was
// there.
Headers rate_limit_headers(const Call& call, bool is_whole);

}  // namespace realizar::server
