// The models of one server: named at the start, loaded when first used, unloaded least recently used when memory is
// wanted. Each has its own engine and thread. All calls on the I/O thread.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/loaded_model.h"
#include "engine/engine_thread.h"
#include "realizar/result.h"
#include "server/prefix_keeper.h"
#include "server/structured_output.h"
#include "text/output/output_format.h"

namespace realizar::server {

struct ModelSource {
  std::string id;    // as clients name it
  std::string path;  // .gguf, folder or .safetensors
};

// A model that answers. Lives as long as a request holds it; its prefixes are kept then, where that is wanted.
struct ServedModel {
  ServedModel() = default;
  ~ServedModel() { close(); }
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  std::string id;
  std::unique_ptr<LoadedModel> loaded;
  PrefixKeeper* prefixes = nullptr;  // null: its prefixes are not kept
  text::OutputFormat output_format;
  std::unique_ptr<GrammarCache> grammars;
  std::unique_ptr<EngineThread> thread;  // last: it must end before what it runs on

  // Ends its engine's thread and keeps its prefixes.
  void close();
  const text::Tokenizer& tokenizer() const { return *loaded->tokenizer; }
  uint64_t n_bytes() const { return loaded->info.weight_bytes + loaded->info.kv_bytes; }
};
using ServedModelPtr = std::shared_ptr<ServedModel>;

struct RegistryOptions {
  LoadOptions load;
  uint32_t max_queue = 256;                            // requests that wait for each model
  uint64_t memory_bytes = 0;                           // for weights and caches of all models; 0: no bound
  PrefixKeeper* prefixes = nullptr;                    // over restarts; must outlive all models; null: none
  std::function<void()> on_progress;                   // a stream of some model has news; any thread
  std::function<void(std::function<void()>)> post_io;  // runs a task on the I/O thread; any thread
};

class ModelRegistry {
 public:
  enum class State { kUnloaded, kLoading, kReady, kFailed };
  struct Entry {
    ModelSource source;
    State state = State::kUnloaded;
    double progress = 0;   // of loading, 0 to 1
    std::string error;     // why loading failed
    ServedModelPtr model;  // while it is ready
    std::chrono::steady_clock::time_point last_used;
    std::chrono::system_clock::time_point created;  // of the file
  };
  using Then = std::function<void(Result<ServedModelPtr>)>;

  ModelRegistry(std::vector<ModelSource> sources, RegistryOptions options);
  // Stops what is being loaded.
  ~ModelRegistry();

  // Gives the model to `then`, at once if it is ready, else when it has been loaded. "": the first model. Errors:
  // NotFound; ResourceExhausted where memory is wanted and all models are busy; those of loading.
  void acquire(const std::string& id, Then then);
  const std::list<Entry>& entries() const { return entries_; }
  const Entry* find(const std::string& id) const;
  // Calls every stream that has news.
  void dispatch();
  bool any_ready() const;
  // The device of some model has failed for good: only a new process helps.
  bool any_lost() const;
  // The engine of some model has requests and has made no progress for that time.
  bool any_stalled(std::chrono::milliseconds patience) const;
  // Requests that some engine still has.
  uint32_t n_open() const;
  void drain();

 private:
  struct Waiting {
    std::string id;
    Then then;
  };

  Entry* find_entry(const std::string& id);
  Status make_room(const Entry& wanted);
  void load(Entry& entry);
  void on_loaded(Entry& entry, Result<std::unique_ptr<LoadedModel>> loaded);

  RegistryOptions options_;
  std::list<Entry> entries_;
  std::vector<Waiting> waiting_;
  std::vector<std::weak_ptr<ServedModel>> retired_;  // unloaded, but still held by requests
  std::vector<std::thread> loaders_;
  std::shared_ptr<std::atomic<bool>> stopping_;
};

}  // namespace realizar::server
