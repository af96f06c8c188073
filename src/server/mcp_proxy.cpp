#include "server/mcp_proxy.h"

#include <algorithm>
#include <utility>

#include "server/context.h"

namespace realizar::server {
namespace {

constexpr uint32_t kMaxAsked = 16, kMaxAskedOfTenant = 8;
constexpr auto kClosingTime = std::chrono::seconds(2);

}  // namespace

std::unique_ptr<McpPlaces::Place> McpPlaces::take(uint64_t tenant) {
  const std::lock_guard lock(mutex_);
  const auto taken = n_taken_.find(tenant);
  if (n_all_ == kMaxAsked || (taken != n_taken_.end() && taken->second == kMaxAskedOfTenant)) return nullptr;
  auto place = std::make_unique<Place>(*this, tenant);
  ++n_taken_[tenant];
  ++n_all_;
  return place;
}

void McpPlaces::give_back(uint64_t tenant) {
  const std::lock_guard lock(mutex_);
  --n_all_;
  if (const auto taken = n_taken_.find(tenant); --taken->second == 0) n_taken_.erase(taken);
}

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
    const auto deadline = Clock::now() + kClosingTime;
    for (const auto& thread : closing) thread->end_until(deadline);
  }));
}

McpProxy::ClientPtr McpProxy::find(const std::string& name) const {
  const auto found = std::ranges::find_if(servers_, [&](const ClientPtr& server) { return server->name() == name; });
  return found == servers_.end() ? nullptr : *found;
}

McpWork::McpWork(Call& call, Work work, std::shared_ptr<McpPlaces> places, std::unique_ptr<McpPlaces::Place> place)
    : state_(std::make_shared<State>()) {
  state_->call = &call;
  // The place is given back before what it belongs to is let go.
  auto held = std::make_shared<std::pair<std::shared_ptr<McpPlaces>, std::unique_ptr<McpPlaces::Place>>>(
      std::move(places), std::move(place));
  thread_ = std::make_unique<TaskThread>([state = state_, work = std::move(work), held = std::move(held),
                                          &http = call.context.http](TaskThread::Listener& listener) mutable {
    state->result.emplace(caught([&] { return work(state->cancelled); }));
    held.reset();
    static_cast<void>(caught([&] {
      listener.tell([&] {
        http.post([state] {
          state->is_done = true;
          if (state->call != nullptr) state->call->tell_news();
        });
      });
    }));
  });
}

McpWork::~McpWork() {
  state_->call = nullptr;
  state_->cancelled = true;
  thread_->end_until(Clock::now());
}

}  // namespace realizar::server
