// The machine that the program runs on, as its operating system describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace realizar {

// The processor's name for people; "unknown processor" if the system does not report it.
std::string cpu_name();

struct HostMemory {
  uint64_t total_bytes = 0, available_bytes = 0;  // available: without swapping; 0: unknown
};
// Limited to the memory that the control group allows the process.
HostMemory host_memory();

// The memory that a control group (a container) may use before the kernel kills one of its processes.
struct GroupMemory {
  uint64_t limit_bytes = 0, used_bytes = 0;  // used: without the memory that the kernel reclaims on demand
  uint64_t left_bytes() const { return used_bytes < limit_bytes ? limit_bytes - used_bytes : 0; }
};
// Among the process's own group and those around it, of versions 1 and 2, the one with the least memory left. Nullopt
// if none has a limit. The system's files are searched below `root`.
std::optional<GroupMemory> group_memory(const std::filesystem::path& root = "/");

// Parsers of the text of /proc/cpuinfo and /proc/meminfo.
std::string parse_cpu_name(std::string_view cpuinfo);
HostMemory parse_host_memory(std::string_view meminfo);

}  // namespace realizar
