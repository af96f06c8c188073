#include "backend/ranks/mpi.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/ranks/heartbeats.h"
#include "backend/ranks/mpi_library.h"
#include "backend/ranks/pace.h"
#include "base/check.h"
#include "base/printable.h"
#include "base/try.h"

namespace realizar::ranks {
namespace {

using MpiClock = std::chrono::steady_clock;

constexpr int kTagOfMessages = 1;
// MPI's counts are ints, and it copies within calls that exclude other threads. A message is divided into pieces of
// this size; the last one is shorter, possibly empty, so that a receiver who does not know the length finds the end.
constexpr size_t kPieceBytes = 64u << 20;
constexpr size_t kMaxHostName = 256;
constexpr auto kLongestFinalize = std::chrono::seconds(10);

// Number of cores that the process may use.
uint32_t n_usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<uint32_t>(CPU_COUNT(&set))
                                                     : std::max(1u, std::thread::hardware_concurrency());
}

class MpiRanks final : public MpiExchange {
 public:
  explicit MpiRanks(Mpi& mpi) : mpi_(mpi) {}
  ~MpiRanks() override;

  Status open(std::chrono::milliseconds silence);

  uint32_t rank() const override { return rank_; }
  uint32_t n_ranks() const override { return static_cast<uint32_t>(names_.size()); }
  uint32_t n_host_ranks() const override { return n_host_ranks_; }
  uint32_t host_rank() const override { return host_rank_; }
  std::string name_of(uint32_t rank) const override {
    REQUIRE(rank < names_.size());
    return names_[rank];
  }

  Status transfer(std::span<const Outgoing> out, std::span<const Incoming> in) override;
  void expect(const Incoming& message) override;
  Status finish() override;
  Result<size_t> receive(const Incoming& message) override;

  bool is_lost() const override { return beats_.has_value() && beats_->is_lost(); }
  Error error() const override { return beats_->error(); }
  const ExchangeUse& use() const override { return use_; }

  void set_ending() override { beats_->set_ending(); }
  void on_lost(std::function<void(const Error&)> callback) override { beats_->on_lost(std::move(callback)); }

 private:
  // A pending piece of a message.
  struct Piece {
    MpiRequest request;
    uint32_t peer;
    size_t n_bytes;  // exactly
    bool is_incoming;
  };

  Status check(int code, const char* what) const;
  Status gather_names();
  Status find_neighbours(Neighbours& neighbours);
  void begin_sending(const Outgoing& message);
  void begin_receiving(const Incoming& message, std::vector<Piece>& pieces);
  Status wait(std::vector<Piece>& pieces);
  bool poll(std::vector<Piece>& pieces);
  bool is_complete(Piece& piece);
  std::optional<size_t> poll_length(Piece& piece);
  bool has_leader_ended();
  void lose(const Piece& piece, const std::string& what);
  void finalize();

  Mpi& mpi_;
  MpiComm comm_ = nullptr;
  uint32_t rank_ = 0, n_host_ranks_ = 1, host_rank_ = 0;
  bool yields_ = false;
  std::vector<std::string> names_;
  std::optional<Heartbeats> beats_;
  std::vector<Piece> pieces_, expected_;
  ExchangeUse use_;
};

Status MpiRanks::check(int code, const char* what) const {
  if (code == kMpiSuccess) return {};
  return Error{ErrorCode::kInternal, std::string("MPI: ") + what + ": " + printable(mpi_.error_text(code)), "mpi"};
}

Status MpiRanks::open(std::chrono::milliseconds silence) {
  const MpiCalls& calls = mpi_.calls;
  int is_open = 0, level = 0, rank = 0;
  RZ_CHECK_OK(check(calls.initialized(&is_open), "MPI_Initialized"));
  if (is_open != 0) return Error{ErrorCode::kInternal, "MPI was opened before in this process", "mpi"};
  // Open MPI 5 ends the process when a connection breaks, unless this makes it return an error.
  ::setenv("OMPI_MCA_mpi_ft_enable", "1", 0);
  void* const show_here = mpi_.show_help != nullptr ? *mpi_.show_help : nullptr;
  RZ_CHECK_OK(check(calls.init_thread(nullptr, nullptr, kMpiThreadSerialized, &level), "MPI_Init_thread"));
  if (show_here != nullptr) *mpi_.show_help = show_here;
  if (level < kMpiThreadSerialized) {
    return Error{ErrorCode::kInternal, "this MPI allows calls from only one thread (MPI_THREAD_SERIALIZED is needed)",
                 "mpi"};
  }
  RZ_CHECK_OK(check(calls.comm_set_errhandler(mpi_.world, mpi_.errors_return), "MPI_Comm_set_errhandler"));
  RZ_CHECK_OK(check(calls.comm_rank(mpi_.world, &rank), "MPI_Comm_rank"));
  rank_ = static_cast<uint32_t>(rank);
  RZ_CHECK_OK(gather_names());
  Neighbours neighbours;
  RZ_CHECK_OK(find_neighbours(neighbours));
  yields_ = n_usable_cores() < n_host_ranks_;
  MpiComm beats = nullptr;
  // Copies inherit the error handler.
  RZ_CHECK_OK(check(calls.comm_dup(mpi_.world, &comm_), "MPI_Comm_dup"));
  RZ_CHECK_OK(check(calls.comm_dup(mpi_.world, &beats), "MPI_Comm_dup"));
  pieces_.reserve(4 * names_.size());
  expected_.reserve(4 * names_.size());
  beats_.emplace(mpi_, beats, rank_, names_, std::move(neighbours), silence);
  return {};
}

Status MpiRanks::gather_names() {
  int n_ranks = 0;
  RZ_CHECK_OK(check(mpi_.calls.comm_size(mpi_.world, &n_ranks), "MPI_Comm_size"));
  using HostName = std::array<char, kMaxHostName>;
  HostName own{};
  if (::gethostname(own.data(), own.size() - 1) != 0) own = {};
  std::vector<HostName> hosts(static_cast<size_t>(n_ranks));
  RZ_CHECK_OK(check(
      mpi_.calls.allgather(own.data(), kMaxHostName, mpi_.byte, hosts.data(), kMaxHostName, mpi_.byte, mpi_.world),
      "MPI_Allgather"));
  for (size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].back() = 0;
    names_.push_back("rank " + std::to_string(i) + " (" + printable(hosts[i].data()) + ")");
  }
  return {};
}

