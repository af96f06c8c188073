// The settings with which a request is generated, in the format of llama.cpp's server.
#pragma once

#include "server/call/request_fields.h"
#include "server/http/json.h"

namespace realizar::server {

// Every parameter of the sampler chain under its name, stop, max_tokens and n_predict (-1: no limit), n_keep,
// n_discard, ignore_eos, stream, logit_bias ([{token, bias}]), n_probs, min_keep and samplers, the chain's in order.
Json generation_settings(const GenerationFields& fields);

}  // namespace realizar::server
