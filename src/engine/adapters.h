// The adapters that requests may name: which place of the backend's stacks each has, and how many sequences use it. A
// place is given to another adapter only when nobody uses it any more. Any thread may call, save where a function says
// more; a step never does.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/step_batch.h"
#include "realizar/adapter.h"
#include "realizar/result.h"

namespace realizar {
class AdapterTargets;
class Backend;
class Model;
struct Adapter;
struct Request;
}  // namespace realizar

namespace realizar::engine {

class Adapters;

// A sequence's part in an adapter: its place stays as it is meanwhile.
class AdapterHold {
 public:
  AdapterHold() = default;
  AdapterHold(AdapterHold&& other) noexcept { *this = std::move(other); }
  AdapterHold& operator=(AdapterHold&& other) noexcept;
  ~AdapterHold();

  // Whether there is one.
  explicit operator bool() const { return owner_ != nullptr; }
  const BatchAdapter& in_batch() const { return in_batch_; }
  uint64_t fingerprint() const { return fingerprint_; }
  // Whether the sequence runs, for whoever asks Adapters::uses(): until then it waits. Locks nothing.
  void set_running(bool is_running);

 private:
  friend class Adapters;
  Adapters* owner_ = nullptr;
  BatchAdapter in_batch_;
  uint64_t fingerprint_ = 0;
  bool is_running_ = false;
};

// The requests of one adapter.
struct AdapterUse {
  std::string name;
  uint32_t n_running = 0, n_waiting = 0;
};

// One that is being written into its place.
class AdapterLoad {
 public:
  AdapterLoad(Adapters& owner, uint32_t place, std::unique_ptr<const Adapter> adapter);
  AdapterLoad(const AdapterLoad&) = delete;
  AdapterLoad& operator=(const AdapterLoad&) = delete;
  ~AdapterLoad();  // gives the place back where it was not finished

 private:
  friend class Adapters;
  Adapters* owner_;  // null: it is finished
  uint32_t place_;
  std::unique_ptr<const Adapter> adapter_;
  size_t n_written_ = 0;  // parts
};

class Adapters {
 public:
  // Both must outlive it.
  Adapters(const Model& model, Backend& backend);

  // Takes a place for an adapter that was read, which requests find once it is written. Errors: InvalidArgument (the
  // name is taken, or none), ResourceExhausted (every place is taken), Unsupported (the model was loaded without room).
  Result<std::unique_ptr<AdapterLoad>> begin_load(const AdapterSource& source, std::unique_ptr<const Adapter> adapter);
  // The same for the file of the source. Errors: read_adapter's too.
  Result<std::unique_ptr<AdapterLoad>> read(const AdapterSource& source);
  // Between steps, on the engine's thread: writes some of it. True: it is there. Errors: the backend's.
  Result<bool> write_some(AdapterLoad& load);
  // Both, to the end. Errors: as these.
  Status load(const AdapterSource& source);

  // No request finds it from now on. Errors: NotFound.
  Status remove(std::string_view name);
  // What requests get that name no adapter; no name: none. Errors: NotFound.
  Status set_default(std::string_view name, std::optional<float> scale);

  // The adapter of a request, or none. Errors: NotFound, InvalidArgument (a scale that is not finite).
  Result<AdapterHold> hold(const Request& request);
  std::vector<AdapterInfo> list() const;
  // The adapters that have a place, in the order of loading, those too that leave with their last request. The engine's
  // thread waits for no one who asks.
  std::vector<AdapterUse> uses() const;
  uint32_t n_places() const { return static_cast<uint32_t>(places_.size()); }

 private:
  friend class AdapterHold;
  friend class AdapterLoad;
  enum class State : uint8_t { kFree, kLoading, kReady, kLeaving };  // kLeaving: free when nobody uses it
  struct Place {
    State state = State::kFree;
    AdapterInfo info;
    uint64_t fingerprint = 0;
    uint64_t order = 0;  // in which they were loaded
  };
  // The sequences of a place. Beginning one takes the mutex; its run and its end are told by the engine's thread, which
  // takes none.
  struct Users {
    std::atomic<uint32_t> n{0}, n_running{0};
  };

  const Place* find(std::string_view name) const;
  Place* find(std::string_view name) { return const_cast<Place*>(std::as_const(*this).find(name)); }
  bool has_users(const Place& place) const;
  bool is_free(const Place& place) const;
  std::vector<const Place*> places_in_order() const;
  Error not_there(std::string_view name) const;
  void abandon(uint32_t place);

  const Model& model_;
  const AdapterTargets& targets_;
  Backend& backend_;
  std::vector<std::vector<float>> ranks_;  // of each target, by place; the engine's thread's alone
  mutable std::mutex mutex_;               // of what follows
  std::vector<Place> places_;
  std::vector<Users> users_;  // by place
  uint64_t n_loaded_ = 0;
  std::string default_name_;
  std::optional<float> default_scale_;
};

}  // namespace realizar::engine
