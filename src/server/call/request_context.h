// A request as the reader of its body sees it: who asks, when, by which of the server's settings, and what the server
// keeps for them. It knows no connection, and anyone can make one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "server/http/auth.h"

namespace realizar::server {

class MadeModels;
class ResponseStore;

using Clock = std::chrono::steady_clock;

struct RequestContext {
  std::string path;  // "/v1/embeddings"
  bool has_body = true;
  KeyDigest key{};                     // zeros where no key is asked for
  uint64_t tenant = 0;                 // whose share of the engine it uses
  bool may_set_keep_alive = false;     // it may say how long its model stays loaded
  std::string adapter;                 // that the model's name asks for; "": none
  float adapter_scale = 0;             // on what it adds; 0: its own
  Clock::time_point start;             // of the body's end
  double load_ms = 0;                  // for which it waited for its model
  uint32_t max_prompt_tokens = 0;      // 0: the context
  uint32_t request_timeout_ms = 0;     // 0: none
  bool log_prompts = false;            // plans have the prompt's text
  bool llama_answers = false;          // ServerOptions::llama_answers
  ResponseStore* responses = nullptr;  // never null for the readers of responses
  const MadeModels* made = nullptr;    // never null for Ollama's, as the next
  // The id of the model that has exactly that name, or of which it names an adapter. I/O thread.
  std::function<std::optional<std::string>(const std::string& name)> find_model;
  // Keeps the model of that id loaded without use for that time, nullopt: for ever. Any thread; null: nobody may.
  std::function<void(const std::string& model_id, std::optional<std::chrono::milliseconds>)> keep_alive;
};

}  // namespace realizar::server
