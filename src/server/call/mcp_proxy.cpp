#include "server/call/mcp_proxy.h"

#include <algorithm>
#include <utility>

#include "server/call/context.h"

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
    const auto deadline = Clock::now() + std::chrono::seconds(2);
    for (const auto& thread : closing) thread->end_until(deadline);
  }));
}

McpProxy::ClientPtr McpProxy::find(const std::string& name) const {
  const auto found = std::ranges::find_if(servers_, [&](const ClientPtr& server) { return server->name() == name; });
  return found == servers_.end() ? nullptr : *found;
}

McpWork::McpWork(Call& call, Work work, SharedPlaces& places) : state_(std::make_shared<State>()) {
  state_->call = &call;
  const auto give_way = [state = state_, &http = call.context.http] {
    state->cancelled = true;
    http.post([state] {
      end(*state, Error{ErrorCode::kResourceExhausted, "the call gave way to another client's", kMcpPlaces});
    });
  };
  std::shared_ptr<SharedPlaces::Place> place = places.take(call.tenant, give_way);
  if (place == nullptr) {
    state_->result.emplace(
        Error{ErrorCode::kResourceExhausted, "too many MCP servers are being asked at once", kMcpPlaces});
    return;
  }
  thread_ = std::make_unique<TaskThread>([state = state_, work = std::move(work), place = std::move(place),
                                          &http = call.context.http](TaskThread::Listener& listener) mutable {
    const auto result = std::make_shared<Result<mcp::Json>>(caught([&] { return work(state->cancelled); }));
    place.reset();
    static_cast<void>(
        caught([&] { listener.tell([&] { http.post([state, result] { end(*state, std::move(*result)); }); }); }));
  });
}

// On the I/O thread. Whichever end comes first is the one.
void McpWork::end(State& state, Result<mcp::Json> result) {
  if (state.result) return;
  state.result.emplace(std::move(result));
  if (state.call != nullptr) state.call->tell_news();
}

McpWork::~McpWork() {
  state_->call = nullptr;
  state_->cancelled = true;
  if (thread_ != nullptr) thread_->end_until(Clock::now());
}

}  // namespace realizar::server
