#include "base/machine.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

namespace realizar {
namespace {

// The value on the first line of the form "name<blanks>: value"; empty where no line has it.
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

// Files of /proc tell no size: they are read to their end.
std::string content_of(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
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
  return parse_host_memory(content_of("/proc/meminfo"));
}

}  // namespace realizar
