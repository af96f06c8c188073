// The room that bodies of requests have together, so that many of them cannot fill the memory; decoded ones count with
// what they are decoded to. Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace realizar::server {

// What is said of a body that finds no room.
inline constexpr const char* kNoBodyRoom = "other requests' bodies fill the room that this server has for them";

class BodyRoom {
 public:
  // The beginning of a body takes no room: small requests are read also while large ones fill it.
  static constexpr size_t kFreeBytes = 64u << 10;

  // What one body holds of the room; gives it back when it ends.
  class Share {
   public:
    Share() = default;
    Share(std::shared_ptr<BodyRoom> room, std::string client) : room_(std::move(room)), client_(std::move(client)) {}
    Share(Share&& other) noexcept;
    Share& operator=(Share&& other) noexcept;
    ~Share();

    // For a body that has n_bytes in all by now; false where there is no room for it.
    bool grow_to(size_t n_bytes);

   private:
    std::shared_ptr<BodyRoom> room_;
    std::string client_;
    size_t n_held_bytes_ = 0;
  };

  // A client may hold half of the room, and one body of the largest size in any case.
  BodyRoom(size_t n_bytes, size_t max_body_bytes);

  size_t n_held_bytes() const;

 private:
  bool take(const std::string& client, size_t n_bytes);
  void give_back(const std::string& client, size_t n_bytes);

  const size_t n_bytes_, client_bytes_;
  mutable std::mutex mutex_;
  size_t n_held_bytes_ = 0;
  std::map<std::string, size_t> held_of_;  // of each client, above 0
};

}  // namespace realizar::server
