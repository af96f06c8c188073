#include "server/call/mcp_proxy.h"

#include <algorithm>
#include <chrono>

#include "base/caught.h"
#include "server/http/task_thread.h"

namespace realizar::server {

McpProxy::McpProxy(const std::vector<mcp::ServerSource>& sources, const mcp::ClientOptions& options) {
  for (const mcp::ServerSource& source : sources) servers_.push_back(std::make_shared<mcp::Client>(source, options));
}

McpProxy::~McpProxy() {
  static_cast<void>(caught([this] {
    std::vector<std::unique_ptr<TaskThread>> closing;
    for (const ClientPtr& server : servers_) {
      closing.push_back(std::make_unique<TaskThread>(
          [server](TaskThread::Listener&) { static_cast<void>(caught([&] { server->close(); })); }));
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    for (const auto& thread : closing) thread->end_until(deadline);
  }));
}

McpProxy::ClientPtr McpProxy::find(const std::string& name) const {
  const auto found = std::ranges::find_if(servers_, [&](const ClientPtr& server) { return server->name() == name; });
  return found == servers_.end() ? nullptr : *found;
}

}  // namespace realizar::server
