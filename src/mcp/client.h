// One MCP server: its session, its tools, calls of them, whichever revision of the protocol it speaks. Any thread, and
// several at a time. It connects when it is first asked, and again where the server has forgotten the session.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "mcp/tool.h"
#include "mcp/transport.h"

namespace realizar::mcp {

struct ClientOptions {
  std::chrono::milliseconds timeout{60'000};  // of each request
  std::string version;                        // of this program, which servers are told
  std::string ca_file = {};                   // as of Transport
};

class Client {
 public:
  Client(ServerSource source, ClientOptions options)
      : transport_(std::move(source), options.ca_file), options_(std::move(options)) {}

  const std::string& name() const { return transport_.source().name; }

  // Where `cancelled` becomes true the request ends with Cancelled, and the server is told. Errors name the server:
  // those of Transport::ask; Unsupported for a server of another revision.
  Result<ToolList> list_tools(const std::atomic<bool>* cancelled = nullptr);
  // Errors of the tool, and the server's of the call, are results. `tool`: its own name.
  Result<ToolResult> call_tool(const std::string& tool, const Json& arguments,
                               const std::atomic<bool>* cancelled = nullptr);
  // Ends the session, if there is one.
  void close();

 private:
  using SessionPtr = std::shared_ptr<const Session>;

  Result<Answer> ask(const std::string& method, const Json& params, const std::atomic<bool>* cancelled);
  Result<Answer> ask_in(const Session& session, const std::string& method, const Json& params,
                        const Patience& patience);
  Result<SessionPtr> connected(const Patience& patience);
  Result<SessionPtr> connect(const Patience& patience);
  Result<SessionPtr> initialize(const Answer& answer, const Patience& patience);
  Result<SessionPtr> discover(const Patience& patience);
  void forget(const SessionPtr& lost);
  Error named(const Error& error) const;
  Json own_info() const { return {{"name", "realizar"}, {"version", options_.version}}; }

  Transport transport_;
  ClientOptions options_;
  std::atomic<uint64_t> next_id_{1};
  std::mutex mutex_;    // held while a session is opened
  SessionPtr session_;  // null: there is none
};

}  // namespace realizar::mcp
