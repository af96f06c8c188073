#include <fmt/format.h>

#include <string>

#include "backend/cuda/runtime.h"
#include "cli/command.h"
#include "cli/output.h"

namespace realizar::cli {
namespace {

constexpr double kGigabyte = 1e9;

std::string line(size_t idx, const cuda::DeviceInfo& info) {
  return fmt::format("{}  {}  {:.1f} of {:.1f} GB free  compute capability {}.{}  driver for CUDA {}.{}", idx,
                     info.name, static_cast<double>(info.free_bytes) / kGigabyte,
                     static_cast<double>(info.total_bytes) / kGigabyte, info.major, info.minor,
                     info.driver_version / 1000, info.driver_version % 1000 / 10);
}

int list_devices() {
  const auto devices = cuda::list_devices();
  if (!devices.ok()) return fail(devices.error());
  for (size_t i = 0; i < devices->size(); ++i) {
    if (!print_line(line(i, (*devices)[i]))) return kFailure;
  }
  return kOk;
}

}  // namespace

void add_devices(CommandLine& line) {
  line.command("devices", "List the GPUs that can be used").runs(list_devices);
}

}  // namespace realizar::cli
