// The MCP servers whose tools the chat page may call: only those given to `serve`. Requests to them run on separate
// threads, since a tool may take a minute.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mcp/client.h"
#include "server/http/shared_slots.h"

namespace realizar::server {

// I/O thread.
class McpProxy {
 public:
  McpProxy(const std::vector<mcp::ServerSource>& sources, const mcp::ClientOptions& options);
  // Ends the servers' sessions, waiting at most two seconds.
  ~McpProxy();
  McpProxy(const McpProxy&) = delete;
  McpProxy& operator=(const McpProxy&) = delete;

  using ClientPtr = std::shared_ptr<mcp::Client>;
  const std::vector<ClientPtr>& servers() const { return servers_; }
  ClientPtr find(const std::string& name) const;  // null: not configured
  // Slots for concurrent requests.
  SharedSlots& slots() const { return *slots_; }

 private:
  static constexpr uint32_t kMaxAsked = 16;
  std::vector<ClientPtr> servers_;
  std::shared_ptr<SharedSlots> slots_ = SharedSlots::create(kMaxAsked);
};

}  // namespace realizar::server
