// A resident team of threads that runs one job at a time, with one wake-up per job and cheap barriers inside it. The
// calling thread is member 0. Waiting spins briefly, then yields (so more threads than cores still progress), then,
// between jobs only, sleeps on a futex. One thread at a time may call run. On a machine with several memory nodes, each
// of the team's own threads stays on one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace realizar {

class ThreadTeam {
 public:
  using Job = void (*)(void* context, uint32_t member);

  explicit ThreadTeam(uint32_t n_threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  uint32_t size() const { return n_threads_; }

  // Runs job(context, member) on every member; returns when all are done. An exception in a member ends the job: the
  // others leave it at their next barrier, and run() rethrows the exception.
  void run(Job job, void* context);
  template <class Body>
  void run(Body& body) {
    run([](void* context, uint32_t member) { (*static_cast<Body*>(context))(member); }, &body);
  }

  // Called inside a job by every member with its number; none continues before all have arrived.
  void barrier(uint32_t member);

 private:
  // All members meet at a gate: the members of a group at the group's own cache lines, then the last member of each
  // group at a shared one. With a single line, every processor would write it in turn and then read it. The line that a
  // group writes and the line that it waits for are two lines apart, since some processors fetch lines in pairs.
  static constexpr uint32_t kGroup = 8;  // neighbours
  struct Gate {
    struct Group {
      alignas(128) std::atomic<uint32_t> arrived{0};
      alignas(128) std::atomic<uint32_t> phase{0};  // number of times that all have met
    };
    explicit Gate(uint32_t n_threads) : groups((n_threads + kGroup - 1) / kGroup) {}
    void open(uint32_t next_phase);
    void forget_arrivals();

    std::vector<Group> groups;
    alignas(64) std::atomic<uint32_t> n_complete{0};  // groups whose members have all arrived
  };
  struct Abandoned {};  // thrown at a barrier after another member has failed

  void start();
  void stop();
  void work(uint32_t member);
  void perform(uint32_t member);
  void meet(Gate& gate, uint32_t member, bool may_fail);
  bool is_last(Gate& gate, uint32_t group) const;

  uint32_t n_threads_;
  Job job_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<uint32_t> generation_{0};  // jobs started
  Gate inside_, end_;                                // barriers inside a job, and its end
  alignas(64) std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // the first member's exception
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

// Spreads n items over a team: each member has a contiguous range, the same in every loop over n items, so that it
// reads memory sequentially and memory that it touched first; members that finish early help the others.

// The first item of a member's range; n for member n_members.
inline uint32_t first_of_share(uint32_t n, uint32_t member, uint32_t n_members) {
  return static_cast<uint32_t>(uint64_t{n} * member / n_members);
}

// Calls body(i) once for each i < n, on one of the members, all of which must call this with the same n. taken:
// [n_members], all zero before the first call. Members take half of the remaining range at a time.
template <class Body>
void share_work(std::atomic<uint32_t>* taken, uint32_t n, uint32_t member, uint32_t n_members, const Body& body) {
  for (uint32_t k = 0; k < n_members; ++k) {
    const uint32_t owner = (member + k) % n_members;
    const uint32_t begin = first_of_share(n, owner, n_members), size = first_of_share(n, owner + 1, n_members) - begin;
    for (uint32_t first = taken[owner].load(std::memory_order_relaxed); first < size;) {
      const uint32_t end = first + std::max(1u, (size - first) / 2);
      if (!taken[owner].compare_exchange_weak(first, end, std::memory_order_relaxed)) continue;
      for (uint32_t i = first; i < end; ++i) body(begin + i);
      first = taken[owner].load(std::memory_order_relaxed);
    }
  }
}

}  // namespace realizar
