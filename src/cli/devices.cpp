#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cuda/device/device_list.h"
#include "base/amounts.h"
#include "base/cpu_features.h"
#include "base/machine.h"
#include "base/printable.h"
#include "cli/command.h"
#include "cli/output.h"

namespace realizar::cli {
namespace {

constexpr double kGigabyte = 1e9;

std::string gpu_line(size_t idx, const cuda::DeviceInfo& info) {
  return fmt::format("{}  {}  {:.1f} of {:.1f} GB free  compute capability {}.{}  driver for CUDA {}.{}\n", idx,
                     info.name, static_cast<double>(info.free_bytes) / kGigabyte,
                     static_cast<double>(info.total_bytes) / kGigabyte, info.major, info.minor,
                     info.driver_version / 1000, info.driver_version % 1000 / 10);
}

std::string cpu_text() {
  std::vector<std::string> levels;
  for (const cpu::CpuIsa isa : cpu::usable_isas()) levels.emplace_back(to_string(isa));
  const HostMemory memory = host_memory();
  const uint32_t n_cores = n_usable_cores();
  return fmt::format("cpu  {}\n     {} core{} for this process, {} of {} free\n     kernels: {}\n",
                     printable(cpu_name()), n_cores, n_cores == 1 ? "" : "s", bytes_text(memory.available_bytes),
                     bytes_text(memory.total_bytes), fmt::join(levels, ", "));
}

// Lists the CPU always, then the GPUs. Having no GPU is not a failure; having one that is unusable is.
Result<int> list_devices() {
  if (!print(cpu_text())) return kFailure;
  const auto devices = cuda::list_devices();
  if (!devices.ok()) {
    if (devices.error().code != ErrorCode::kNotFound) return devices.error();
    return print("no GPU: " + devices.error().message + '\n') ? kOk : kFailure;
  }
  for (size_t i = 0; i < devices->size(); ++i) {
    if (!print(gpu_line(i, (*devices)[i]))) return kFailure;
  }
  return kOk;
}

}  // namespace

void add_devices(CommandLine& line) {
  line.command("devices", "Show the processor, its memory and kernels, and the GPUs that can be used")
      .examples({"realizar devices", "realizar run --device 0 model.gguf"})
      .runs(list_devices);
}

}  // namespace realizar::cli
