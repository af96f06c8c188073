// The part of MPI that is used, of Open MPI's library, which is opened when the program runs: nothing is linked, and no
// header of MPI is needed. Open MPI keeps its binary interface in all versions of libmpi.so.40 (Open MPI 2 to 5);
// mpi_library_test.cpp holds these declarations to mpi.h where that is installed.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include "realizar/result.h"

namespace realizar::ranks {

// Handles are addresses of objects that the library has.
using MpiComm = void*;
using MpiDatatype = void*;
using MpiErrhandler = void*;
using MpiInfo = void*;
using MpiRequest = void*;

struct MpiStatus {
  int source, tag, error;
  int is_cancelled;
  size_t n_bytes;
};

inline constexpr int kMpiSuccess = 0;
inline constexpr int kMpiAnySource = -1;
inline constexpr int kMpiThreadSerialized = 2;  // any thread may call, one at a time
inline constexpr int kMpiCommTypeShared = 0;    // processes of one host
inline constexpr int kMpiMaxErrorString = 256;

struct MpiCalls {
  int (*init_thread)(int* argc, char*** argv, int required, int* provided);
  int (*initialized)(int* flag);
  int (*finalize)();
  int (*comm_rank)(MpiComm comm, int* rank);
  int (*comm_size)(MpiComm comm, int* size);
  int (*comm_dup)(MpiComm comm, MpiComm* copy);
  int (*comm_split_type)(MpiComm comm, int type, int key, MpiInfo info, MpiComm* part);
  int (*comm_set_errhandler)(MpiComm comm, MpiErrhandler handler);
  int (*allgather)(const void* from, int n_from, MpiDatatype from_type, void* to, int n_to, MpiDatatype to_type,
                   MpiComm comm);
  int (*isend)(const void* from, int n, MpiDatatype type, int to, int tag, MpiComm comm, MpiRequest* request);
  int (*irecv)(void* to, int n, MpiDatatype type, int from, int tag, MpiComm comm, MpiRequest* request);
  int (*recv)(void* to, int n, MpiDatatype type, int from, int tag, MpiComm comm, MpiStatus* status);
  int (*iprobe)(int from, int tag, MpiComm comm, int* flag, MpiStatus* status);
  int (*test)(MpiRequest* request, int* flag, MpiStatus* status);
  int (*get_count)(const MpiStatus* status, MpiDatatype type, int* n);
  int (*error_string)(int code, char* text, int* length);
};

// The library, and the mutex that whoever calls it holds meanwhile: MPI is asked for MPI_THREAD_SERIALIZED, which costs
// less than MPI_THREAD_MULTIPLE and has fewer faults. Nobody holds the mutex while waiting for another rank.
struct Mpi {
  MpiCalls calls;
  MpiComm world;
  MpiDatatype byte;
  MpiErrhandler errors_return;
  MpiInfo no_info;
  MpiRequest no_request;
  // The function that shows Open MPI's own messages; null where it is not known. MPI_Init_thread sets one that waits
  // for mpirun, which answers nobody while it ends a job: a rank that reports a broken connection would hang in it.
  void** show_help;
  std::mutex mutex;

  std::string error_text(int code) const;
};

// Stays open: it has threads and handlers of its own. Any thread. Errors: NotFound, which names Debian's package.
Result<Mpi*> open_mpi_library();
// The same for a library of another name, for tests.
Status find_mpi_library(const char* name, Mpi& mpi);

}  // namespace realizar::ranks
