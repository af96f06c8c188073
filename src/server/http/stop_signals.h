// SIGINT, SIGTERM and SIGHUP: the first one is reported on a file descriptor, the second one ends the process at once,
// even if it hangs. A signal that the process was started to ignore (nohup) stays ignored.
#pragma once

#include "realizar/result.h"

namespace realizar::server {

// The exit code of a process that a second signal ended, without completing all requests.
inline constexpr int kEndedAtOnce = 1;

// Effective for the rest of the process. Returns a file descriptor that becomes readable at the first signal; this
// module keeps owning it. Errors: ResourceExhausted.
Result<int> catch_stop_signals();

// Does so for SIGUSR1, which asks for logs to be reopened: reading gives the number of signals since the last read.
Result<int> catch_reopen_signal();

}  // namespace realizar::server
