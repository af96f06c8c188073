// Default values of requests, from the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "realizar/request.h"

namespace realizar::server {

struct RequestDefaults {
  std::optional<uint64_t> seed;        // nullopt: a random one for each request
  std::optional<uint32_t> max_tokens;  // also the maximum for all requests; nullopt: no limit
  std::optional<bool> reasoning;       // nullopt: the template's default
  std::optional<uint32_t> reasoning_budget;
  std::optional<Pooling> pooling;         // of vectors; nullopt: the model's own
  bool context_shift = false;             // an answer in a full context continues without its oldest tokens
  bool verbose = false;                   // answers of chats contain their prompts, as `__verbose`
  bool reasoning_in_content = false;      // reasoning is part of the answer's text
  std::string template_variables = "{}";  // chat_template_kwargs, as JSON
};

}  // namespace realizar::server
