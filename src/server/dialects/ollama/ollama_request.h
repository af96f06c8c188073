// The common part of requests to /api/chat and /api/generate.
#pragma once

#include <optional>
#include <string>

#include "server/call/chat_request.h"
#include "server/dialects/ollama/ollama.h"
#include "server/models/model_aliases.h"

namespace realizar::server {

struct OllamaRequest : ChatReading {
  OllamaRequest(const ServedModel& served, const RequestContext& asked);

  std::string model_name;     // the client's spelling
  ModelAliasPtr made;         // null: the name is not an alias
  bool truncates = true;      // a prompt that is too long is cut
  bool renders_only = false;  // the answer is the rendered prompt
  bool shifts = false;        // an answer continues when the context is full
  uint32_t max_context = 0;   // of prompt and answer; 0: the model's
  uint32_t n_keep = 4;        // tokens of a prompt's beginning that cutting leaves
  std::optional<KeepAlive> keep_alive;
};

// Errors: InvalidArgument naming the field, including requests for thinking that the model cannot do.
Status read_ollama_request(Fields& body, OllamaRequest& into);
KnownFields ollama_fields();

}  // namespace realizar::server
