// The models of one server: named at the start or found later, loaded when first used, unloaded least recently used
// when memory is wanted. Each has its own engine and thread. All calls on the I/O thread.
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

#include "realizar/options.h"
#include "realizar/result.h"
#include "server/models/model_list.h"
#include "server/models/request_defaults.h"

namespace realizar::server {

class PrefixKeeper;

// How a server's models are loaded, and how long they stay.
struct RegistryOptions {
  LoadOptions load;
  uint32_t max_queue = 256;                             // requests that wait for each model
  bool strict_names = false;                            // a model that is alone is not asked for by any other name
  uint64_t memory_bytes = 0;                            // for weights and caches of all models; 0: no bound
  std::function<uint64_t()> n_answer_bytes = {};        // that count with them; null: none do
  uint32_t max_loaded = 0;                              // models that are loaded at once; 0: no bound
  std::optional<std::chrono::milliseconds> keep_alive;  // of every model when it is loaded
  bool autoload = true;                                 // a request for a model that is not loaded loads it
  bool preload = true;                                  // it is ready when one is loaded, and not before
  PrefixKeeper* prefixes = nullptr;                     // over restarts; must outlive all models; null: none
  bool hash_weights = false;                            // also where no prefixes are kept
  uint32_t retry_ms = 5000;                             // a model that could not be loaded is not tried again before
  uint32_t stop_timeout_ms = 5000;                      // for loads to end when the registry does
  std::function<Result<std::unique_ptr<LoadedModel>>(const std::string&, const LoadOptions&)> load_model =
      LoadedModel::load;
  // The memory that a model will take. Where it cannot be told, the files' size counts, and loading says why.
  std::function<Result<uint64_t>(const std::string&, const LoadOptions&)> needed_bytes = LoadedModel::needed_bytes;
  // Changes every model when it has been loaded, before anyone has it. Any thread.
  std::function<Status(LoadedModel&)> adapt = {};
  // The same, once its cache has what was kept and before its engine's thread begins.
  std::function<void(ServedModel&)> watch = {};
  std::shared_ptr<const RequestDefaults> defaults = std::make_shared<RequestDefaults>();
  std::function<void()> on_progress;                   // a stream of some model has news; any thread
  std::function<void(std::function<void()>)> post_io;  // runs a task on the I/O thread; any thread
};

class ModelRegistry final : public ModelList {
 public:
  using Then = std::function<void(const Result<ServedModelPtr>&)>;

  ModelRegistry(std::vector<ModelSource> sources, RegistryOptions options);
  // Stops what is being loaded; what does not stop in time is abandoned.
  ~ModelRegistry();
  ModelRegistry(const ModelRegistry&) = delete;
  ModelRegistry& operator=(const ModelRegistry&) = delete;

  // Gives the model to `then`, which must not throw, at once if it is ready, else when it has been loaded. `id` is as
  // for find(). Errors: NotFound; ResourceExhausted where memory is wanted and all models are busy, or where too many
  // wait for the model, unless the tenant has a claim to the place of another one that waits; told_failure() where it
  // cannot be loaded, or could not be a short while ago. Gives a ticket for forget().
  uint64_t acquire(const std::string& id, uint64_t tenant, Then then);
  // `then` is not wanted any more, where it was not called yet.
  void forget(uint64_t ticket) {
    std::erase_if(waiting_, [&](const Waiting& one) { return one.ticket == ticket; });
  }
  // What models did before they were unloaded.
  const PastCountsOfModels& past_counts() const { return past_counts_; }
  // Where prefixes are kept over restarts; null: nowhere.
  const PrefixKeeper* prefixes() const { return options_.prefixes; }
  // Some model was ready at some time, or none is loaded before it is asked for.
  bool has_been_ready() const { return !options_.autoload || !options_.preload || has_served_; }

  // How long the model of that id, where it is ready, stays loaded without use; nullopt: for ever, as each model does
  // when it is loaded.
  void keep_alive(const std::string& id, std::optional<std::chrono::milliseconds> duration);
  // Unloads models that nobody has used for as long as keep_alive() says; to be called every second.
  void unload_idle();

  // Loads a model, or does so with the next that is wanted. Errors: NotFound; InvalidArgument where it is loaded or
  // being loaded; those of acquire.
  Status load_now(const std::string& id, uint64_t tenant);
  // Unloads a model as soon as nobody uses it. Errors: NotFound; InvalidArgument where it is not loaded.
  Status unload_now(const std::string& id);
  // Takes a model away: it has no name any more, and goes when nobody uses it. Errors: NotFound.
  Status remove(const std::string& id);
  // Adds a model, or takes it in the place of one of the same id, whose aliases and tags it keeps.
  void put(ModelSource source);
  // Takes away what is not among these or has changed on the disk, and adds what is new.
  void set_sources(std::vector<ModelSource> sources);

 private:
  // A model that is unloaded for another's sake.
  struct GivenUp {
    Entry* entry;
    ServedModelPtr model;
    PastCounts counts = {};
  };
  // A request that waits for a model to be loaded: a bounded number for each model, whose places tenants share as they
  // share an engine's queue.
  struct Waiting {
    uint64_t ticket, tenant;
    const Entry* entry;
    Then then;
  };

  void take_away(std::list<Entry>::iterator entry);
  Status make_place(const Entry& entry, uint64_t tenant);
  bool is_wanted(const Entry& entry) const;
  void tell(const Entry& entry, const Result<ServedModelPtr>& outcome);
  Status start_loading(Entry& entry, uint64_t tenant);
  Status begin_loading(Entry& entry);
  bool has_bounds() const { return options_.memory_bytes > 0 || options_.max_loaded > 0; }
  bool must_wait_for_memory();
  Result<std::list<GivenUp>> make_room(const Entry& wanted);
  void take_back(std::list<GivenUp>& given_up);
  Status load(Entry& entry, std::list<GivenUp>& given_up);
  void on_loaded(Entry& entry, Result<ServedModelPtr> loaded, uint64_t n_needed_bytes);
  uint64_t left_bytes(const Entry& wanted);
  void unload(Entry& entry);
  void on_unloaded(Entry& entry);

  RegistryOptions options_;
  std::vector<Waiting> waiting_;  // the newest last
  PastCountsOfModels past_counts_;
  uint64_t n_tickets_ = 0;
  bool has_served_ = false;  // some model was ready at some time
  std::shared_ptr<std::atomic<bool>> stopping_;
};

// What clients are told of a model that could not be loaded: no path of the server.
Error told_failure(const std::string& id, const Error& failure);

}  // namespace realizar::server
