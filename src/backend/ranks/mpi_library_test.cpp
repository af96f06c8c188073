// Checks the declarations of mpi_library.h against the library's own header, if that is installed.
#include "backend/ranks/mpi_library.h"

#include <gtest/gtest.h>

#if __has_include(<mpi.h>)
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#elif __has_include(<mpi/mpi.h>)
// Debian's path of it, as mpicc reports it.
#define OMPI_SKIP_MPICXX 1
#include <mpi/mpi.h>
#endif

#include <type_traits>

namespace realizar::ranks {
namespace {

TEST(MpiLibrary, AMissingOneNamesItsPackage) {
  Mpi mpi{};
  const Status status = find_mpi_library("libnone-of-this-name.so.40", mpi);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kNotFound);
  for (const char* word : {"libnone-of-this-name.so.40", "openmpi-bin", "libopenmpi3", "libopenmpi40"}) {
    EXPECT_NE(status.error().message.find(word), std::string::npos) << status.error().message;
  }
}

TEST(MpiLibrary, AnotherLibraryIsRefused) {
  Mpi mpi{};
  const Status status = find_mpi_library("libm.so.6", mpi);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kNotFound);
  EXPECT_NE(status.error().message.find("libm.so.6 is not Open MPI's"), std::string::npos) << status.error().message;
}

#ifdef OMPI_MPI_H
// Maps types of MPI to those used here: handles are opaque addresses here; everything else is the same.
template <class T>
using AsHere = std::conditional_t<
    std::is_same_v<T, MPI_Comm> || std::is_same_v<T, MPI_Datatype> || std::is_same_v<T, MPI_Errhandler> ||
        std::is_same_v<T, MPI_Info> || std::is_same_v<T, MPI_Request>,
    void*,
    std::conditional_t<
        std::is_same_v<T, MPI_Comm*> || std::is_same_v<T, MPI_Request*>, void**,
        std::conditional_t<std::is_same_v<T, MPI_Status*>, MpiStatus*,
                           std::conditional_t<std::is_same_v<T, const MPI_Status*>, const MpiStatus*, T>>>>;
template <class Call>
struct CallAsHere;
template <class Result, class... Arguments>
struct CallAsHere<Result(Arguments...)> {
  using Type = Result (*)(AsHere<Arguments>...);
};
template <class Here, class There>
constexpr bool kSameCall = std::is_same_v<Here, typename CallAsHere<There>::Type>;

#define SAME_CALL(here, there) static_assert(kSameCall<decltype(MpiCalls::here), decltype(there)>)
SAME_CALL(init_thread, MPI_Init_thread);
SAME_CALL(initialized, MPI_Initialized);
SAME_CALL(finalize, MPI_Finalize);
SAME_CALL(comm_rank, MPI_Comm_rank);
SAME_CALL(comm_size, MPI_Comm_size);
SAME_CALL(comm_dup, MPI_Comm_dup);
SAME_CALL(comm_split_type, MPI_Comm_split_type);
SAME_CALL(comm_set_errhandler, MPI_Comm_set_errhandler);
SAME_CALL(allgather, MPI_Allgather);
SAME_CALL(isend, MPI_Isend);
SAME_CALL(irecv, MPI_Irecv);
SAME_CALL(recv, MPI_Recv);
SAME_CALL(iprobe, MPI_Iprobe);
SAME_CALL(test, MPI_Test);
SAME_CALL(get_count, MPI_Get_count);
SAME_CALL(error_string, MPI_Error_string);
#undef SAME_CALL

static_assert(sizeof(MpiStatus) == sizeof(MPI_Status) && alignof(MpiStatus) == alignof(MPI_Status));
static_assert(offsetof(MpiStatus, source) == offsetof(MPI_Status, MPI_SOURCE));
static_assert(offsetof(MpiStatus, tag) == offsetof(MPI_Status, MPI_TAG));
static_assert(offsetof(MpiStatus, error) == offsetof(MPI_Status, MPI_ERROR));
static_assert(offsetof(MpiStatus, n_bytes) == offsetof(MPI_Status, _ucount));
static_assert(kMpiSuccess == MPI_SUCCESS && kMpiAnySource == MPI_ANY_SOURCE);
static_assert(kMpiThreadSerialized == MPI_THREAD_SERIALIZED);
static_assert(kMpiCommTypeShared == MPI_COMM_TYPE_SHARED);
static_assert(kMpiMaxErrorString >= MPI_MAX_ERROR_STRING);
#else
TEST(MpiLibrary, IsDeclaredAsInItsHeader) {
  GTEST_SKIP() << "mpi.h is not installed (Debian's package libopenmpi-dev)";
}
#endif

}  // namespace
}  // namespace realizar::ranks
