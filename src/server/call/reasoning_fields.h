// How long a chat may make its model think, in the spellings of OpenAI, llama.cpp, vLLM, Qwen and Anthropic.
#pragma once

#include "api/reasoning_plan.h"
#include "server/http/field_table.h"
#include "server/models/request_defaults.h"

namespace realizar::server {

// An effort that `into` has already is kept. Errors: InvalidArgument naming the field.
Status read_reasoning(Fields& body, ReasoningOptions& into);
KnownFields reasoning_fields();

// Takes from the server what the request leaves open.
ReasoningOptions with_defaults(ReasoningOptions asked, const RequestDefaults& defaults);

}  // namespace realizar::server
