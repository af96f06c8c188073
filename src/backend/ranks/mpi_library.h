// The used part of MPI, from Open MPI's library, which is opened at run time: nothing is linked, and MPI's headers are
// not needed. Open MPI keeps the ABI in all versions of libmpi.so.40 (Open MPI 2 to 5); mpi_library_test.cpp checks
// these declarations against mpi.h if that is installed.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include "realizar/result.h"

namespace realizar::ranks {

// Handles are addresses of objects in the library.
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

// The library, and the mutex that callers hold: MPI is initialized with MPI_THREAD_SERIALIZED, which costs less than
// MPI_THREAD_MULTIPLE and has fewer bugs. The mutex is never held while waiting for another rank.
struct Mpi {
  MpiCalls calls;
  MpiComm world;
  MpiDatatype byte;
  MpiErrhandler errors_return;
  MpiInfo no_info;
  MpiRequest no_request;
  // The function that shows Open MPI's own messages; null if unknown. MPI_Init_thread sets one that waits for mpirun,
  // which does not respond while it ends a job: a rank that reports a broken connection would hang in it.
  void** show_help;
  std::mutex mutex;

  std::string error_text(int code) const;
};

// Stays open, since it has its own threads and handlers. From any thread. Errors: NotFound, with Debian's package.
Result<Mpi*> open_mpi_library();
// Opens a library by name, for tests.
Status find_mpi_library(const char* name, Mpi& mpi);

}  // namespace realizar::ranks
