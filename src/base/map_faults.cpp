#include "base/map_faults.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <mutex>

namespace realizar {
namespace {

// Lock-free, since the handler may interrupt a thread at any instruction.
std::atomic<GuardedMap*> first_guard{nullptr};
struct sigaction action_before {};
uintptr_t page_bytes = 0;

static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<GuardedMap*>::is_always_lock_free);

// A guard that is released and taken again meanwhile shows another begin.
bool holds(const GuardedMap& guard, uintptr_t address) {
  const uintptr_t begin = guard.begin.load(std::memory_order_acquire);
  const uintptr_t end = guard.end.load(std::memory_order_acquire);
  return address >= begin && address < end && guard.begin.load(std::memory_order_acquire) == begin;
}

GuardedMap* guard_of(uintptr_t address) {
  for (GuardedMap* guard = first_guard.load(std::memory_order_acquire); guard != nullptr; guard = guard->next) {
    if (holds(*guard, address)) return guard;
  }
  return nullptr;
}

// Makes the system call itself, since ThreadSanitizer takes mmap for a write to the page, which other threads read
// meanwhile.
bool put_zeros_at(uintptr_t address) {
  const uintptr_t page = address / page_bytes * page_bytes;
  return ::syscall(SYS_mmap, page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != -1;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((action_before.sa_flags & SA_SIGINFO) != 0) return action_before.sa_sigaction(signal, info, context);
  if (action_before.sa_handler != SIG_DFL && action_before.sa_handler != SIG_IGN) {
    return action_before.sa_handler(signal);
  }
  // The signal is blocked while its handler runs; it ends the process on return.
  struct sigaction end_process {};
  end_process.sa_handler = SIG_DFL;
  ::sigaction(signal, &end_process, nullptr);
  ::raise(signal);
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int error_before = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const bool is_fault = info->si_code > 0;  // not sent by a process
  GuardedMap* guard = is_fault ? guard_of(address) : nullptr;
  if (guard != nullptr && put_zeros_at(address)) {
    guard->faulted.store(true, std::memory_order_release);
  } else {
    pass_on(signal, info, context);
  }
  errno = error_before;
}

void install_handler() {
  page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGBUS, nullptr, &action_before);  // known before the new one can run
  ::sigaction(SIGBUS, &action, nullptr);
}

GuardedMap* take_free_guard() {
  for (GuardedMap* guard = first_guard.load(std::memory_order_acquire); guard != nullptr; guard = guard->next) {
    if (!guard->taken.exchange(true, std::memory_order_acq_rel)) return guard;
  }
  return nullptr;
}

GuardedMap* add_guard() {
  auto* guard = new GuardedMap;
  guard->taken.store(true, std::memory_order_relaxed);
  guard->next = first_guard.load(std::memory_order_relaxed);
  while (!first_guard.compare_exchange_weak(guard->next, guard, std::memory_order_release)) {
  }
  return guard;
}

}  // namespace

GuardedMap* guard_map(const std::byte* data, size_t n_bytes) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  GuardedMap* guard = take_free_guard();
  if (guard == nullptr) guard = add_guard();
  const auto begin = reinterpret_cast<uintptr_t>(data);
  guard->faulted.store(false, std::memory_order_relaxed);
  guard->end.store(begin + n_bytes, std::memory_order_release);
  guard->begin.store(begin, std::memory_order_release);
  return guard;
}

void release_guard(GuardedMap* guard) {
  guard->begin.store(GuardedMap::kNowhere, std::memory_order_release);
  guard->taken.store(false, std::memory_order_release);
}

}  // namespace realizar
