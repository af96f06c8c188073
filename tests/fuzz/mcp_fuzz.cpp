// Any bytes as an MCP server's output: a stream of events, cut anywhere, whose messages are read as lists of tools and
// results of calls; and the same bytes as the file that lists servers. The first byte determines the cuts.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/json_rpc.h"
#include "mcp/program.h"
#include "mcp/server_list.h"
#include "mcp/sse_reader.h"
#include "mcp/tool.h"

namespace {

using namespace realizar::mcp;

constexpr size_t kMaxBytes = 10'000;

std::string events_of(std::string_view stream, size_t piece_bytes) {
  SseReader reader(kMaxBytes);
  std::string events;
  for (size_t i = 0; i < stream.size(); i += piece_bytes) {
    const auto status = reader.push(stream.substr(i, piece_bytes), [&](std::string_view data) {
      events.append(data).push_back('\0');
      return true;
    });
    // The point where a stream becomes too long depends on its pieces, its contents until then do not.
    if (!status.ok()) return {};
  }
  return events + reader.last_id();
}

void read_message(std::string_view text) {
  const auto messages = read_messages(text);
  if (!messages.ok()) return;
  for (const Message& message : *messages) {
    if (message.kind == Message::Kind::kRequest && !parse_json(reply_text(message)).ok()) std::abort();
    ToolList list;
    if (add_tools(list, "fuzz", message.result).ok()) {
      for (const Tool& tool : list.tools) {
        if (tool.call_name.empty() || tool.call_name.size() > 64) std::abort();
      }
    }
    (void)read_tool_result(message.result).ok();
  }
}

std::vector<std::string> lines_of(std::string_view text, size_t piece_bytes) {
  std::vector<std::string> lines;
  const auto on_line = [&](std::string_view line) { lines.emplace_back(line); };
  LineSplitter splitter(8);
  for (; !text.empty(); text.remove_prefix(std::min(piece_bytes, text.size()))) {
    (void)splitter.push(text.substr(0, piece_bytes), on_line);
  }
  splitter.finish(on_line);
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (text.size() < kMaxBytes / 2 && events_of(text, text.size() + 1) != events_of(text, data[0] % 16 + 1))
    std::abort();
  SseReader reader(kMaxBytes);
  (void)reader
      .push(text,
            [](std::string_view event) {
              read_message(event);
              return true;
            })
      .ok();
  read_message(text);
  ServerList servers;
  (void)add_server_json(servers, text, {{"PATH", "/usr/bin:/bin"}}).ok();
  if (lines_of(text, text.size() + 1) != lines_of(text, data[0] % 16 + 1)) std::abort();
  return 0;
}
