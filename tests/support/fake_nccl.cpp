// A library that replaces NCCL: it records its calls, fails on request, and exchanges the data that communicators of
// processes gather, which are threads here; those of one process exchange nothing.
#include "support/fake_nccl.h"

#include <array>
#include <barrier>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace {

realizar::test::NcclLog the_log;
std::array<int, 64> comms;
size_t n_joined = 0;
int async_error = 0, gather_error = 0, join_error = 0;
thread_local bool is_in_group = false;
std::mutex mutex;

// The parts that processes with one id have contributed to the running gather.
struct Job {
  std::vector<const void*> from;
  std::unique_ptr<std::barrier<>> all;
};
struct Joined {
  Job* job;
  size_t rank;
};
std::map<char, Job> jobs;
std::map<void*, Joined> joined;  // by communicator

void note(const char* call) {
  const std::lock_guard lock(mutex);
  the_log.emplace_back(is_in_group ? std::string("in group: ") + call : call);
}

std::optional<Joined> find_joined(void* comm) {
  const std::lock_guard lock(mutex);
  const auto found = joined.find(comm);
  return found == joined.end() ? std::nullopt : std::optional(found->second);
}

// None continues before all have copied.
void gather_all(const Joined& own, const void* from, void* to, size_t n_bytes) {
  Job& job = *own.job;
  job.from[own.rank] = from;
  job.all->arrive_and_wait();
  for (size_t i = 0; i < job.from.size(); ++i) {
    std::memcpy(static_cast<char*>(to) + i * n_bytes, job.from[i], n_bytes);
  }
  job.all->arrive_and_wait();
}

}  // namespace

extern "C" {

realizar::test::NcclLog* fake_nccl_log() {
  return &the_log;
}
void fake_nccl_fail(int of_gather, int of_stream, int of_join) {
  gather_error = of_gather;
  async_error = of_stream;
  join_error = of_join;
}

struct FakeId {
  char bytes[128];
};

int ncclCommInitAll(void** out, int n_devices, const int*) {
  for (int i = 0; i < n_devices; ++i) out[i] = &comms[i];
  return 0;
}
int ncclGetUniqueId(FakeId* id) {
  static char last = 0;
  std::memset(id->bytes, 0, sizeof id->bytes);
  id->bytes[127] = ++last;
  return 0;
}
int ncclCommInitRank(void** out, int n_ranks, FakeId id, int rank) {
  note("join");
  if (join_error != 0 && rank == 1) return join_error;
  const std::lock_guard lock(mutex);
  Job& job = jobs[id.bytes[127]];
  job.from.resize(static_cast<size_t>(n_ranks));
  if (job.all == nullptr) job.all = std::make_unique<std::barrier<>>(n_ranks);
  *out = &comms[comms.size() - ++n_joined];
  joined[*out] = {&job, static_cast<size_t>(rank)};
  return 0;
}
int ncclCommDestroy(void*) {
  note("destroy");
  return 0;
}
int ncclCommAbort(void*) {
  note("abort");
  return 0;
}
int ncclCommGetAsyncError(void*, int* result) {
  *result = async_error;
  return 0;
}
int ncclGroupStart() {
  is_in_group = true;
  return 0;
}
int ncclGroupEnd() {
  is_in_group = false;
  return 0;
}
int ncclAllGather(const void* from, void* to, size_t n, int, void* comm, void*) {
  note("gather");
  if (gather_error != 0) return gather_error;
  if (const auto own = find_joined(comm)) gather_all(*own, from, to, n * sizeof(float));
  return 0;
}
const char* ncclGetErrorString(int) {
  return "the fake library was told to fail";
}
}
