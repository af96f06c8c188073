// SIGINT, SIGTERM and SIGHUP: the first one is told on a file descriptor, the second one ends the process at once,
// whatever hangs. A signal that the process was started to ignore (nohup) stays ignored.
#pragma once

#include "realizar/result.h"

namespace realizar::server {

// The exit code of a process that a second signal ended: not everything was served.
inline constexpr int kEndedAtOnce = 1;

// From now on, for the rest of the process. Gives a file descriptor that becomes readable at the first signal; it stays
// the callee's. Errors: ResourceExhausted.
Result<int> catch_stop_signals();

// The same for SIGUSR1: how often it came since the last read. Whoever sends it wants logs to be opened anew.
Result<int> catch_reopen_signal();

}  // namespace realizar::server
