// The MCP servers whose tools the chat page may call: those that `serve` was given, and no other. What they are asked
// runs on threads of its own, since a tool may take a minute.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mcp/client.h"
#include "server/http/shared_places.h"

namespace realizar::server {

// I/O thread.
class McpProxy {
 public:
  McpProxy(const std::vector<mcp::ServerSource>& sources, const mcp::ClientOptions& options);
  // Ends the servers' sessions, as far as that takes no more than two seconds.
  ~McpProxy();
  McpProxy(const McpProxy&) = delete;
  McpProxy& operator=(const McpProxy&) = delete;

  using ClientPtr = std::shared_ptr<mcp::Client>;
  const std::vector<ClientPtr>& servers() const { return servers_; }
  ClientPtr find(const std::string& name) const;  // null: it is not on the list
  // For what is asked at once.
  SharedPlaces& places() const { return *places_; }

 private:
  static constexpr uint32_t kMaxAsked = 16;
  std::vector<ClientPtr> servers_;
  std::shared_ptr<SharedPlaces> places_ = SharedPlaces::create(kMaxAsked);
};

}  // namespace realizar::server
