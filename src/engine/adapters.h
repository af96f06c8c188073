// The adapters that requests may name: the slot of each in the backend's stacks, and how many sequences use it. A slot
// is reused for another adapter only when no sequence uses it any more. Any thread may call, unless a function says
// otherwise; a step never does.
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

// A sequence's use of an adapter: while it exists, the adapter's slot stays as it is.
class AdapterHold {
 public:
  AdapterHold() = default;
  AdapterHold(AdapterHold&& other) noexcept { *this = std::move(other); }
  AdapterHold& operator=(AdapterHold&& other) noexcept;
  ~AdapterHold();

  // Whether it holds an adapter.
  explicit operator bool() const { return owner_ != nullptr; }
  const BatchAdapter& in_batch() const { return in_batch_; }
  uint64_t fingerprint() const { return fingerprint_; }
  // Marks the sequence as running for Adapters::uses(); until then it counts as waiting. Takes no lock.
  void set_running(bool is_running);

 private:
  friend class Adapters;
  Adapters* owner_ = nullptr;
  BatchAdapter in_batch_;
  uint64_t fingerprint_ = 0;
  bool is_running_ = false;
};

// The number of requests that use one adapter.
struct AdapterUse {
  std::string name;
  uint32_t n_running = 0, n_waiting = 0;
};

// An adapter that is being written to its slot.
class AdapterLoad {
 public:
  AdapterLoad(Adapters& owner, uint32_t slot, std::unique_ptr<const Adapter> adapter);
  AdapterLoad(const AdapterLoad&) = delete;
  AdapterLoad& operator=(const AdapterLoad&) = delete;
  ~AdapterLoad();  // frees the slot if loading did not finish

 private:
  friend class Adapters;
  Adapters* owner_;  // null: finished
  uint32_t slot_;
  std::unique_ptr<const Adapter> adapter_;
  size_t n_written_ = 0;  // number of parts
};

class Adapters {
 public:
  // Both must outlive it.
  Adapters(const Model& model, Backend& backend);

  // Takes a slot for an adapter that was read; requests can use it once it is written. Errors: InvalidArgument (the
  // name is taken or empty), ResourceExhausted (all slots are taken), Unsupported (the model was loaded without room
  // for adapters).
  Result<std::unique_ptr<AdapterLoad>> begin_load(const AdapterSource& source, std::unique_ptr<const Adapter> adapter);
  // Likewise for the source's file. Errors: also those of read_adapter.
  Result<std::unique_ptr<AdapterLoad>> read(const AdapterSource& source);
  // Writes a part of it. Called between steps, on the engine's thread. True: it is complete. Errors: the backend's.
  Result<bool> write_some(AdapterLoad& load);
  // Both of the above, to the end. Errors: as those.
  Status load(const AdapterSource& source);

  // Hides the adapter from new requests. Errors: NotFound.
  Status remove(std::string_view name);
  // Sets the adapter for requests that name none; an empty name: none. Errors: NotFound.
  Status set_default(std::string_view name, std::optional<float> scale);

  // The adapter of a request, or none. Errors: NotFound, InvalidArgument (a scale that is not finite).
  Result<AdapterHold> hold(const Request& request);
  std::vector<AdapterInfo> list() const;
  // All adapters in the order of loading, including those that are unloaded with their last request. The engine's
  // thread never waits for a caller.
  std::vector<AdapterUse> uses() const;
  uint32_t n_slots() const { return static_cast<uint32_t>(slots_.size()); }

 private:
  friend class AdapterHold;
  friend class AdapterLoad;
  enum class State : uint8_t { kFree, kLoading, kReady, kLeaving };  // kLeaving: free when no sequence uses it
  struct Slot {
    State state = State::kFree;
    AdapterInfo info;
    uint64_t fingerprint = 0;
    uint64_t order = 0;  // of loading
  };
  // The sequences that use a slot. Starting to use it takes the mutex; the engine's thread reports running and ending
  // without it.
  struct Users {
    std::atomic<uint32_t> n{0}, n_running{0};
  };

  const Slot* find(std::string_view name) const;
  Slot* find(std::string_view name) { return const_cast<Slot*>(std::as_const(*this).find(name)); }
  bool has_users(const Slot& slot) const;
  bool is_free(const Slot& slot) const;
  std::vector<const Slot*> slots_in_order() const;
  Error not_there(std::string_view name) const;
  void abandon(uint32_t slot);

  const Model& model_;
  const AdapterTargets& targets_;
  Backend& backend_;
  std::vector<std::vector<float>> ranks_;  // [n_targets][slots]; used only by the engine's thread
  mutable std::mutex mutex_;               // guards the members below
  std::vector<Slot> slots_;
  std::vector<Users> users_;  // by slot
  uint64_t n_loaded_ = 0;
  std::string default_name_;
  std::optional<float> default_scale_;
};

}  // namespace realizar::engine
