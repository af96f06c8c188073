// A limited number of slots for long-running activities of clients: uploads, downloads, questions to MCP servers.
// Tenants share them as they share the engine: a tenant with fewer than its share gets a slot at once, and the newest
// activity of the tenant with most slots gives way.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

namespace realizar::server {

class SharedSlots : public std::enable_shared_from_this<SharedSlots> {
  struct Holder {
    uint64_t tenant;
    std::function<void()> give_way;
  };
  using HolderPtr = std::shared_ptr<Holder>;

 public:
  // Held while an activity runs. Any thread.
  class Slot {
   public:
    Slot(std::shared_ptr<SharedSlots> slots, HolderPtr holder) : slots_(std::move(slots)), holder_(std::move(holder)) {}
    ~Slot() { slots_->give_back(holder_); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    std::shared_ptr<SharedSlots> slots_;
    HolderPtr holder_;
  };
  using SlotPtr = std::unique_ptr<Slot>;

  static std::shared_ptr<SharedSlots> create(uint32_t n_slots) { return std::make_shared<SharedSlots>(n_slots); }
  explicit SharedSlots(uint32_t n_slots) : n_slots_(n_slots) {}

  // Null if there is none for the tenant. `give_way` is called at most once, during the call for another tenant that
  // gets the slot: it must make the activity end soon, and must not take a slot itself.
  SlotPtr take(uint64_t tenant, std::function<void()> give_way);
  uint32_t n_taken() const;

 private:
  void give_back(const HolderPtr& holder);

  const uint32_t n_slots_;
  mutable std::mutex mutex_;
  std::list<HolderPtr> holders_;  // newest last
};

}  // namespace realizar::server
