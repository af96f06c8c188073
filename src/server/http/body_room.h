// The total memory for request bodies, so that many of them cannot fill the memory; compressed ones count with their
// decoded size. Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace realizar::server {

// The message when there is no room for a body.
inline constexpr const char* kNoBodyRoom = "other requests' bodies fill the room that this server has for them";

class BodyRoom {
 public:
  // The beginning of a body is not counted: small requests are accepted even when large ones fill the room.
  static constexpr size_t kFreeBytes = 64u << 10;

  // One body's part of the room, released when it ends.
  class Share {
   public:
    Share() = default;
    Share(std::shared_ptr<BodyRoom> room, std::string client) : room_(std::move(room)), client_(std::move(client)) {}
    Share(Share&& other) noexcept;
    Share& operator=(Share&& other) noexcept;
    ~Share();

    // For a body that now has n_bytes in total; false if there is no room for it.
    bool grow_to(size_t n_bytes);

   private:
    std::shared_ptr<BodyRoom> room_;
    std::string client_;
    size_t n_held_bytes_ = 0;
  };

  // A client may use half of the room, but in any case one body of the maximum size.
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
