// The MCP servers whose tools the chat page may call: those that `serve` was given, and no other. What they are asked
// runs on threads of its own, since a tool may take a minute.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mcp/client.h"
#include "server/call/call.h"
#include "server/http/shared_places.h"
#include "server/http/task_thread.h"

namespace realizar::server {

inline constexpr const char* kMcpPlaces = "mcp places";  // the subject of errors for want of them

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

// Asks a server on a thread of its own, and tells the call's news when that has ended. Where the call ends before, what
// is asked is cancelled, and nobody waits for it. So it is where it gives way to another tenant; the result is an error
// kResourceExhausted then, as it is at once where there is no place.
class McpWork {
 public:
  using Work = std::function<Result<mcp::Json>(const std::atomic<bool>& cancelled)>;
  // Throws std::system_error where the system gives no thread.
  McpWork(Call& call, Work work, SharedPlaces& places);
  ~McpWork();
  McpWork(const McpWork&) = delete;
  McpWork& operator=(const McpWork&) = delete;

  bool is_done() const { return state_->result.has_value(); }
  Result<mcp::Json> take() { return std::move(*state_->result); }  // once it is done

 private:
  struct State {
    std::atomic<bool> cancelled{false};
    // Of the I/O thread alone.
    std::optional<Result<mcp::Json>> result;
    Call* call;  // null: it is gone
  };
  static void end(State& state, Result<mcp::Json> result);

  std::shared_ptr<State> state_;
  std::unique_ptr<TaskThread> thread_;
};

}  // namespace realizar::server
