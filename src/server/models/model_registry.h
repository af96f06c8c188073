// The models of one server: named at the start or found later, loaded when first used, unloaded least recently used
// when memory is wanted. Each has its own engine and thread. All calls on the I/O thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "realizar/result.h"
#include "server/models/model_list.h"
#include "server/models/model_room.h"
#include "server/models/model_waiters.h"
#include "server/models/past_counts.h"
#include "server/models/registry_options.h"

namespace realizar::server {

class ModelRegistry final : public ModelList {
 public:
  using Then = ModelWaiters::Then;

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
  void forget(uint64_t ticket) { waiters_.forget(ticket); }
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

  void take_away(std::list<Entry>::iterator entry);
  Status start_loading(Entry& entry, uint64_t tenant);
  Status begin_loading(Entry& entry);
  bool must_wait_for_memory();
  Result<std::list<GivenUp>> make_room(const Entry& wanted);
  void take_back(std::list<GivenUp>& given_up);
  Status load(Entry& entry, std::list<GivenUp>& given_up);
  void on_loaded(Entry& entry, Result<ServedModelPtr> loaded, uint64_t n_needed_bytes);
  uint64_t left_bytes(const Entry& wanted);
  void unload(Entry& entry);
  void on_unloaded(Entry& entry);

  RegistryOptions options_;
  const ModelRoom room_;
  ModelWaiters waiters_;
  PastCountsOfModels past_counts_;
  uint64_t n_tickets_ = 0;
  bool has_served_ = false;  // some model was ready at some time
  std::shared_ptr<std::atomic<bool>> stopping_;
};

// What clients are told of a model that could not be loaded: no path of the server.
Error told_failure(const std::string& id, const Error& failure);

}  // namespace realizar::server
