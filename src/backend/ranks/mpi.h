// The exchange of processes that mpirun started, on one host or several, over Open MPI. A rank that dies, hangs or
// loses its network is noticed by heartbeats: see heartbeats.h.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "backend/exchange.h"

namespace realizar::ranks {

// A rank is lost after this time without a sign of life.
inline constexpr std::chrono::milliseconds kSilence{5000};

// After a loss MPI is not used any more and cannot be ended in good order: the process should say error() and leave by
// _exit. Buffers of messages that were under way must stay until then.
// The destructor of each rank waits for those of the others while they are alive, at most for a minute, and ends MPI;
// it waits for nobody once a rank is lost. A rank that is destroyed while others work on is lost for them after
// kSilence. What was sent before is received first.
class MpiExchange : public Exchange {
 public:
  // The job is being ended from outside (SIGTERM): from now on a rank that is silent for a moment is gone, since mpirun
  // sends SIGTERM to all when one of them has died, and SIGKILL soon after. Where all are alive, someone wants the job
  // to stop, and nothing is lost. Any thread, and a signal's handler.
  virtual void set_ending() = 0;
  // `tell` is called once, with error(), when a rank is lost, by a thread of this; it may end the process. The others
  // have been told then. Once only.
  virtual void on_lost(std::function<void(const Error&)> tell) = 0;
};

// Opens Open MPI's library and waits for all ranks. Once in a process. Errors: NotFound (the library is not there),
// Internal.
Result<std::unique_ptr<MpiExchange>> open_mpi(std::chrono::milliseconds silence = kSilence);

}  // namespace realizar::ranks
