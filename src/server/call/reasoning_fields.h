// Fields that control a chat's reasoning, in the spellings of OpenAI, llama.cpp, vLLM, Qwen and Anthropic.
#pragma once

#include "api/reasoning_plan.h"
#include "server/http/field_table.h"
#include "server/models/model_serving.h"

namespace realizar::server {

// An effort that `into` already has is kept. Errors: InvalidArgument naming the field.
Status read_reasoning(Fields& body, ReasoningOptions& into);
KnownFields reasoning_fields();

// Adds the server's defaults for fields that the request does not set.
ReasoningOptions with_defaults(ReasoningOptions asked, const RequestDefaults& defaults);

}  // namespace realizar::server
