// A library that stands for NCCL: it exchanges nothing, notes what is asked of it, and fails where it is told to.
#include "support/fake_nccl.h"

#include <string>

namespace {

realizar::test::NcclLog the_log;
int comms[8];
int async_error = 0, gather_error = 0;
bool is_in_group = false;

void note(const char* call) {
  the_log.emplace_back(is_in_group ? std::string("in group: ") + call : call);
}

}  // namespace

extern "C" {

realizar::test::NcclLog* fake_nccl_log() {
  return &the_log;
}
void fake_nccl_fail(int of_gather, int of_stream) {
  gather_error = of_gather;
  async_error = of_stream;
}

int ncclCommInitAll(void** out, int n_devices, const int*) {
  for (int i = 0; i < n_devices; ++i) out[i] = &comms[i];
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
int ncclAllGather(const void*, void*, size_t, int, void*, void*) {
  note("gather");
  return gather_error;
}
const char* ncclGetErrorString(int) {
  return "the fake library was told to fail";
}
}
