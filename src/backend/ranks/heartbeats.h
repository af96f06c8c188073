// Heartbeats between rank 0 and each other rank, on a separate communicator and thread: a rank that is silent for too
// long is lost, and so is the job. The end of a process on the same host is noticed at once. Rank 0 forwards losses
// found by any rank to all.
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
  // Starts at once. `comm`: used only here. names: of all ranks.
  Heartbeats(Mpi& mpi, MpiComm comm, uint32_t rank, std::vector<std::string> names, Neighbours neighbours,
             Vitals::Duration silence);
  ~Heartbeats();

  // From any thread, and from signal handlers.
  void set_ending() { is_ending_.store(true); }
  // `callback` is called once, on this object's thread, when a rank is lost; at once if one already is.
  void on_lost(std::function<void(const Error&)> callback);

  // From any thread.
  bool is_lost() const { return is_lost_.load(std::memory_order_acquire); }
  Error error() const;  // Precondition: is_lost().
  // Only the first error is kept.
  void lose(const std::string& message);
  // Whether rank 0 ended normally more than a second ago, so that everything it sent has arrived. False on rank 0.
  bool has_leader_ended() const { return has_leader_ended_; }

  // Announces this rank's end, waits until all ranks end, for at most kLongestEnd and while they are alive, and ends
  // the thread. Returns whether the end was normal.
  bool end();

 private:
  static constexpr size_t kMaxText = 504;
  enum class Kind : uint32_t { kAlive, kEnds, kLost };
  struct Beat {
    Kind kind = Kind::kAlive;
    uint32_t length = 0;  // length of the text
    std::array<char, kMaxText> text{};
  };
  struct Peer {
    uint32_t rank = 0;
    MpiRequest request = nullptr;  // of the pending beat
    Beat beat;
    bool knows_end = false;
  };

  void run();
  std::unique_lock<std::mutex> hold_mpi() const;
  bool poll();
  void read_beats();
  void take(const Beat& beat, uint32_t peer);
  void send_beats(Kind kind);
  bool has_arrived(Peer& peer);
  void judge(bool is_at_end);
  void report_loss();
  bool all_know_end() const;
  std::string peer_names() const;
  std::string text_of(const Vitals::Lost& lost) const;

  Mpi& mpi_;
  MpiComm comm_;
  uint32_t rank_;
  std::vector<std::string> names_;
  Neighbours neighbours_;
  Vitals::Duration silence_;
  // Owned by the thread.
  Vitals vitals_;
  std::vector<Peer> peers_;
  std::chrono::steady_clock::time_point last_look_, next_beats_;
  Vitals::Duration stuck_for_{};   // without acquiring MPI
  Vitals::Duration ending_for_{};  // since set_ending
  bool was_lost_sent_ = false, was_loss_reported_ = false;

  std::atomic<bool> is_ending_{false}, is_lost_{false}, is_at_end_{false}, is_done_{false}, is_in_order_{false},
      has_leader_ended_{false};
  mutable std::mutex mutex_;  // guards the following
  Error error_;
  std::function<void(const Error&)> on_lost_;
  std::thread thread_;
};

}  // namespace realizar::ranks
