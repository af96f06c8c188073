#include "backend/ranks/heartbeats.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/printable.h"

namespace realizar::ranks {
namespace {

using std::chrono::milliseconds;
using BeatClock = std::chrono::steady_clock;

constexpr auto kBeatEvery = milliseconds(40);
constexpr auto kLookEvery = milliseconds(20);
constexpr auto kLongestEnd = std::chrono::seconds(60);
constexpr auto kSendsNothingAfter = std::chrono::seconds(1);
// A process that survives SIGTERM for longer is not being killed by mpirun, and may be ending at its own pace.
constexpr auto kKilledWithin = std::chrono::seconds(3);
constexpr int kTagOfBeats = 2;
constexpr int kMaxReads = 256;  // per poll
constexpr int kMaxTries = 100;  // attempts to acquire MPI per poll
constexpr auto kTryEvery = std::chrono::microseconds(200);

std::string seconds_text(Vitals::Duration time) {
  const auto ms = std::chrono::duration_cast<milliseconds>(time).count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

}  // namespace

Heartbeats::Heartbeats(Mpi& mpi, MpiComm comm, uint32_t rank, std::vector<std::string> names, Neighbours neighbours,
                       Vitals::Duration silence)
    : mpi_(mpi),
      comm_(comm),
      rank_(rank),
      names_(std::move(names)),
      neighbours_(std::move(neighbours)),
      silence_(silence),
      vitals_(rank == 0 ? static_cast<uint32_t>(names_.size()) - 1 : 1, silence),
      peers_(rank == 0 ? names_.size() - 1 : 1),
      last_look_(BeatClock::now()) {
  for (uint32_t i = 0; i < peers_.size(); ++i) {
    peers_[i].rank = rank == 0 ? i + 1 : 0;
    peers_[i].request = mpi.no_request;
  }
  thread_ = std::thread([this] { run(); });
}

Heartbeats::~Heartbeats() {
  is_done_ = true;
  if (thread_.joinable()) thread_.join();
}

void Heartbeats::on_lost(std::function<void(const Error&)> callback) {
  const std::lock_guard lock(mutex_);
  on_lost_ = std::move(callback);
}

Error Heartbeats::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void Heartbeats::lose(const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (is_lost_) return;
  error_ = {ErrorCode::kInternal, message, "mpi"};
  is_lost_.store(true, std::memory_order_release);
}

bool Heartbeats::end() {
  is_at_end_ = true;
  if (thread_.joinable()) thread_.join();
  return is_in_order_;
}

void Heartbeats::run() {
  BeatClock::duration at_end_for{};
  while (!is_done_) {
    const bool is_at_end = is_at_end_;
    const auto now = BeatClock::now();
    const auto time = now - std::exchange(last_look_, now);
    vitals_.pass(time);
    stuck_for_ = poll() ? Vitals::Duration() : stuck_for_ + std::min(time, Vitals::kLongestLook);
    if (is_ending_) ending_for_ += time;
    judge(is_at_end);
    report_loss();
    if (is_at_end) {
      at_end_for += time;
      is_in_order_ = !is_lost_ && vitals_.have_all_left() && all_know_end();
      if (is_in_order_ || is_lost_ || vitals_.is_any_silent() || at_end_for >= kLongestEnd) return;
    }
    const auto pause = is_at_end ? milliseconds(1) : kLookEvery;
    if (neighbours_.ended()) {
      std::this_thread::sleep_for(pause);
    } else {
      neighbours_.wait(pause);  // returns at once when one ends
    }
  }
}

// The holder of MPI may be stuck in it because of a lost rank, so this does not wait for long.
std::unique_lock<std::mutex> Heartbeats::hold_mpi() const {
  std::unique_lock lock(mpi_.mutex, std::try_to_lock);
  for (int i = 0; i < kMaxTries && !lock; ++i) {
    std::this_thread::sleep_for(kTryEvery);
    lock.try_lock();
  }
  return lock;
}

// Reads, and sends when it is time. False on failure.
bool Heartbeats::poll() {
  if (is_lost_) return false;
  const std::unique_lock lock = hold_mpi();
  if (!lock) return false;
  read_beats();
  if (is_at_end_ && !all_know_end()) {
    send_beats(Kind::kEnds);
  } else if (BeatClock::now() >= next_beats_) {
    send_beats(is_at_end_ ? Kind::kEnds : Kind::kAlive);
    next_beats_ = BeatClock::now() + kBeatEvery;
  }
  return true;
}

void Heartbeats::read_beats() {
  for (int i = 0; i < kMaxReads; ++i) {
    MpiStatus status{};
    int is_there = 0;
    if (mpi_.calls.iprobe(kMpiAnySource, kTagOfBeats, comm_, &is_there, &status) != kMpiSuccess || is_there == 0)
      return;
    Beat beat;
    // A beat fits in MPI's envelope, so this does not wait.
    if (mpi_.calls.recv(&beat, sizeof beat, mpi_.byte, status.source, kTagOfBeats, comm_, &status) != kMpiSuccess) {
      return;
    }
    const auto rank = static_cast<uint32_t>(status.source);
    const auto peer = std::find_if(peers_.begin(), peers_.end(), [&](const Peer& p) { return p.rank == rank; });
    if (peer != peers_.end()) take(beat, static_cast<uint32_t>(peer - peers_.begin()));
  }
}

void Heartbeats::take(const Beat& beat, uint32_t peer) {
  vitals_.heard(peer);
  if (beat.kind == Kind::kEnds) vitals_.left(peer);
  if (beat.kind == Kind::kLost) {
    const std::string text(beat.text.data(), std::min<size_t>(beat.length, kMaxText));
    lose(names_[peers_[peer].rank] + " says: " + printable(text));
  }
}

// At most one beat to a rank is pending, so that a stopped rank does not use up memory here.
void Heartbeats::send_beats(Kind kind) {
  const std::string text = kind == Kind::kLost ? error().message : "";
  for (Peer& peer : peers_) {
    if (!has_arrived(peer)) continue;
    peer.beat.kind = kind;
    peer.beat.length = static_cast<uint32_t>(std::min(text.size(), kMaxText));
    std::memcpy(peer.beat.text.data(), text.data(), peer.beat.length);
    const int code = mpi_.calls.isend(&peer.beat, sizeof peer.beat, mpi_.byte, static_cast<int>(peer.rank), kTagOfBeats,
                                      comm_, &peer.request);
    if (code != kMpiSuccess) peer.request = mpi_.no_request;
    peer.knows_end = peer.knows_end || (code == kMpiSuccess && kind == Kind::kEnds);
  }
}

bool Heartbeats::has_arrived(Peer& peer) {
  if (peer.request == mpi_.no_request) return true;
  int is_done = 0;
  MpiStatus status{};
  // A failed beat is not pending any more; loss of the rank is decided by its silence.
  if (mpi_.calls.test(&peer.request, &is_done, &status) != kMpiSuccess) peer.request = mpi_.no_request;
  return peer.request == mpi_.no_request;
}

bool Heartbeats::all_know_end() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.knows_end; });
}

