// A limited number of places for long-running activities of clients: uploads, downloads, questions to MCP servers.
// Tenants share them as they share the engine: a tenant with fewer than its share gets a place at once, and the newest
// activity of the tenant with most places gives way.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

namespace realizar::server {

class SharedPlaces : public std::enable_shared_from_this<SharedPlaces> {
  struct Holder {
    uint64_t tenant;
    std::function<void()> give_way;
  };
  using HolderPtr = std::shared_ptr<Holder>;

 public:
  // Held while an activity runs. Any thread.
  class Place {
   public:
    Place(std::shared_ptr<SharedPlaces> places, HolderPtr holder)
        : places_(std::move(places)), holder_(std::move(holder)) {}
    ~Place() { places_->give_back(holder_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    std::shared_ptr<SharedPlaces> places_;
    HolderPtr holder_;
  };
  using PlacePtr = std::unique_ptr<Place>;

  static std::shared_ptr<SharedPlaces> create(uint32_t n_places) { return std::make_shared<SharedPlaces>(n_places); }
  explicit SharedPlaces(uint32_t n_places) : n_places_(n_places) {}

  // Null if there is none for the tenant. `give_way` is called at most once, during the call for another tenant that
  // gets the place: it must make the activity end soon, and must not take a place itself.
  PlacePtr take(uint64_t tenant, std::function<void()> give_way);
  uint32_t n_taken() const;

 private:
  void give_back(const HolderPtr& holder);

  const uint32_t n_places_;
  mutable std::mutex mutex_;
  std::list<HolderPtr> holders_;  // newest last
};

}  // namespace realizar::server
