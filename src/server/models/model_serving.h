// How a server's models are loaded, how long they stay, and the default values of their requests.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "realizar/options.h"
#include "realizar/request.h"
#include "realizar/result.h"

namespace realizar {
struct LoadedModel;
}

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

struct ModelServing {
  LoadOptions load;
  uint32_t max_queue = 256;         // waiting requests for each model
  uint64_t memory_bytes = 0;        // for all loaded models, and an eighth of it for answers; 0: unlimited
  uint32_t max_loaded = 0;          // models at the same time; 0: unlimited
  bool autoload = true;             // requests load models; otherwise the first one is not loaded at the start either
  bool preload = true;              // the first model is loaded at the start
  bool strict_model_names = false;  // a model that is the only one only answers to its own names
  std::function<Status(LoadedModel&)> adapt = {};  // applied to every loaded model before it is used; any thread
  RequestDefaults defaults = {};
};

}  // namespace realizar::server
