// The process and the system: memory that it keeps, used or not, file descriptors, and signals.
#pragma once

#include <cstdint>

#include "realizar/result.h"

namespace realizar::server {

// To be called once, before threads are started: blocks above about 100 KB go back to the system when they are freed.
void return_large_blocks();
// Returns freed small blocks from the allocator to the system, which takes milliseconds.
void give_memory_back();
// The process's resident memory; 0 if the system does not report it.
uint64_t resident_bytes();

// Raises the soft limit of file descriptors to the hard one, as far as the system allows, and returns it.
uint64_t raise_file_limit();
// The number of connections that a limit leaves room for, at one descriptor each, after the process's own descriptors.
uint32_t max_connections_under(uint64_t file_limit);

// The exit code of a process that a second signal ended, without completing all requests.
inline constexpr int kEndedAtOnce = 1;

// SIGINT, SIGTERM and SIGHUP: the first one is reported on a file descriptor, the second one ends the process at once,
// even if it hangs. A signal that the process was started to ignore (nohup) stays ignored. Effective for the rest of
// the process. Returns a file descriptor that becomes readable at the first signal; this module keeps owning it.
// Errors: ResourceExhausted.
Result<int> catch_stop_signals();

// Does so for SIGUSR1, which asks for logs to be reopened: reading gives the number of signals since the last read.
Result<int> catch_reopen_signal();

}  // namespace realizar::server
