// Survives reads of mapped files that cannot be served: a file that became shorter, an I/O error of a disk or network.
// The kernel sends SIGBUS to the thread that reads; the handler puts a page of zeros where the file's is missing and
// marks the map, so that the read completes and whoever owns the map finds out. Other SIGBUS go to the handler that was
// installed before. Any thread may call anything here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace realizar {

// What the handler knows of one map. It is never freed, only used again, since a handler may read it at any time.
struct GuardedMap {
  static constexpr uintptr_t kNowhere = UINTPTR_MAX;
  std::atomic<uintptr_t> begin{kNowhere};  // kNowhere: guards nothing
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> taken{false}, faulted{false};
  GuardedMap* next = nullptr;  // fixed once it can be found
};

// Lets the process survive faults in [data, data + n_bytes). The first call installs the handler.
GuardedMap* guard_map(const std::byte* data, size_t n_bytes);
// Must be called before the map is unmapped.
void release_guard(GuardedMap* guard);

}  // namespace realizar
