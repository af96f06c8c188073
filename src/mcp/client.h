// A client of one MCP server: its session, its tools and calls of them, for every supported revision of the protocol.
// Any thread, and several at a time. It connects on the first request, and again if the server has lost the session.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "mcp/server_list.h"
#include "mcp/tool.h"
#include "mcp/transport.h"

namespace realizar::mcp {

struct ClientOptions {
  std::chrono::milliseconds timeout{60'000};  // for each request
  std::string version;                        // of this program, reported to servers
  std::string ca_file = {};                   // certificates (PEM) to use instead of the system's; empty: the system's
  // Receive lines from servers that are programs, printable and prefixed with the server's name: lines of its standard
  // error, and messages for the user, such as its end. Any thread.
  std::function<void(const std::string&line)> on_log = {}, on_warning = {};
};

class Client {
 public:
  // A server that is a program is started, and ends with the Client.
  Client(const ServerSource& source, ClientOptions options);

  const std::string& name() const { return name_; }

  // When `cancelled` becomes true the request ends with Cancelled, and the server is notified. Errors name the server:
  // those of Transport::ask; Unsupported for a server with another revision.
  Result<ToolList> list_tools(const std::atomic<bool>* cancelled = nullptr);
  // Errors of the tool, and the server's errors for the call, are results. `tool`: the server's name for it.
  Result<ToolResult> call_tool(const std::string& tool, const Json& arguments,
                               const std::atomic<bool>* cancelled = nullptr);
  // Ends the session, if there is one, and the server if it is a program.
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

  std::string name_;
  ClientOptions options_;
  std::unique_ptr<Transport> transport_;
  std::atomic<uint64_t> next_id_{1};
  std::mutex mutex_;    // held while a session is being opened
  SessionPtr session_;  // null: none
};

}  // namespace realizar::mcp
