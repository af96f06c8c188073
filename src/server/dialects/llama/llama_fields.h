// The fields of llama.cpp's own generating routes, except the prompt.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/call/choice.h"
#include "server/call/request_fields.h"
#include "server/call/timings.h"
#include "server/http/json.h"

namespace realizar::server {

struct LlamaFields {
  GenerationFields generation;
  LineRules lines;
  std::vector<std::string> response_fields;  // the only fields of the answer; empty: all
  Json settings;                             // generation_settings of the answer
  int64_t n_keep = 0;                        // prompt tokens that stay when the context is shifted; -1: all
  bool return_tokens = false;
  AnswerExtras extras;
};

// Errors: InvalidArgument naming the field, Unsupported.
Result<LlamaFields> read_llama_fields(const Json& body, const ServedModel& model, const RequestContext& context);
KnownFields llama_fields();

}  // namespace realizar::server
