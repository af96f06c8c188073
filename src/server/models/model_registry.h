// The models of one server: named at the start or found later, loaded when first used, unloaded least recently used
// first when memory is needed. Each has its own engine and thread. All calls on the I/O thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "realizar/result.h"
#include "server/models/model_list.h"
#include "server/models/model_serving.h"

namespace realizar::server {

class PrefixKeeper;

struct RegistryOptions : ModelServing {
  std::function<uint64_t()> n_answer_bytes = {};        // that count towards memory_bytes; null: none
  std::optional<std::chrono::milliseconds> keep_alive;  // of every model when it is loaded
  PrefixKeeper* prefixes = nullptr;                     // over restarts; must outlive all models; null: none
  bool hash_weights = false;                            // even if no prefixes are kept
  uint32_t retry_ms = 5000;                             // the wait before a model that failed to load is tried again
  uint32_t stop_timeout_ms = 5000;                      // for loads to end when the registry does
  std::function<Result<std::unique_ptr<LoadedModel>>(const std::string&, const LoadOptions&)> load_model =
      LoadedModel::load;
  // The memory that a model will need. If unknown, the files' size counts, and loading reports the reason.
  std::function<Result<uint64_t>(const std::string&, const LoadOptions&)> needed_bytes = LoadedModel::needed_bytes;
  // Called after kept prefixes were restored and before the engine's thread begins. Any thread.
  std::function<void(ServedModel&)> watch = {};
  std::function<void()> on_progress;                   // a stream of some model has updates; any thread
  std::function<void(std::function<void()>)> post_io;  // runs a task on the I/O thread; any thread
};

class ModelRegistry final : public ModelList {
 public:
  using Then = std::function<void(const Result<ServedModelPtr>&)>;

  ModelRegistry(std::vector<ModelSource> sources, RegistryOptions options);
  // Stops loads; one that does not stop in time is abandoned.
  ~ModelRegistry();
  ModelRegistry(const ModelRegistry&) = delete;
  ModelRegistry& operator=(const ModelRegistry&) = delete;

  // Passes the model to `then`, which must not throw: at once if it is ready, otherwise when it has been loaded. `id`
  // as in find(). Errors: NotFound; ResourceExhausted if memory is needed and all models are busy, or if too many
  // requests wait for the model, unless the tenant has a claim to the slot of another waiting request; told_failure()
  // if it cannot be loaded, or failed a short while ago. Returns a ticket for forget().
  uint64_t acquire(const std::string& id, uint64_t tenant, Then then);
  // Cancels `then`, unless it was already called.
  void forget(uint64_t ticket) {
    std::erase_if(waiting_, [&](const Waiting& one) { return one.ticket == ticket; });
  }
  // Counts of models from before they were unloaded.
  const PastCountsOfModels& past_counts() const { return past_counts_; }
  // Keeps prefixes over restarts; null: they are not kept.
  const PrefixKeeper* prefixes() const { return options_.prefixes; }
  // Some model has been ready at some time, or none is loaded before it is requested.
  bool has_been_ready() const { return !options_.autoload || !options_.preload || has_served_; }

  // Sets how long the ready model of that id stays loaded without use; nullopt: without limit, the default when a model
  // is loaded.
  void keep_alive(const std::string& id, std::optional<std::chrono::milliseconds> duration);
  // Unloads models that have been idle for their keep_alive; to be called every second.
  void unload_idle();

  // Loads a model, or does so when memory becomes free. Errors: NotFound; InvalidArgument if it is loaded or being
  // loaded; those of acquire.
  Status load_now(const std::string& id, uint64_t tenant);
  // Unloads a model as soon as nobody uses it. Errors: NotFound; InvalidArgument if it is not loaded.
  Status unload_now(const std::string& id);
  // Removes a model: its name at once, the model when nobody uses it. Errors: NotFound.
  Status remove(const std::string& id);
  // Adds a model, or replaces one of the same id and keeps its aliases and tags.
  void put(ModelSource source);
  // Removes models that are not among these or have changed on the disk, and adds new ones.
  void set_sources(std::vector<ModelSource> sources);

 private:
  // A model that is unloaded to make room for another.
  struct Evicted {
    Entry* entry;
    ServedModelPtr model;
    PastCounts counts = {};
  };
  // A request that waits for a model to be loaded: a limited number for each model, shared among tenants like an
  // engine's queue.
  struct Waiting {
    uint64_t ticket, tenant;
    const Entry* entry;
    Then then;
  };

  void take_away(std::list<Entry>::iterator entry);
  Status make_room(const Entry& entry, uint64_t tenant);
  bool is_wanted(const Entry& entry) const;
  void tell(const Entry& entry, const Result<ServedModelPtr>& outcome);
  Status start_loading(Entry& entry, uint64_t tenant);
  Status begin_loading(Entry& entry);
  bool has_bounds() const { return options_.memory_bytes > 0 || options_.max_loaded > 0; }
  bool must_wait_for_memory();
  Result<std::list<Evicted>> make_room(const Entry& wanted);
  void take_back(std::list<Evicted>& evicted);
  Status load(Entry& entry, std::list<Evicted>& evicted);
  void on_loaded(Entry& entry, Result<ServedModelPtr> loaded, uint64_t n_needed_bytes);
  uint64_t left_bytes(const Entry& wanted);
  void unload(Entry& entry);
  void on_unloaded(Entry& entry);

  RegistryOptions options_;
  std::vector<Waiting> waiting_;  // newest last
  PastCountsOfModels past_counts_;
  uint64_t n_tickets_ = 0;
  bool has_served_ = false;  // some model has been ready
  std::shared_ptr<std::atomic<bool>> stopping_;
};

// The message for clients when a model could not be loaded, without the server's paths.
Error told_failure(const std::string& id, const Error& failure);

}  // namespace realizar::server
