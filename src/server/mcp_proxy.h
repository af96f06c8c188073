// The MCP servers whose tools the chat page may call: those that `serve` was given, and no other. What they are asked
// runs on threads of its own, since a tool may take a minute.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mcp/client.h"
#include "server/call.h"
#include "server/task_thread.h"

namespace realizar::server {

// Places for what is asked at once: 16, and 8 of them for each tenant. Any thread.
class McpPlaces {
 public:
  // Held while something is asked.
  class Place {
   public:
    Place(McpPlaces& places, uint64_t tenant) : places_(places), tenant_(tenant) {}
    ~Place() { places_.give_back(tenant_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    McpPlaces& places_;
    uint64_t tenant_;
  };
  // Null where there is none left. The places must outlive it.
  std::unique_ptr<Place> take(uint64_t tenant);

 private:
  void give_back(uint64_t tenant);

  std::mutex mutex_;
  std::map<uint64_t, uint32_t> n_taken_;  // by tenants that have some
  uint32_t n_all_ = 0;
};

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
  const std::shared_ptr<McpPlaces>& places() const { return places_; }

 private:
  std::vector<ClientPtr> servers_;
  std::shared_ptr<McpPlaces> places_ = std::make_shared<McpPlaces>();
};

// Asks a server on a thread of its own, and tells the call's news when that has ended. Where it ends before, what is
// asked is cancelled, and nobody waits for it.
class McpWork {
 public:
  using Work = std::function<Result<mcp::Json>(const std::atomic<bool>& cancelled)>;
  // Throws std::system_error where the system gives no thread.
  McpWork(Call& call, Work work, std::shared_ptr<McpPlaces> places, std::unique_ptr<McpPlaces::Place> place);
  ~McpWork();
  McpWork(const McpWork&) = delete;
  McpWork& operator=(const McpWork&) = delete;

  bool is_done() const { return state_->is_done; }
  Result<mcp::Json> take() { return std::move(*state_->result); }  // once it is done

 private:
  struct State {
    std::atomic<bool> cancelled{false};
    std::optional<Result<mcp::Json>> result;
    // Of the I/O thread alone.
    bool is_done = false;
    Call* call;  // null: it is gone
  };
  std::shared_ptr<State> state_;
  std::unique_ptr<TaskThread> thread_;
};

}  // namespace realizar::server
