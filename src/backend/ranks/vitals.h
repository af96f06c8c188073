// Which ranks are alive, from their signs of life: arithmetic on times, without a clock, threads or MPI.
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
    kSilent,  // no sign of life for `silence`
    kGone,    // briefly silent while the job is being ended from outside
    kLeft,    // it ended normally while others continue
  };
  struct Lost {
    uint32_t peer;
    Fault fault;
  };

  // A process that was suspended must not count that as others' silence: a poll counts for at most this.
  static constexpr Duration kLongestLook = std::chrono::milliseconds(100);
  // When a rank has died, mpirun sends SIGTERM to the others and then SIGKILL: 1 s and 2 s later in Open MPI 4, 0.25 s
  // and 0.5 s later in Open MPI 5. By then five beats are missing, and there is time to report it.
  static constexpr Duration kGoneAfter = std::chrono::milliseconds(200);

  Vitals(uint32_t n_peers, Duration silence) : silence_(silence), peers_(n_peers) {}

  void heard(uint32_t peer) { peers_[peer].silent_for = {}; }
  // The peer has announced its end. It keeps sending beats.
  void left(uint32_t peer);
  bool has_left(uint32_t peer) const { return peers_[peer].has_left; }
  bool have_all_left() const;
  // Time since it left.
  Duration left_for(uint32_t peer) const { return peers_[peer].left_for; }
  // Advances the time since the last poll.
  void pass(Duration time);

  struct Now {
    bool is_killed = false;  // the job is being ended from outside
    bool is_at_end = false;  // this rank is ending normally
  };
  // The first lost peer. Precondition: all arrived messages have been read.
  std::optional<Lost> lost(Now now) const;
  // Whether any peer has been silent for too long, even if it has left.
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