Status MpiRanks::find_neighbours(Neighbours& neighbours) {
  const MpiCalls& calls = mpi_.calls;
  MpiComm host = nullptr;
  int n = 0, n_before = 0;
  RZ_CHECK_OK(
      check(calls.comm_split_type(mpi_.world, kMpiCommTypeShared, 0, mpi_.no_info, &host), "MPI_Comm_split_type"));
  RZ_CHECK_OK(check(calls.comm_size(host, &n), "MPI_Comm_size"));
  RZ_CHECK_OK(check(calls.comm_rank(host, &n_before), "MPI_Comm_rank"));
  n_host_ranks_ = static_cast<uint32_t>(n);
  host_rank_ = static_cast<uint32_t>(n_before);
  struct Process {
    uint64_t rank, pid, numbers;  // numbers: namespace of the pid; containers have their own
  };
  struct stat numbers {};
  const bool has_numbers = ::stat("/proc/self/ns/pid", &numbers) == 0;
  const Process own{rank_, static_cast<uint64_t>(::getpid()), has_numbers ? numbers.st_ino : 0};
  std::vector<Process> all(n_host_ranks_);
  RZ_CHECK_OK(
      check(calls.allgather(&own, sizeof own, mpi_.byte, all.data(), sizeof own, mpi_.byte, host), "MPI_Allgather"));
  for (const Process& process : all) {
    if (process.rank == rank_ || !has_numbers || process.numbers != own.numbers) continue;
    neighbours.add(static_cast<uint32_t>(process.rank), static_cast<pid_t>(process.pid));
  }
  return {};
}

// The mutex must be held.
void MpiRanks::begin_sending(const Outgoing& message) {
  REQUIRE(message.to < names_.size() && message.to != rank_);
  for (size_t at = 0;; at += kPieceBytes) {
    const size_t n = std::min(kPieceBytes, message.bytes.size() - at);
    Piece piece{mpi_.no_request, message.to, n, false};
    const int code = mpi_.calls.isend(message.bytes.data() + at, static_cast<int>(n), mpi_.byte,
                                      static_cast<int>(message.to), kTagOfMessages, comm_, &piece.request);
    if (code != kMpiSuccess) return lose(piece, mpi_.error_text(code));
    pieces_.push_back(piece);
    if (n < kPieceBytes) break;
  }
  ++use_.n_messages;
  use_.n_bytes += message.bytes.size();
}

// The mutex must be held.
void MpiRanks::begin_receiving(const Incoming& message, std::vector<Piece>& pieces) {
  REQUIRE(message.from < names_.size() && message.from != rank_);
  for (size_t at = 0;; at += kPieceBytes) {
    const size_t n = std::min(kPieceBytes, message.bytes.size() - at);
    Piece piece{mpi_.no_request, message.from, n, true};
    const int code = mpi_.calls.irecv(message.bytes.data() + at, static_cast<int>(n), mpi_.byte,
                                      static_cast<int>(message.from), kTagOfMessages, comm_, &piece.request);
    if (code != kMpiSuccess) return lose(piece, mpi_.error_text(code));
    pieces.push_back(piece);
    if (n < kPieceBytes) break;
  }
}

