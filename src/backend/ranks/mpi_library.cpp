#include "backend/ranks/mpi_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>

#include "base/symbol.h"

namespace realizar::ranks {
namespace {

constexpr const char* kMpiLibrary = "libmpi.so.40";

bool find_mpi_calls(void* library, MpiCalls& calls) {
  return find_symbol(library, "MPI_Init_thread", calls.init_thread) &&
         find_symbol(library, "MPI_Initialized", calls.initialized) &&
         find_symbol(library, "MPI_Finalize", calls.finalize) &&
         find_symbol(library, "MPI_Comm_rank", calls.comm_rank) &&
         find_symbol(library, "MPI_Comm_size", calls.comm_size) &&
         find_symbol(library, "MPI_Comm_dup", calls.comm_dup) &&
         find_symbol(library, "MPI_Comm_split_type", calls.comm_split_type) &&
         find_symbol(library, "MPI_Comm_set_errhandler", calls.comm_set_errhandler) &&
         find_symbol(library, "MPI_Allgather", calls.allgather) && find_symbol(library, "MPI_Isend", calls.isend) &&
         find_symbol(library, "MPI_Irecv", calls.irecv) && find_symbol(library, "MPI_Recv", calls.recv) &&
         find_symbol(library, "MPI_Iprobe", calls.iprobe) && find_symbol(library, "MPI_Test", calls.test) &&
         find_symbol(library, "MPI_Get_count", calls.get_count) &&
         find_symbol(library, "MPI_Error_string", calls.error_string);
}

bool find_mpi_objects(void* library, Mpi& mpi) {
  return find_symbol(library, "ompi_mpi_comm_world", mpi.world) && find_symbol(library, "ompi_mpi_byte", mpi.byte) &&
         find_symbol(library, "ompi_mpi_errors_return", mpi.errors_return) &&
         find_symbol(library, "ompi_mpi_info_null", mpi.no_info) &&
         find_symbol(library, "ompi_request_null", mpi.no_request);
}

// Null unless the symbol is a variable of pointer size.
void** find_pointer(void* library, const char* name) {
  void* address = ::dlsym(library, name);
  Dl_info info{};
  void* entry = nullptr;
  if (address == nullptr || ::dladdr1(address, &info, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr) return nullptr;
  const auto& symbol = *static_cast<const ElfW(Sym)*>(entry);
  const bool is_pointer = (symbol.st_info & 0xf) == STT_OBJECT && symbol.st_size == sizeof(void*);
  return is_pointer ? static_cast<void**>(address) : nullptr;
}

}  // namespace

std::string Mpi::error_text(int code) const {
  std::array<char, kMpiMaxErrorString + 1> text{};
  int length = 0;
  if (calls.error_string(code, text.data(), &length) != kMpiSuccess) return "error " + std::to_string(code);
  return {text.data(), static_cast<size_t>(std::clamp(length, 0, kMpiMaxErrorString))};
}

Status find_mpi_library(const char* name, Mpi& mpi) {
  // Open MPI's plugins resolve its symbols in the process.
  void* library = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    return not_found(std::string("sharing a model between processes needs Open MPI, whose library cannot be loaded (") +
                         ::dlerror() + "); install it on every host: Debian's package openmpi-bin, or only the " +
                         "library: libopenmpi3 on Debian 12, libopenmpi40 on Debian 13",
                     "mpi");
  }
  mpi.show_help = find_pointer(library, "opal_show_help");
  if (find_mpi_calls(library, mpi.calls) && find_mpi_objects(library, mpi)) return {};
  return not_found(std::string(name) + " is not Open MPI's library of version 4 or 5: it lacks a symbol", "mpi");
}

Result<Mpi*> open_mpi_library() {
  static Mpi mpi{};
  static const Status found = find_mpi_library(kMpiLibrary, mpi);
  if (!found.ok()) return found.error();
  return &mpi;
}

}  // namespace realizar::ranks
