#include "base/memory_nodes.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>

namespace realizar {
namespace {

namespace fs = std::filesystem;

// Parses Linux's list of processors, e.g. "0-3,8".
cpu_set_t parse_list(const std::string& text) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const char *at = text.data(), *end = text.data() + text.size();
  while (at < end) {
    int first = 0;
    const auto number = std::from_chars(at, end, first);
    if (number.ec != std::errc()) break;
    int last = first;
    at = number.ptr;
    if (at < end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
    for (int cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu) CPU_SET(static_cast<size_t>(cpu), &set);
    if (at < end) ++at;  // skips the comma
  }
  return set;
}

}  // namespace

std::vector<cpu_set_t> memory_nodes(const cpu_set_t& usable, const std::string& folder) {
  std::map<int, cpu_set_t> nodes;  // sorted by number, since folders come in any order
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    int number = 0;
    if (name.rfind("node", 0) != 0) continue;
    if (std::from_chars(name.data() + 4, name.data() + name.size(), number).ec != std::errc()) continue;
    std::ifstream file(entry.path() / "cpulist");
    std::string text;
    std::getline(file, text);
    cpu_set_t cpus = parse_list(text);
    CPU_AND(&cpus, &cpus, &usable);
    if (CPU_COUNT(&cpus) > 0) nodes.emplace(number, cpus);
  }
  std::vector<cpu_set_t> list;
  for (const auto& [number, cpus] : nodes) list.push_back(cpus);
  return list;
}

std::vector<cpu_set_t> place_members(const std::vector<cpu_set_t>& nodes, uint32_t n_threads) {
  if (nodes.size() < 2) return {};
  std::vector<const cpu_set_t*> node_of;  // for each processor
  for (const cpu_set_t& node : nodes) node_of.insert(node_of.end(), static_cast<size_t>(CPU_COUNT(&node)), &node);
  std::vector<cpu_set_t> places;
  for (uint32_t member = 0; member < n_threads; ++member) {
    places.push_back(*node_of[size_t{member} * node_of.size() / n_threads]);
  }
  return places;
}

}  // namespace realizar
