// The room that whole answers have together while they are made, so that no request and no client fills the memory.
// Tenants share it by the rule of engine/fair_share.h. I/O thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <utility>

namespace realizar::server {

// What an answer takes until it is sent: a token its place in the engine's stream, its id, its entry in a TokenLog and,
// in what is told ahead, its text; an alternative its id and its log-probability in the stream and in the log.
inline constexpr uint64_t kTokenBytes = 56, kTokenTextBytes = 8, kAlternativeBytes = 16;

class AnswerRoom {
 public:
  // The beginning of an answer takes no room: short ones are always made.
  static constexpr uint64_t kFreeBytes = 64u << 10;

  enum class Grown : uint8_t { kYes, kTooLarge, kNoRoom };

  // What the answers of one call hold of the room; gives it back when it ends.
  class Share {
   public:
    // `give_way`: ends the call, since a tenant with a claim, or an older call of the same, needs the room.
    Share(AnswerRoom& room, uint64_t tenant, std::function<void()> give_way);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // For answers that have n_bytes in all by now. kNoRoom: this call is the one that gives way.
    Grown grow_to(uint64_t n_bytes);

   private:
    friend class AnswerRoom;
    AnswerRoom& room_;
    const uint64_t tenant_;
    std::function<void()> give_way_;
    uint64_t n_bytes_ = 0;     // beyond the free ones
    bool is_leaving_ = false;  // it has been told to give way
    std::list<Share*>::iterator place_;
  };

  AnswerRoom(uint64_t n_bytes, uint64_t n_bytes_of_one) : n_bytes_(n_bytes), n_bytes_of_one_(n_bytes_of_one) {}

  uint64_t n_bytes_of_one() const { return n_bytes_of_one_; }
  uint64_t n_held_bytes() const { return n_held_bytes_; }
  // Bytes that were given back since the last call.
  uint64_t take_n_freed_bytes() { return std::exchange(n_freed_bytes_, 0); }

 private:
  // Has calls give way until n_bytes more fit; false: that would be this one.
  bool make_room(const Share& own, uint64_t n_bytes);
  Share* next_to_leave(const Share& own, uint64_t n_bytes) const;

  const uint64_t n_bytes_, n_bytes_of_one_;
  uint64_t n_held_bytes_ = 0, n_leaving_bytes_ = 0, n_freed_bytes_ = 0;
  std::list<Share*> shares_;  // the oldest first
};

}  // namespace realizar::server
