// The models that a server has: what they are called, which of them are loaded, and what their engines are at. It loads
// none itself. All calls on the I/O thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/backend_numbers.h"
#include "engine/counters.h"
#include "realizar/result.h"
#include "server/http/task_thread.h"
#include "server/models/model_source.h"
#include "server/models/served_model.h"

namespace realizar::server {

struct ModelEntry {
  enum class State { kUnloaded, kLoading, kReady, kUnloading, kFailed };

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

  // Nobody but its registry has the model, and no request runs on it. Precondition: there is one.
  bool is_unused() const { return model.use_count() == 1 && model->thread->n_open() == 0; }
};

// The state as llama.cpp's router names it: unloaded, loading or loaded.
const char* model_status(const ModelEntry& entry);

// A change of a model, for whoever listens.
struct ModelChange {
  const char* event;  // "model_status" or "model_remove"
  std::string model;
  const char* status = "";         // as model_status() gives it
  std::optional<double> progress;  // of loading, 0 to 1
};

// Counts of a model that has been unloaded since: counters live as long as the server does.
struct PastCounts {
  engine::EngineCounters counters;
  std::string devices;                 // that it was on, as BackendNumbers::device_names() has them
  std::vector<DeviceNumbers> of_each;  // what operations each of them did; not its bytes

  void take(const LoadedModel& model);  // into what has counted nothing yet
  void add(const PastCounts& other);
};
using PastCountsOfModels = std::map<std::string, PastCounts>;  // by id

class ModelList {
 public:
  using Entry = ModelEntry;
  using State = ModelEntry::State;

  const std::list<Entry>& entries() const { return entries_; }
  // Models that were taken away and are still used.
  const std::list<Entry>& leaving() const { return leaving_; }
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
  // Is told of every change; must not call the list.
  void set_on_change(std::function<void(const ModelChange&)> on_change) { on_change_ = std::move(on_change); }

  // Calls every stream that has news.
  void dispatch();
  // The device of some model has failed for good: only a new process helps.
  bool any_lost() const;
  // The engine of some model has requests and has made no progress for that time.
  bool any_stalled(std::chrono::milliseconds patience) const;
  // Requests that some engine still has.
  uint32_t n_open() const;
  void drain();

 protected:
  // strict_names: a model that is alone is not asked for by any other name. has_adapter_places: models are loaded with
  // room for adapters that come later.
  ModelList(bool strict_names, bool has_adapter_places)
      : strict_names_(strict_names), has_adapter_places_(has_adapter_places) {}
  ~ModelList() = default;

  // All entries, also those on their way out. Entries keep their places in memory until they are gone.
  std::vector<Entry*> all();
  Entry* find_own(const std::string& id) { return const_cast<Entry*>(find_named(id)); }
  std::list<Entry>::iterator add_entry(ModelSource source, std::list<Entry>::iterator before);
  // It has no name any more, and is gone once nothing is done with it.
  void move_out(std::list<Entry>::iterator entry);
  void drop_gone();
  void set_state(Entry& entry, State state);
  void set_progress(Entry& entry, double progress);

  std::list<Entry> entries_;

 private:
  struct Named {
    const Entry* entry;
    std::string adapter;
  };
  Named resolve(const std::string& id) const;

  const bool strict_names_, has_adapter_places_;
  std::list<Entry> leaving_;
  std::function<void(const ModelChange&)> on_change_;
};

}  // namespace realizar::server
