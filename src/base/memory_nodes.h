// The machine's memory nodes (NUMA), and where a team's threads should run so that each stays near its memory.
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>
#include <vector>

namespace realizar {

// The processors of each memory node that are in `usable`, for nodes that have any. `folder` is Linux's list of nodes;
// the result is empty if it does not exist.
std::vector<cpu_set_t> memory_nodes(const cpu_set_t& usable, const std::string& folder = "/sys/devices/system/node");

// Assigns the processors of one node to each of n_threads members: neighbours share a node, and the number of members
// on a node is proportional to its processors. Empty if there are fewer than two nodes: the system then places threads
// well.
std::vector<cpu_set_t> place_members(const std::vector<cpu_set_t>& nodes, uint32_t n_threads);

}  // namespace realizar
