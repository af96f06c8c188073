// All options of `realizar serve`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mcp/client.h"
#include "server/http/http_server.h"
#include "server/models/model_serving.h"
#include "server/models/model_source.h"
#include "server/models/model_store.h"

namespace realizar::server {

struct ServerOptions : ModelServing {
  HttpOptions http;
  std::vector<ModelSource> models;            // the first is loaded at the start
  uint32_t max_requests_per_key = 0;          // running and waiting; 0: unlimited
  uint32_t max_prompt_tokens = 0;             // 0: the context
  uint32_t request_timeout_ms = 0;            // from arrival to the end; 0: none
  uint32_t ping_interval_s = 15;              // between signs of life in an otherwise silent stream; 0: none
  uint32_t drain_timeout_ms = 30'000;         // for running requests after SIGTERM
  uint32_t stall_timeout_ms = 60'000;         // without progress of an engine that has requests: the server is then not
                                              // ready
  uint64_t max_answer_bytes = 64ull << 20;    // of one request's whole answers, counted as in answer_room.h
  uint64_t max_answers_bytes = 256ull << 20;  // of all together, without the first 64 KB of each request
  uint32_t sleep_idle_s = 0;                  // an unused model is unloaded after this time; 0: never
  std::string api_keys_file;                  // one key per line
  std::vector<std::string> api_keys;          // in addition to the file's; if there are none at all, no key is required
  // If no key is required, clients on the server's own machine may change it for others.
  bool clients_manage = false;
  std::vector<std::string> cors_origins;
  std::vector<std::string> allowed_hosts;  // names by which clients may reach it, in addition to the automatic ones
  std::string access_log;                  // a file, "-" for standard error; empty: none
  bool log_prompts = false;
  std::string cache_dir;                          // keeps cached prefixes across restarts; empty: none
  uint64_t cache_dir_bytes = 1ull << 30;          // for each model
  bool wipe_cache = false;                        // zero and remove everything kept so far, before any model is loaded
  std::string cache_url;                          // of a Redis that shares prefixes with other servers; empty: none
  std::string cache_password_file;                // for it; empty: no password
  uint32_t cache_ttl_s = 24 * 60 * 60;            // after which it drops entries
  uint32_t cache_wait_ms = 0;                     // maximum wait of a request; 0: as long as computing would take
  std::string slot_save_path;                     // where clients may save slots; empty: not allowed
  uint64_t slot_save_bytes = 4ull << 30;          // for each key
  uint64_t stored_responses_bytes = 64ull << 20;  // in memory, for previous_response_id; a quarter for each tenant
  std::string kv_events;                          // endpoint for events of KV blocks; empty: none
  std::string kv_events_replay;                   // endpoint for replaying them; empty: none
  std::string kv_events_topic;                    // of their messages
  std::string lora_dir;                           // of adapters that clients may load and unload; empty: not allowed
  bool trace_operations = false;                  // clients may request the times of their requests' operations
  std::vector<mcp::ServerSource> mcp_servers;     // whose tools the chat page may call
  mcp::ClientOptions mcp;
  std::shared_ptr<const ModelStore> store;  // null: none
  // Finds the current models, for GET /models?reload=1; null: they never change.
  std::function<Result<std::vector<ModelSource>>()> find_models = {};
  bool llama_answers = false;  // where llama-server's answers differ from OpenAI's API, uses llama-server's
  // Finds a model that the owner names, which is served from then on; null: only those of the start.
  std::function<Result<ModelSource>(const std::string& given)> find_model = {};
  uint32_t exit_idle_s = 0;            // the server ends after this time without a request; 0: never
  std::function<void()> on_stop = {};  // called at the first signal to stop
  std::string otlp_endpoint;           // of a trace collector; "": none
  bool metrics = true;
  bool open_metrics = false;  // GET /metrics needs no key
  bool slots = true;          // GET /slots
  bool page = true;

  uint64_t all_answers_bytes() const {
    return memory_bytes == 0 ? max_answers_bytes : std::min(max_answers_bytes, memory_bytes / 8);
  }
  uint64_t one_answer_bytes() const { return std::min(max_answer_bytes, all_answers_bytes()); }
};

}  // namespace realizar::server
