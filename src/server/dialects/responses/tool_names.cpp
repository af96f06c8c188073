#include "server/dialects/responses/tool_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "server/call/chat_tools.h"

namespace realizar::server {
namespace {

// mcp__files and read give mcp__files__read. Valid function names give valid joined names, whatever the namespace.
std::string joined_name(std::string_view space, std::string_view name) {
  if (space.empty()) return std::string(name);
  std::string joined;
  for (const char c : space) joined += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_';
  if (!joined.ends_with("__")) joined += "__";
  return joined.append(name).substr(0, text::kMaxToolNameBytes);
}

}  // namespace

std::string ToolNames::add(std::string_view space, std::string_view name) {
  const std::string plain = joined_name(space, name);
  std::string joined = plain;
  for (int i = 2; !space.empty() && is_taken(joined); ++i) {
    const std::string suffix = fmt::format("_{}", i);
    joined = plain.substr(0, text::kMaxToolNameBytes - suffix.size()) + suffix;
  }
  entries_.push_back({{std::string(space), std::string(name)}, joined});
  return joined;
}

std::string ToolNames::find(std::string_view space, std::string_view name) const {
  const auto entry = std::ranges::find_if(
      entries_, [&](const Entry& one) { return one.parts.space == space && one.parts.name == name; });
  if (entry != entries_.end()) return entry->joined;
  if (!space.empty() || is_taken(name)) return joined_name(space, name);
  const auto inner = std::ranges::find_if(entries_, [&](const Entry& one) { return one.parts.name == name; });
  return inner == entries_.end() ? std::string(name) : inner->joined;
}

ToolNames::Parts ToolNames::parts_of(std::string_view joined) const {
  const auto entry = std::ranges::find_if(entries_, [&](const Entry& one) { return one.joined == joined; });
  return entry == entries_.end() ? Parts{"", std::string(joined)} : entry->parts;
}

bool ToolNames::is_taken(std::string_view joined) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.joined == joined; });
}

}  // namespace realizar::server