Status MpiRanks::transfer(std::span<const Outgoing> out, std::span<const Incoming> in) {
  if (is_lost()) return error();
  pieces_.clear();
  {
    const std::lock_guard lock(mpi_.mutex);
    for (const Incoming& message : in) begin_receiving(message, pieces_);
    for (const Outgoing& message : out) begin_sending(message);
  }
  return wait(pieces_);
}

void MpiRanks::expect(const Incoming& message) {
  if (is_lost()) return;
  const std::lock_guard lock(mpi_.mutex);
  begin_receiving(message, expected_);
}

Status MpiRanks::finish() {
  return wait(expected_);
}

Status MpiRanks::wait(std::vector<Piece>& pieces) {
  const auto begin = MpiClock::now();
  Pace pace(Pace::Wait::kForWork, yields_);
  while (!is_lost() && !poll(pieces) && !has_leader_ended()) pace.pause();
  use_.wait_ns += static_cast<uint64_t>((MpiClock::now() - begin).count());
  pieces.clear();
  return is_lost() ? Status(error()) : Status();
}

// Removes pieces that have arrived; returns whether all have.
bool MpiRanks::poll(std::vector<Piece>& pieces) {
  const std::lock_guard lock(mpi_.mutex);
  std::erase_if(pieces, [&](Piece& piece) { return is_complete(piece); });
  return pieces.empty();
}

bool MpiRanks::is_complete(Piece& piece) {
  const std::optional<size_t> n = poll_length(piece);
  if (!n.has_value()) return false;
  if (piece.is_incoming && *n != piece.n_bytes) {
    lose(piece, "a message has " + std::to_string(*n) + " bytes instead of " + std::to_string(piece.n_bytes));
  }
  return true;
}

// Number of bytes that have arrived; nullopt while pending. The mutex must be held.
std::optional<size_t> MpiRanks::poll_length(Piece& piece) {
  int is_done = 0, n = 0;
  MpiStatus status{};
  int code = mpi_.calls.test(&piece.request, &is_done, &status);
  if (code == kMpiSuccess && is_done == 0) return std::nullopt;
  if (code == kMpiSuccess && piece.is_incoming) code = mpi_.calls.get_count(&status, mpi_.byte, &n);
  if (code == kMpiSuccess) return static_cast<size_t>(n);
  lose(piece, mpi_.error_text(code));
  return std::nullopt;
}

Result<size_t> MpiRanks::receive(const Incoming& message) {
  REQUIRE(message.from < names_.size() && message.from != rank_);
  Pace pace(Pace::Wait::kForHours, yields_);
  for (size_t at = 0; !is_lost();) {
    Piece piece{mpi_.no_request, message.from, std::min(kPieceBytes, message.bytes.size() - at), true};
    std::optional<size_t> n;
    {
      const std::lock_guard lock(mpi_.mutex);
      const int code = mpi_.calls.irecv(message.bytes.data() + at, static_cast<int>(piece.n_bytes), mpi_.byte,
                                        static_cast<int>(message.from), kTagOfMessages, comm_, &piece.request);
      if (code != kMpiSuccess) lose(piece, mpi_.error_text(code));
    }
    while (!is_lost() && !n.has_value() && !has_leader_ended()) {
      pace.pause();
      const std::lock_guard lock(mpi_.mutex);
      n = poll_length(piece);
    }
    if (!n.has_value()) break;
    at += *n;
    if (*n < kPieceBytes) return at;
  }
  return error();
}

// After the end of rank 0 no message will arrive.
bool MpiRanks::has_leader_ended() {
  if (!beats_->has_leader_ended()) return false;
  beats_->lose(names_[0] + " has ended while " + names_[rank_] + " waits for a message; the job ends");
  return true;
}

void MpiRanks::lose(const Piece& piece, const std::string& what) {
  beats_->lose("MPI, " + std::string(piece.is_incoming ? "from " : "to ") + names_[piece.peer] + ": " +
               printable(what));
}

MpiRanks::~MpiRanks() {
  if (beats_.has_value() && beats_->end()) finalize();
}

// On a separate thread, which is abandoned if the library hangs.
void MpiRanks::finalize() {
  struct End {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
  };
  const auto end = std::make_shared<End>();
  std::thread([end, finalize = mpi_.calls.finalize] {
    finalize();
    const std::lock_guard lock(end->mutex);
    end->is_done = true;
    end->changed.notify_all();
  }).detach();
  std::unique_lock lock(end->mutex);
  end->changed.wait_for(lock, kLongestFinalize, [&] { return end->is_done; });
}

}  // namespace

Result<std::unique_ptr<MpiExchange>> open_mpi(std::chrono::milliseconds silence) {
  RZ_TRY(Mpi* const mpi, open_mpi_library());
  auto ranks = std::make_unique<MpiRanks>(*mpi);
  RZ_CHECK_OK(ranks->open(silence));
  return std::unique_ptr<MpiExchange>(std::move(ranks));
}

}  // namespace realizar::ranks
