// Detection of an MPI launcher, before MPI is opened.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace realizar::ranks {

// Returns the value of an environment variable; null if unset.
using LookUp = std::function<const char*(const char* name)>;

struct Launch {
  uint32_t n_ranks = 1;  // 1: no launcher, or it started one process
  std::string variable;  // the variable with that number, e.g. OMPI_COMM_WORLD_SIZE; "" for one rank
};
// Number of ranks started by mpirun of Open MPI 4 and 5, prterun or srun --mpi=pmix.
Launch launch_of(const LookUp& environment);

}  // namespace realizar::ranks