void Heartbeats::judge(bool is_at_end) {
  if (rank_ != 0 && vitals_.left_for(0) >= kSendsNothingAfter) has_leader_ended_ = true;
  // After the end of rank 0, silence is not a fault.
  if (rank_ != 0 && vitals_.has_left(0)) return;
  const std::optional<uint32_t> ended = neighbours_.ended();
  if (ended.has_value() && !is_at_end) return lose(names_[*ended] + " has died; the job ends");
  const bool is_killed = is_ending_ && ending_for_ < kKilledWithin;
  if (stuck_for_ > Vitals::Duration()) {
    // All ranks seem silent in this case.
    if (stuck_for_ < (is_killed ? Vitals::kGoneAfter : silence_)) return;
    lose("MPI hangs in " + names_[rank_] + ", perhaps because a rank has died or lost its network (it talks to " +
         peer_names() + "); the job ends");
  } else if (const auto lost = vitals_.lost({is_killed, is_at_end})) {
    lose(text_of(*lost));
  }
}

std::string Heartbeats::peer_names() const {
  std::string text;
  for (const Peer& peer : peers_) text += (text.empty() ? "" : ", ") + names_[peer.rank];
  return text;
}

std::string Heartbeats::text_of(const Vitals::Lost& lost) const {
  const std::string& name = names_[peers_[lost.peer].rank];
  switch (lost.fault) {
    case Vitals::Fault::kGone:
      return name + " is gone; the job ends";
    case Vitals::Fault::kLeft:
      return name + " has ended before the others; the job ends";
    case Vitals::Fault::kSilent:
      break;
  }
  return name + " has been silent for " + seconds_text(silence_) +
         ": it died, hangs, or has lost its network; the job ends";
}

// The other ranks first, since the program may end in the callback.
void Heartbeats::report_loss() {
  if (!is_lost_) return;
  if (!std::exchange(was_lost_sent_, true)) {
    if (const std::unique_lock lock = hold_mpi(); lock) {
      send_beats(Kind::kLost);
      for (Peer& peer : peers_) has_arrived(peer);
    }
  }
  std::function<void(const Error&)> callback;
  {
    const std::lock_guard lock(mutex_);
    callback = on_lost_;
  }
  if (callback && !std::exchange(was_loss_reported_, true)) callback(error());
}

}  // namespace realizar::ranks
