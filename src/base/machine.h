// The machine that the program runs on, as its operating system describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace realizar {

// The processor's name for people; "unknown processor" where the system does not tell.
std::string cpu_name();

struct HostMemory {
  uint64_t total_bytes = 0, available_bytes = 0;  // available: without swapping; 0: not known
};
// As far as the control group lets the process have it.
HostMemory host_memory();

// What a control group (a container) may take before the kernel kills one of its processes.
struct GroupMemory {
  uint64_t limit_bytes = 0, used_bytes = 0;  // used: without what the kernel takes back when it needs to
  uint64_t left_bytes() const { return used_bytes < limit_bytes ? limit_bytes - used_bytes : 0; }
};
// The process's own group or the one around it that leaves least, of versions 1 and 2. Nothing where none has a limit.
// The system's files are looked for below `root`.
std::optional<GroupMemory> group_memory(const std::filesystem::path& root = "/");

// The same from the text of /proc/cpuinfo and /proc/meminfo.
std::string parse_cpu_name(std::string_view cpuinfo);
HostMemory parse_host_memory(std::string_view meminfo);

}  // namespace realizar
