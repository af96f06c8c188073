// How a process finds out that a launcher of MPI started it, before MPI is opened.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace realizar::ranks {

// The value of an environment variable; null where it is not set.
using LookUp = std::function<const char*(const char* name)>;

struct Launch {
  uint32_t n_ranks = 1;  // 1: no launcher, or it started one process
  std::string variable;  // which said so, e.g. OMPI_COMM_WORLD_SIZE; "" for one rank
};
// How many ranks the launcher of this process started: mpirun of Open MPI 4 and 5, prterun, srun --mpi=pmix.
Launch launch_of(const LookUp& environment);

}  // namespace realizar::ranks
