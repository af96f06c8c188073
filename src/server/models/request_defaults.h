// What requests have where they name nothing else, as the command line says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "realizar/request.h"

namespace realizar::server {

struct RequestDefaults {
  std::optional<uint64_t> seed;        // nullopt: a random one for each request
  std::optional<uint32_t> max_tokens;  // and no request gets more; nullopt: no bound
  std::optional<bool> reasoning;       // nullopt: as the template has it
  std::optional<uint32_t> reasoning_budget;
  std::optional<Pooling> pooling;         // of vectors; nullopt: the model's own
  bool context_shift = false;             // an answer whose context is full goes on without its oldest tokens
  bool verbose = false;                   // answers of chats tell their prompts, as `__verbose`
  bool reasoning_in_content = false;      // reasoning is told as a part of the answer
  std::string template_variables = "{}";  // chat_template_kwargs, as JSON
};

}  // namespace realizar::server
