// The exchange between processes started by mpirun, on one or several hosts, over Open MPI. Heartbeats detect ranks
// that die, hang or lose their network: see heartbeats.h.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "backend/exchange.h"

namespace realizar::ranks {

// Time without a sign of life after which a rank is lost.
inline constexpr std::chrono::milliseconds kSilence{5000};

// After a loss MPI is unusable and cannot be finalized: the process should report error() and leave by _exit. Buffers
// of pending messages must live until then.
// The destructor of each rank waits for those of the other living ranks, for at most a minute, and finalizes MPI; after
// a loss it does not wait. A rank that is destroyed while others continue is lost for them after kSilence; messages
// that it sent before are received first.
class MpiExchange : public Exchange {
 public:
  // The job is being ended from outside (SIGTERM): from now on a rank that is briefly silent is gone, since mpirun
  // sends SIGTERM to all ranks when one has died, and SIGKILL soon after. If all are alive, the job is to stop, and
  // nothing is lost. From any thread, and from signal handlers.
  virtual void set_ending() = 0;
  // `callback` is called once, with error(), on another thread, when a rank is lost and the other ranks have been
  // notified; it may end the process. Once only.
  virtual void on_lost(std::function<void(const Error&)> callback) = 0;
};

// Opens Open MPI's library and waits for all ranks. Once per process. Errors: NotFound (no such library), Internal.
Result<std::unique_ptr<MpiExchange>> open_mpi(std::chrono::milliseconds silence = kSilence);

}  // namespace realizar::ranks
