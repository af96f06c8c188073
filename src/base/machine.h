// The machine that the program runs on, as its operating system describes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace realizar {

// The processor's name for people; "unknown processor" where the system does not tell.
std::string cpu_name();

struct HostMemory {
  uint64_t total_bytes = 0, available_bytes = 0;  // available: without swapping; 0: not known
};
HostMemory host_memory();

// The same from the text of /proc/cpuinfo and /proc/meminfo.
std::string parse_cpu_name(std::string_view cpuinfo);
HostMemory parse_host_memory(std::string_view meminfo);

}  // namespace realizar
