// What every route can reach, and one call on its way through them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "server/auth.h"
#include "server/http.h"
#include "server/http_server.h"
#include "server/metrics_history.h"
#include "server/model_registry.h"
#include "server/options.h"
#include "server/response_store.h"

namespace realizar::server {

class AccessLog;
class Completion;
class ServerMetrics;

using Clock = std::chrono::steady_clock;

struct ServerContext {
  const ServerOptions& options;
  HttpServer& http;
  ModelRegistry& models;
  ServerMetrics& metrics;
  ResponseStore& responses;
  std::unordered_set<Completion*> streaming;  // those that want a ping where nothing else is sent
  bool draining = false;
  const AccessLog* access_log = nullptr;
  MetricsHistory history = {};
  Clock::time_point start = Clock::now();
};

// What the access log says of a call beside its HTTP side.
struct CallRecord {
  std::string model;
  uint32_t n_prompt = 0, n_cached = 0, n_generated = 0;
  double queue_ms = 0, prefill_ms = 0, first_token_ms = 0, decode_ms = 0;
  std::string finish_reason;
  struct Counts {
    uint32_t n_prompt, n_cached, n_generated;
  };
  std::vector<Counts> prompts;  // of each, where there are several
  std::string prompt;           // only where prompts are logged
  std::string warning;          // for the client too, in a header: printable ASCII
};

struct Call {
  ServerContext& context;
  std::shared_ptr<const HttpRequest> request;
  std::shared_ptr<HttpBody> body;  // for whoever reads it, who lets go of it then
  std::shared_ptr<Reply> reply;
  std::string id;       // X-Request-Id
  KeyDigest key{};      // of the API key; zeros where none is asked for
  uint64_t tenant = 0;  // whose share of the engine it uses
  Clock::time_point start;
  std::shared_ptr<CallRecord> record;
  std::string path_id = {};  // what stands in the request's path for the name in braces of its route's
  std::string client = {};   // whose turn its work takes: its key's, or its connection's where no key is asked for
};

}  // namespace realizar::server
