// Everything that calls share.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "server/call/answer_room.h"
#include "server/call/call.h"
#include "server/call/mcp_proxy.h"
#include "server/call/options.h"
#include "server/call/request_context.h"
#include "server/call/response_store.h"
#include "server/call/slots.h"
#include "server/models/blob_upload.h"
#include "server/models/model_aliases.h"
#include "server/models/model_card.h"
#include "server/models/model_downloads.h"
#include "server/models/model_events.h"
#include "server/watch/metrics_history.h"

namespace realizar::server {

class BackgroundRecords;
class ModelRegistry;
class ServerMetrics;
class SharedPrefixes;
class SlotFolder;
class TraceExporter;

// The part of a call that the reader of its body sees, valid as long as the call lives.
RequestContext request_context(const Call& call);

// Models made by clients of Ollama's API, and model cards read for them.
struct ClientModels {
  static constexpr uint32_t kMaxSearches = 4;  // at hubs

  explicit ClientModels(const LoadOptions& load) : cards(load) {}

  ModelAliases made;
  ModelCards cards;
  std::shared_ptr<SharedSlots> uploads = SharedSlots::create(BlobUpload::kMost);
  std::shared_ptr<SharedSlots> searches = SharedSlots::create(kMaxSearches);
};

struct ServerContext {
  const ServerOptions& options;
  HttpServer& http;
  ModelRegistry& models;
  ServerMetrics& metrics;
  ResponseStore& responses;
  BackgroundRecords& background;
  AccessLog* access_log = nullptr;  // null: none
  TraceExporter* traces = nullptr;  // null: no tracing
  bool draining = false;
  std::unique_ptr<ClientModels> client_models = std::make_unique<ClientModels>(options.load);
  std::unique_ptr<McpProxy> mcp = {};       // null: no servers are configured
  const SlotFolder* slot_folder = nullptr;  // null: slots are not saved
  SharedPrefixes* shared = nullptr;         // with other servers; null: none
  std::unique_ptr<SlotTable> slots = std::make_unique<SlotTable>();
  ModelEvents model_events = {};
  std::unique_ptr<ModelPulls> pulls = {};          // null: clients may not change the store; likewise the next
  std::unique_ptr<ModelDownloads> downloads = {};  // without a client that waits
  MetricsHistory history = {};
  Clock::time_point start = Clock::now();
  AnswerRoom answers{options.all_answers_bytes(), options.one_answer_bytes()};
  std::map<uint64_t, uint32_t> n_open = {};  // generating calls of each tenant that has any
  std::list<CallPtr> calls = {};             // in progress

  size_t n_under_way() const;
  uint32_t n_open_of(uint64_t tenant) const;
  // Calls f(call), which may end calls, for each.
  template <class F>
  void for_each_call(F f) {
    for (const CallPtr& call : std::vector<CallPtr>(calls.begin(), calls.end())) f(*call);
  }
};

template <class F>
void OnWorker<F>::await_suspend(std::coroutine_handle<> at) {
  call_.context.http.post_work(call_.client, n_body_bytes_, *this);
  call_.suspend(Call::Wait::kThread, at);
}

}  // namespace realizar::server
