// The models of one server: named at the start or found later, loaded when first used, unloaded least recently used
// when memory is wanted. Each has its own engine and thread. All calls on the I/O thread.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/loaded_model.h"
#include "realizar/result.h"
#include "server/http/task_thread.h"
#include "server/models/model_source.h"
#include "server/models/past_counts.h"
#include "server/models/request_defaults.h"
#include "server/models/served_model.h"

namespace realizar::server {

class PrefixKeeper;

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
  // What a model will take. Where it cannot be told, the files' size counts, and loading says why.
  std::function<Result<uint64_t>(const std::string&, const LoadOptions&)> needed_bytes = LoadedModel::needed_bytes;
  // What every model is changed by when it has been loaded, before anyone has it. Any thread.
  std::function<Status(LoadedModel&)> adapt = {};
  std::shared_ptr<const RequestDefaults> defaults = std::make_shared<RequestDefaults>();
  std::function<void()> on_progress;                   // a stream of some model has news; any thread
  std::function<void(std::function<void()>)> post_io;  // runs a task on the I/O thread; any thread
};

// What may be told of a model when it changes.
struct ModelChange {
  const char* event;  // "model_status" or "model_remove"
  std::string model;
  const char* status = "";         // as model_status() gives it
  std::optional<double> progress;  // of loading, 0 to 1
};

class ModelRegistry {
 public:
  enum class State { kUnloaded, kLoading, kReady, kUnloading, kFailed };
  struct Entry {
    ModelSource source;
    State state = State::kUnloaded;
    double progress = 0;           // of loading, 0 to 1
    std::optional<Error> failure;  // why loading failed; for the log, since it may name files
    ServedModelPtr model;          // while it is ready
    uint64_t n_wanted_bytes = 0;   // while it is loading
    uint64_t n_needed_bytes = 0;   // with its cache, once a load has counted it; 0: not yet
    std::chrono::steady_clock::time_point last_used, failed_at;
    std::chrono::system_clock::time_point created;        // of the file
    std::optional<std::chrono::milliseconds> keep_alive;  // without use, then it is unloaded; nullopt: for ever
    bool has_served = false;                              // it was ready at some time, and would load again
    std::unique_ptr<TaskThread> loader;                   // or unloader
  };
  using Then = std::function<void(const Result<ServedModelPtr>&)>;

  ModelRegistry(std::vector<ModelSource> sources, RegistryOptions options);
  // Stops what is being loaded; what does not stop in time is abandoned.
  ~ModelRegistry();

  // Gives the model to `then`, which must not throw, at once if it is ready, else when it has been loaded. `id` is as
  // for find(). Errors: NotFound; ResourceExhausted where memory is wanted and all models are busy, or where too many
  // wait for the model, unless the tenant has a claim to the place of another one that waits; told_failure() where it
  // cannot be loaded, or could not be a short while ago. Gives a ticket for forget().
  uint64_t acquire(const std::string& id, uint64_t tenant, Then then);
  // `then` is not wanted any more, where it was not called yet.
  void forget(uint64_t ticket);
  const std::list<Entry>& entries() const { return entries_; }
  // Models that were taken away and are still used.
  const std::list<Entry>& leaving() const { return leaving_; }
  // What models did before they were unloaded.
  const PastCountsOfModels& past_counts() const { return past_counts_; }
  // Where prefixes are kept over restarts; null: nowhere.
  const PrefixKeeper* prefixes() const { return options_.prefixes; }
  // The entry that requests for `id` go to: "" is the first, an adapter's name or "base:adapter" is its model's, and a
  // model that is alone has every name where names are not strict, save such as begin like one with an adapter. Null:
  // none.
  const Entry* find(const std::string& id) const { return resolve(id).entry; }
  // The adapter that such a name asks for; "": none.
  std::string adapter_of(const std::string& id) const { return resolve(id).adapter; }
  // Those that the entry's model has, or will have when it is loaded.
  std::vector<std::string> adapters_of(const Entry& entry) const;
  // The entry of that id or alias; where none has it as it is, in any case and with or without ":latest", then as
  // another spelling of a name of the hub's: "hf.co/OWNER/REPO" for "hf:OWNER/REPO". Null: none.
  const Entry* find_named(const std::string& id) const;
  Error no_such_model(const std::string& id) const;
  // How long the model of that id, where it is ready, stays loaded without use; nullopt: for ever, as each model does
  // when it is loaded.
  void keep_alive(const std::string& id, std::optional<std::chrono::milliseconds> duration);
  // Unloads models that nobody has used for as long as keep_alive() says; to be called every second.
  void unload_idle();
  // Calls every stream that has news.
  void dispatch();
  // Some model was ready at some time, or none is loaded before it is asked for.
  bool has_been_ready() const;
  // The device of some model has failed for good: only a new process helps.
  bool any_lost() const;
  // The engine of some model has requests and has made no progress for that time.
  bool any_stalled(std::chrono::milliseconds patience) const;
  // Requests that some engine still has.
  uint32_t n_open() const;
  void drain();

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
  // Is told of every change, on the I/O thread; must not call the registry.
  void set_on_change(std::function<void(const ModelChange&)> on_change) { on_change_ = std::move(on_change); }

 private:
  struct Named {
    const Entry* entry;
    std::string adapter;
  };
  Named resolve(const std::string& id) const;
  bool has_room_for_adapters(const Entry& entry) const;

  struct Waiting {
    uint64_t ticket;
    uint64_t tenant;
    const Entry* entry;
    Then then;
  };
  // A model that is unloaded for another's sake.
  struct GivenUp {
    Entry* entry;
    ServedModelPtr model;
    PastCounts counts = {};
  };

  template <class F>
  void for_each_entry(F f);
  std::list<Entry>::iterator add_entry(ModelSource source, std::list<Entry>::iterator before);
  void hand_waiting_over(const Entry& old, Entry& next);
  void take_away(std::list<Entry>::iterator entry);
  void drop_gone();
  void set_state(Entry& entry, State state);
  void set_progress(Entry& entry, double progress);
  bool is_bounded() const { return options_.memory_bytes > 0 || options_.max_loaded > 0; }
  Entry* find_own(const std::string& id);
  Status start_loading(Entry& entry, uint64_t tenant);
  Status find_place(const Entry& entry, uint64_t tenant);
  Status begin_loading(Entry& entry);
  Result<std::list<GivenUp>> make_room(const Entry& wanted);
  void take_back(std::list<GivenUp>& given_up);
  Status load(Entry& entry, std::list<GivenUp>& given_up);
  void on_loaded(Entry& entry, Result<ServedModelPtr> loaded, uint64_t n_needed_bytes);
  uint64_t held_bytes(const Entry& but);
  void tell_waiting(const Entry& entry, const Result<ServedModelPtr>& outcome);
  void unload(Entry& entry);
  void on_unloaded(Entry& entry);
  bool must_wait_for_memory() const;

  RegistryOptions options_;
  std::list<Entry> entries_;
  std::list<Entry> leaving_;  // taken away, and not gone yet
  std::function<void(const ModelChange&)> on_change_;
  PastCountsOfModels past_counts_;
  std::vector<Waiting> waiting_;  // the newest last
  uint64_t n_tickets_ = 0;
  bool has_served_ = false;  // some model was ready at some time
  std::shared_ptr<std::atomic<bool>> stopping_;
};

// The state as llama.cpp's router names it: unloaded, loading or loaded.
const char* model_status(const ModelRegistry::Entry& entry);

// What clients are told of a model that could not be loaded: no path of the server.
Error told_failure(const std::string& id, const Error& failure);

}  // namespace realizar::server
