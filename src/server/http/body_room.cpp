#include "server/http/body_room.h"

#include <algorithm>
#include <utility>

namespace realizar::server {

BodyRoom::BodyRoom(size_t n_bytes, size_t max_body_bytes)
    : n_bytes_(n_bytes), client_bytes_(std::max(n_bytes / 2, max_body_bytes)) {}

size_t BodyRoom::n_held_bytes() const {
  const std::lock_guard lock(mutex_);
  return n_held_bytes_;
}

bool BodyRoom::take(const std::string& client, size_t n_bytes) {
  const std::lock_guard lock(mutex_);
  const auto held = held_of_.find(client);
  const size_t n_of_client = held == held_of_.end() ? 0 : held->second;
  if (n_bytes > n_bytes_ - n_held_bytes_ || n_of_client + n_bytes > client_bytes_) return false;
  n_held_bytes_ += n_bytes;
  held_of_[client] += n_bytes;
  return true;
}

void BodyRoom::give_back(const std::string& client, size_t n_bytes) {
  const std::lock_guard lock(mutex_);
  n_held_bytes_ -= n_bytes;
  const auto held = held_of_.find(client);
  if ((held->second -= n_bytes) == 0) held_of_.erase(held);
}

BodyRoom::Share::Share(Share&& other) noexcept
    : room_(std::move(other.room_)),
      client_(std::move(other.client_)),
      n_held_bytes_(std::exchange(other.n_held_bytes_, 0)) {}

BodyRoom::Share& BodyRoom::Share::operator=(Share&& other) noexcept {
  std::swap(room_, other.room_);
  std::swap(client_, other.client_);
  std::swap(n_held_bytes_, other.n_held_bytes_);
  return *this;
}

BodyRoom::Share::~Share() {
  if (n_held_bytes_ > 0) room_->give_back(client_, n_held_bytes_);
}

bool BodyRoom::Share::grow_to(size_t n_bytes) {
  if (room_ == nullptr || n_bytes <= kFreeBytes + n_held_bytes_) return true;
  const size_t n_more = n_bytes - kFreeBytes - n_held_bytes_;
  if (!room_->take(client_, n_more)) return false;
  n_held_bytes_ += n_more;
  return true;
}

}  // namespace realizar::server
