// The total memory for whole answers while they are made, so that no request and no client fills the memory. Tenants
// share it by the rule of engine/fair_share.h. I/O thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <utility>

namespace realizar::server {

// The memory of an answer until it is sent: for each token its slot in the engine's stream, its id, its entry in a
// TokenLog and, if it is reported early, its text; for each alternative its id and its log-probability in the stream
// and in the log.
inline constexpr uint64_t kTokenBytes = 56, kTokenTextBytes = 8, kAlternativeBytes = 16;

class AnswerRoom {
 public:
  // The beginning of an answer is not counted: short ones are always made.
  static constexpr uint64_t kFreeBytes = 64u << 10;

  enum class Grown : uint8_t { kYes, kTooLarge, kNoRoom };

  // The memory of one call's answers, released when it ends.
  class Share {
   public:
    // `give_way`: ends the call, because a tenant with a claim, or an older call of the same tenant, needs the room.
    Share(AnswerRoom& room, uint64_t tenant, std::function<void()> give_way);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // For answers whose total has grown to n_bytes. kNoRoom: this call is the one that gives way.
    Grown grow_to(uint64_t n_bytes);

   private:
    friend class AnswerRoom;
    AnswerRoom& room_;
    const uint64_t tenant_;
    std::function<void()> give_way_;
    uint64_t n_bytes_ = 0;     // beyond the uncounted ones
    bool is_leaving_ = false;  // it was asked to give way
    std::list<Share*>::iterator position_;
  };

  AnswerRoom(uint64_t n_bytes, uint64_t n_bytes_of_one) : n_bytes_(n_bytes), n_bytes_of_one_(n_bytes_of_one) {}

  uint64_t n_bytes_of_one() const { return n_bytes_of_one_; }
  uint64_t n_held_bytes() const { return n_held_bytes_; }
  // Bytes released since the last call.
  uint64_t take_n_freed_bytes() { return std::exchange(n_freed_bytes_, 0); }

 private:
  // Makes calls give way until n_bytes more fit; false: this call would be one of them.
  bool make_room(const Share& own, uint64_t n_bytes);
  Share* next_to_leave(const Share& own, uint64_t n_bytes) const;

  const uint64_t n_bytes_, n_bytes_of_one_;
  uint64_t n_held_bytes_ = 0, n_leaving_bytes_ = 0, n_freed_bytes_ = 0;
  std::list<Share*> shares_;  // the oldest first
};

}  // namespace realizar::server
