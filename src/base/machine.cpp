#include "base/machine.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

namespace realizar {
namespace {

// The value on the first line of the form "name<blanks>: value"; empty if there is none.
std::string_view value_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t sign = line.find(':');
    if (sign == std::string_view::npos || !line.starts_with(name)) continue;
    if (line.substr(name.size(), sign - name.size()).find_first_not_of(" \t") != std::string_view::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", sign + 1);
    return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
  }
  return {};
}

uint64_t kilobytes(std::string_view value) {
  uint64_t n = 0;
  std::from_chars(value.data(), value.data() + value.size(), n);
  return n * 1024;
}

// Files in /proc report no size, so they are read to their end.
std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Nullopt if the file does not exist, or holds no number ("max").
std::optional<uint64_t> number_in(const std::filesystem::path& path) {
  const std::string text = content_of(path);
  uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() ? std::optional(n) : std::nullopt;
}

// The number after the name at the beginning of a line, as in "anon 4096"; 0 if no line has it.
uint64_t number_after(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ' ') continue;
    uint64_t n = 0;
    std::from_chars(line.data() + name.size() + 1, line.data() + line.size(), n);
    return n;
  }
  return 0;
}

// File names and keys of one version of control groups.
struct GroupFiles {
  const char *folder, *limit, *usage, *cache, *shared;
};
constexpr GroupFiles kGroupFiles[] = {
    {"sys/fs/cgroup", "memory.max", "memory.current", "file", "shmem"},
    {"sys/fs/cgroup/unified", "memory.max", "memory.current", "file", "shmem"},
    {"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache", "total_shmem"},
};
constexpr uint64_t kNoLimit = uint64_t{1} << 62;  // version 1 reports a number near 2^63 for "no limit"

std::optional<GroupMemory> memory_in(const std::filesystem::path& group, const GroupFiles& files) {
  const auto limit = number_in(group / files.limit);
  if (!limit || *limit >= kNoLimit) return std::nullopt;
  const std::string stat = content_of(group / "memory.stat");
  const uint64_t cache = number_after(stat, files.cache), shared = number_after(stat, files.shared);
  const uint64_t kept_back = cache - std::min(cache, shared);  // pages of files, which the kernel drops when others
                                                               // need memory
  const uint64_t used = number_in(group / files.usage).value_or(0);
  return GroupMemory{*limit, used - std::min(used, kept_back)};
}

// The paths of the process's groups, written "0::/a/b" in version 2 and "4:memory:/a/b" in version 1.
std::vector<std::filesystem::path> own_groups(std::string_view text) {
  std::vector<std::filesystem::path> groups;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t path = line.find(":/");
    if (path == std::string_view::npos) continue;
    const bool has_memory = line.starts_with("0:") || line.substr(0, path).ends_with(":memory") ||
                            line.find(":memory,") < path || line.substr(0, path).ends_with(",memory");
    if (has_memory) groups.push_back(std::filesystem::path(line.substr(path + 1)).lexically_normal().relative_path());
  }
  return groups;
}

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

std::string parse_cpu_name(std::string_view cpuinfo) {
  const std::string_view name = value_of(cpuinfo, "model name");
  return name.empty() ? "unknown processor" : std::string(name);
}

HostMemory parse_host_memory(std::string_view meminfo) {
  return {kilobytes(value_of(meminfo, "MemTotal")), kilobytes(value_of(meminfo, "MemAvailable"))};
}

std::string cpu_name() {
  return parse_cpu_name(content_of("/proc/cpuinfo"));
}

HostMemory host_memory() {
  HostMemory memory = parse_host_memory(content_of("/proc/meminfo"));
  if (const auto group = group_memory()) {
    memory.total_bytes = std::min(memory.total_bytes, group->limit_bytes);
    memory.available_bytes = std::min(memory.available_bytes, group->left_bytes());
  }
  return memory;
}

// A container may see its own group as the root, while the path is the host's: paths that do not exist are skipped, and
// the root is always tried.
std::optional<GroupMemory> group_memory(const std::filesystem::path& root) {
  std::optional<GroupMemory> narrowest;
  for (std::filesystem::path group : own_groups(content_of(root / "proc/self/cgroup"))) {
    while (true) {
      for (const GroupFiles& files : kGroupFiles) {
        const auto memory = memory_in(root / files.folder / group, files);
        if (memory && (!narrowest || memory->left_bytes() < narrowest->left_bytes())) narrowest = memory;
      }
      if (group.empty()) break;
      group = group.parent_path();
    }
  }
  return narrowest;
}

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
