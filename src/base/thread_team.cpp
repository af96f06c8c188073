#include "base/thread_team.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/machine.h"

namespace realizar {
namespace {

constexpr int kSpins = 2000;       // about 20 us of pauses before the first yield
constexpr int kIdleYields = 1000;  // yields before an idle member sleeps

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// While it exists, new threads start with all signals blocked, so that signals go to the program's own threads, which
// wait for them. A thread's own faults stay unblocked: if blocked they would end the process, although the guard of a
// mapped file can handle them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGBUS, SIGSEGV, SIGILL, SIGFPE}) sigdelset(&all, fault);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// Counts one arrival and returns whether all n have arrived. Then the count restarts at 0.
bool is_last_of(std::atomic<uint32_t>& arrived, uint32_t n) {
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < n) return false;
  arrived.store(0, std::memory_order_relaxed);
  return true;
}

std::vector<cpu_set_t> places_of(uint32_t n_threads) {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (n_threads < 2 || sched_getaffinity(0, sizeof usable, &usable) != 0) return {};
  return place_members(memory_nodes(usable), n_threads);
}

}  // namespace

ThreadTeam::ThreadTeam(uint32_t n_threads)
    : n_threads_(std::max(1u, n_threads)), inside_(n_threads_), end_(n_threads_) {
  try {
    start();
  } catch (...) {  // the system refused a thread; the ones already started must end
    stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() {
  stop();
}

void ThreadTeam::start() {
  threads_.reserve(n_threads_ - 1);
  const SignalsBlocked blocked;
  const std::vector<cpu_set_t> places = places_of(n_threads_);
  for (uint32_t member = 1; member < n_threads_; ++member) {
    threads_.emplace_back([this, member] { work(member); });
    if (places.empty()) continue;
    pthread_setaffinity_np(threads_.back().native_handle(), sizeof places[member], &places[member]);
  }
}

void ThreadTeam::stop() {
  stop_.store(true);
  generation_.fetch_add(1);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::run(Job job, void* context) {
  job_ = job;
  context_ = context;
  generation_.fetch_add(1);
  generation_.notify_all();
  perform(0);
  if (!failed_.load(std::memory_order_acquire)) return;
  // All members have left the job, some of them from a barrier that the others never reached.
  inside_.forget_arrivals();
  failed_.store(false, std::memory_order_relaxed);
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

// A member's part of a job, until all members are done.
void ThreadTeam::perform(uint32_t member) {
  try {
    job_(context_, member);
  } catch (const Abandoned&) {
  } catch (...) {
    if (!failed_.exchange(true, std::memory_order_acq_rel)) failure_ = std::current_exception();
  }
  meet(end_, member, false);
}

void ThreadTeam::barrier(uint32_t member) {
  meet(inside_, member, true);
}

// Releases all members.
void ThreadTeam::Gate::open(uint32_t next_phase) {
  for (Group& group : groups) group.phase.store(next_phase, std::memory_order_release);
}

void ThreadTeam::Gate::forget_arrivals() {
  for (Group& group : groups) group.arrived.store(0, std::memory_order_relaxed);
  n_complete.store(0, std::memory_order_relaxed);
}

// Records the arrival of a member of the group. True if it is the last one in all groups.
bool ThreadTeam::is_last(Gate& gate, uint32_t group) const {
  const uint32_t n_members = std::min(kGroup, n_threads_ - group * kGroup);
  const auto n_groups = static_cast<uint32_t>(gate.groups.size());
  return is_last_of(gate.groups[group].arrived, n_members) && (n_groups == 1 || is_last_of(gate.n_complete, n_groups));
}

void ThreadTeam::meet(Gate& gate, uint32_t member, bool may_fail) {
  const std::atomic<uint32_t>& passed = gate.groups[member / kGroup].phase;
  const uint32_t phase = passed.load(std::memory_order_acquire);
  if (is_last(gate, member / kGroup)) return gate.open(phase + 1);
  for (int i = 0; passed.load(std::memory_order_acquire) == phase; ++i) {
    if (may_fail && failed_.load(std::memory_order_relaxed)) throw Abandoned{};
    if (i < kSpins) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadTeam::work(uint32_t member) {
  uint32_t seen = 0;
  while (true) {
    for (int i = 0; generation_.load() == seen; ++i) {
      if (i < kSpins) {
        pause();
      } else if (i < kSpins + kIdleYields) {
        std::this_thread::yield();
      } else {
        generation_.wait(seen);
      }
    }
    ++seen;
    if (stop_.load()) return;
    perform(member);
  }
}

}  // namespace realizar
