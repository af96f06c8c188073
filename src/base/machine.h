// The machine that the program runs on, as its operating system describes it.
#pragma once

#include <sched.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// The machine's memory nodes (NUMA), and where a team's threads should run so that each stays near its memory.

// The processors of each memory node that are in `usable`, for nodes that have any. `folder` is Linux's list of nodes;
// the result is empty if it does not exist.
std::vector<cpu_set_t> memory_nodes(const cpu_set_t& usable, const std::string& folder = "/sys/devices/system/node");

// Assigns the processors of one node to each of n_threads members: neighbours share a node, and the number of members
// on a node is proportional to its processors. Empty if there are fewer than two nodes: the system then places threads
// well.
std::vector<cpu_set_t> place_members(const std::vector<cpu_set_t>& nodes, uint32_t n_threads);

}  // namespace realizar
