// The machine's memory nodes (NUMA), and where a team's threads should run so that each stays near its memory.
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>
#include <vector>

namespace realizar {

// The processors among `usable` of each memory node, for the nodes that have some. `folder` is Linux's list of nodes;
// the result is empty where that folder is missing.
std::vector<cpu_set_t> memory_nodes(const cpu_set_t& usable, const std::string& folder = "/sys/devices/system/node");

// Gives each of n_threads members the processors of one node: neighbours share one, and nodes get as many members as
// they have processors, in proportion. Empty where there are fewer than two nodes: the system then places threads well.
std::vector<cpu_set_t> place_members(const std::vector<cpu_set_t>& nodes, uint32_t n_threads);

}  // namespace realizar
