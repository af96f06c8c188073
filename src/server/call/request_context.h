// A request from the viewpoint of its body's reader: who asks, when, with which server settings, and what the server
// keeps for them. Independent of connections, and easy to construct.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "server/http/auth.h"

namespace realizar::server {

class ModelAliases;
class ResponseStore;

using Clock = std::chrono::steady_clock;

struct RequestContext {
  std::string path;  // "/v1/embeddings"
  bool has_body = true;
  KeyDigest key{};                     // zeros if no key is required
  uint64_t tenant = 0;                 // whose share of the engine it uses
  bool may_set_keep_alive = false;     // it may set how long its model stays loaded
  std::string adapter;                 // named by the model's name; "": none
  float adapter_scale = 0;             // factor; 0: the adapter's own
  Clock::time_point start;             // of the body's end
  double load_ms = 0;                  // spent waiting for its model
  uint32_t max_prompt_tokens = 0;      // 0: the context
  uint32_t request_timeout_ms = 0;     // 0: none
  bool log_prompts = false;            // plans include the prompt's text
  bool llama_answers = false;          // ServerOptions::llama_answers
  ResponseStore* responses = nullptr;  // never null for readers of responses
  const ModelAliases* made = nullptr;  // never null for Ollama's, like the next
  // The id of the model with exactly that name, or with an adapter of that name. I/O thread.
  std::function<std::optional<std::string>(const std::string& name)> find_model;
  // Keeps the model with that id loaded for that time without use, nullopt: forever. Any thread; null: not permitted.
  std::function<void(const std::string& model_id, std::optional<std::chrono::milliseconds>)> keep_alive;
};

}  // namespace realizar::server
