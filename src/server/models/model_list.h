// The models of a server: their names, which of them are loaded, and the state of their engines. It does not load
// models itself. All calls on the I/O thread.
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
  std::optional<Error> failure;  // why loading failed; for the log, since it may contain file names
  ServedModelPtr model;          // while it is ready
  uint64_t n_wanted_bytes = 0;   // while it is loading
  uint64_t n_needed_bytes = 0;   // with its cache, after a load has counted it; 0: not yet
  std::chrono::steady_clock::time_point last_used, failed_at;
  std::chrono::system_clock::time_point created;        // of the file
  std::optional<std::chrono::milliseconds> keep_alive;  // idle time before it is unloaded; nullopt: unlimited
  bool has_served = false;                              // it was ready before, and would load again
  std::unique_ptr<TaskThread> loader;                   // or unloader

  // Only its registry holds the model, and no request runs on it. Precondition: it is loaded.
  bool is_unused() const { return model.use_count() == 1 && model->thread->n_open() == 0; }
};

// The state under the names of llama.cpp's router: unloaded, loading or loaded.
const char* model_status(const ModelEntry& entry);

// A change of a model, for listeners.
struct ModelChange {
  const char* event;  // "model_status" or "model_remove"
  std::string model;
  const char* status = "";         // from model_status()
  std::optional<double> progress;  // of loading, 0 to 1
};

// Counts of a model that has since been unloaded: counters last as long as the server.
struct PastCounts {
  engine::EngineCounters counters;
  std::string devices;                 // that it was on, as in BackendNumbers::device_names()
  std::vector<DeviceNumbers> of_each;  // the operations of each of them; not its bytes

  void take(const LoadedModel& model);  // only before anything was counted
  void add(const PastCounts& other);
};
using PastCountsOfModels = std::map<std::string, PastCounts>;  // by id

class ModelList {
 public:
  using Entry = ModelEntry;
  using State = ModelEntry::State;

  const std::list<Entry>& entries() const { return entries_; }
  // Models that were removed and are still in use.
  const std::list<Entry>& leaving() const { return leaving_; }
  // The entry for requests for `id`: "" is the first; an adapter's name, or "base:adapter", is its model's; and a
  // single model has every name unless names are strict, except names that begin like one with an adapter. Null: none.
  const Entry* find(const std::string& id) const { return resolve(id).entry; }
  // The adapter that such a name requests; "": none.
  std::string adapter_of(const std::string& id) const { return resolve(id).adapter; }
  // The adapters that the entry's model has, or will have when it is loaded.
  std::vector<std::string> adapters_of(const Entry& entry) const;
  // The entry with that id or alias; if none has it exactly, then ignoring case and with or without ":latest", then as
  // another spelling of a name on the hub: "hf.co/OWNER/REPO" for "hf:OWNER/REPO". Null: none.
  const Entry* find_named(const std::string& id) const;
  Error no_such_model(const std::string& id) const;
  // Called for every change; must not call the list.
  void set_on_change(std::function<void(const ModelChange&)> on_change) { on_change_ = std::move(on_change); }

  // Notifies every stream that has updates.
  void dispatch();
  // Some model's device has failed for good: only a new process helps.
  bool any_lost() const;
  // Some model's engine has requests and has made no progress for that time.
  bool any_stalled(std::chrono::milliseconds patience) const;
  // Requests that engines are still working on.
  uint32_t n_open() const;
  void drain();

 protected:
  // strict_names: a single model has no other names. has_adapter_slots: models are loaded with room for adapters that
  // are added later.
  ModelList(bool strict_names, bool has_adapter_slots)
      : strict_names_(strict_names), has_adapter_slots_(has_adapter_slots) {}
  ~ModelList() = default;

  // All entries, including those being removed. An entry's address is stable until it is destroyed.
  std::vector<Entry*> all();
  Entry* find_own(const std::string& id) { return const_cast<Entry*>(find_named(id)); }
  std::list<Entry>::iterator add_entry(ModelSource source, std::list<Entry>::iterator before);
  // Removes its name; it is destroyed when nothing uses it.
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

  const bool strict_names_, has_adapter_slots_;
  std::list<Entry> leaving_;
  std::function<void(const ModelChange&)> on_change_;
};

}  // namespace realizar::server
