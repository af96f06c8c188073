// Which ranks are alive, from what was heard of them: plain arithmetic on times, without a clock, threads or MPI.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace realizar::ranks {

class Vitals {
 public:
  using Duration = std::chrono::steady_clock::duration;
  enum class Fault {
    kSilent,  // nothing was heard for `silence`
    kGone,    // silent for a moment while the job is being ended from outside
    kLeft,    // it ended in good order, and the others go on
  };
  struct Lost {
    uint32_t peer;
    Fault fault;
  };

  // A process that had no time itself must not take that for the others' silence: no look counts for more than this.
  static constexpr Duration kLongestLook = std::chrono::milliseconds(100);
  // When a rank has died, mpirun sends SIGTERM to the others and then SIGKILL: 1 s and 2 s later in Open MPI 4, 0.25 s
  // and 0.5 s later in Open MPI 5. Five beats are missing by then, and there is time to say so.
  static constexpr Duration kGoneAfter = std::chrono::milliseconds(200);

  Vitals(uint32_t n_peers, Duration silence) : silence_(silence), peers_(n_peers) {}

  void heard(uint32_t peer) { peers_[peer].silent_for = {}; }
  // The peer has said that it ends. It goes on to be heard.
  void left(uint32_t peer);
  bool has_left(uint32_t peer) const { return peers_[peer].has_left; }
  bool have_all_left() const;
  // Time since it left.
  Duration left_for(uint32_t peer) const { return peers_[peer].left_for; }
  // So much time has passed since the last look.
  void pass(Duration time);

  struct Now {
    bool is_killed = false;  // the job is being ended from outside
    bool is_at_end = false;  // this rank itself ends in good order
  };
  // The first peer that is lost. Precondition: what has arrived was just read.
  std::optional<Lost> lost(Now now) const;
  // A peer that has been silent for too long, whether or not it has left.
  bool is_any_silent() const;

 private:
  struct Peer {
    Duration silent_for{}, left_for{};
    bool has_left = false;
  };
  Duration silence_;
  std::vector<Peer> peers_;
};

}  // namespace realizar::ranks
