// One JSON-RPC message to a server and what comes back, over streamable HTTP
// (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports). Any thread; it keeps nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "hub/http.h"
#include "mcp/json_rpc.h"
#include "mcp/server_list.h"

namespace realizar::mcp {

using Clock = std::chrono::steady_clock;

// How long something may take, and who may end it.
struct Patience {
  Clock::time_point deadline;
  const std::atomic<bool>* cancelled = nullptr;  // null: nobody

  Status status() const;  // Cancelled, or ResourceExhausted (kTimeout) after the deadline
};

// What a server has agreed to; empty before it was asked.
struct Session {
  std::string id;       // "": the server keeps none
  std::string version;  // of the protocol
  // Revision 2026-07-28: there is no session, and every request has a header that names its method, and its tool.
  bool is_stateless = false;
};

struct Outgoing {
  uint64_t id;
  std::string method;
  Json params;
};

// What a request gave.
struct Answer {
  Json result;
  std::optional<RpcError> error;  // then there is no result
  std::string session_id;         // that the answer gives
  bool is_stateless = false;      // as of the session
};

// The subjects of three errors: the server does not take such a request (FormatError); it has forgotten the session
// (NotFound); there was no answer in time (ResourceExhausted).
inline constexpr const char* kRefused = "refused";
inline constexpr const char* kLostSession = "session";
inline constexpr const char* kTimeout = "timeout";

class Transport {
 public:
  // `ca_file`: certificates (PEM) in place of the system's; empty: these.
  Transport(ServerSource source, std::string ca_file) : source_(std::move(source)), ca_file_(std::move(ca_file)) {}
  const ServerSource& source() const { return source_; }

  // Sends a request and waits for its answer, in a body or a stream of events; a stream that breaks is taken up again
  // where the server allows it. What else comes meanwhile is passed over, but requests of the server are answered.
  // Errors: NotFound, InvalidArgument and FormatError for what the server does wrong; kLostSession; those of Patience.
  Result<Answer> ask(const Session& session, const Outgoing& request, const Patience& patience) const;
  // Sends what has no answer: a notification, or the answer to a request of the server.
  Status tell(const Session& session, const std::string& message, const Patience& patience) const;
  // Tells the server that nobody needs the session any more.
  void end(const Session& session, const Patience& patience) const;

 private:
  // Called with each piece of a body as it comes. False: no more is wanted, and the exchange ends well.
  using OnBody = std::function<bool(const hub::HttpHead& head, std::string_view piece)>;

  hub::HttpCall call_of(const Session& session, std::string method, std::string body) const;
  Result<hub::HttpHead> exchange(hub::HttpCall call, const Patience& patience, const OnBody& on_body) const;

  ServerSource source_;
  std::string ca_file_;
};

}  // namespace realizar::mcp
