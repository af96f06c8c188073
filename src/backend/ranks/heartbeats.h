// The signs of life between rank 0 and each other rank, on a communicator and a thread of their own: who is silent for
// too long is lost, and so is the job. Ends of processes on the own host are noticed at once. Rank 0 passes on to all
// what any rank finds out.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/ranks/mpi_library.h"
#include "backend/ranks/neighbours.h"
#include "backend/ranks/vitals.h"

namespace realizar::ranks {

class Heartbeats {
 public:
  // Begins at once. `comm`: for this alone. names: of all ranks.
  Heartbeats(Mpi& mpi, MpiComm comm, uint32_t rank, std::vector<std::string> names, Neighbours neighbours,
             Vitals::Duration silence);
  ~Heartbeats();

  // Any thread, and a signal's handler.
  void set_ending() { is_ending_.store(true); }
  // Called once, by the thread of this, when a rank is lost; at once if one is already.
  void on_lost(std::function<void(const Error&)> tell);

  // Any thread.
  bool is_lost() const { return is_lost_.load(std::memory_order_acquire); }
  Error error() const;  // Precondition: is_lost().
  // The first error stays.
  void lose(const std::string& message);
  // Rank 0 has ended in good order more than a second ago: what it sent has arrived. False on rank 0.
  bool has_leader_ended() const { return has_leader_ended_; }

  // Tells the others that this rank ends, and waits until all do, at most for kLongestEnd, and no longer than they are
  // alive. Then the thread ends. Whether all is in order.
  bool end();

 private:
  static constexpr size_t kMaxText = 504;
  enum class Kind : uint32_t { kAlive, kEnds, kLost };
  struct Beat {
    Kind kind = Kind::kAlive;
    uint32_t length = 0;  // of the text
    std::array<char, kMaxText> text{};
  };
  struct Peer {
    uint32_t rank = 0;
    MpiRequest request = nullptr;  // of the beat that is under way
    Beat beat;
    bool was_told_end = false;
  };

  void run();
  std::unique_lock<std::mutex> hold_mpi() const;
  bool look();
  void read_beats();
  void take(const Beat& beat, uint32_t peer);
  void send_beats(Kind kind);
  bool has_arrived(Peer& peer);
  void judge(bool is_at_end);
  void tell_lost();
  bool are_all_told() const;
  std::string peer_names() const;
  std::string text_of(const Vitals::Lost& lost) const;

  Mpi& mpi_;
  MpiComm comm_;
  uint32_t rank_;
  std::vector<std::string> names_;
  Neighbours neighbours_;
  Vitals::Duration silence_;
  // The thread's.
  Vitals vitals_;
  std::vector<Peer> peers_;
  std::chrono::steady_clock::time_point last_look_, next_beats_;
  Vitals::Duration stuck_for_{};   // without getting hold of MPI
  Vitals::Duration ending_for_{};  // since set_ending
  bool was_lost_sent_ = false, was_lost_told_ = false;

  std::atomic<bool> is_ending_{false}, is_lost_{false}, is_at_end_{false}, is_done_{false}, is_in_order_{false},
      has_leader_ended_{false};
  mutable std::mutex mutex_;  // of what follows
  Error error_;
  std::function<void(const Error&)> on_lost_;
  std::thread thread_;
};

}  // namespace realizar::ranks
