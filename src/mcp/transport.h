// One JSON-RPC message to a server and what comes back, whichever way they go
// (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports). Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "mcp/json_rpc.h"

namespace realizar::mcp {

using Clock = std::chrono::steady_clock;

// How long something may take, and who may end it.
struct Patience {
  Clock::time_point deadline;
  const std::atomic<bool>* cancelled = nullptr;  // null: nobody

  Status status() const;  // Cancelled, or ResourceExhausted (kTimeout) after the deadline
};

// The same, and not longer than `time` from now.
Patience within(std::chrono::milliseconds time, const Patience& patience);

// How often what waits looks whether it is cancelled.
inline constexpr std::chrono::milliseconds kPollInterval{20};
// Bounds on what a server sends: one message, and the requests of its own that are answered while one of ours waits.
inline constexpr size_t kMaxMessageBytes = 4u << 20;
inline constexpr int kMaxServerRequests = 16;
// How long the server has to take the answer to such a request.
inline constexpr std::chrono::seconds kReplyTime{5};

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

// A result or an error as the answer to the request that it names.
Answer answer_of(Message message);

// The subjects of three errors: the server does not take such a request (FormatError); it has forgotten the session
// (NotFound); there was no answer in time (ResourceExhausted).
inline constexpr const char* kRefusal = "refused";
inline constexpr const char* kLostSession = "session";
inline constexpr const char* kTimeout = "timeout";

class Transport {
 public:
  virtual ~Transport() = default;

  // Sends a request and waits for its answer. What else comes meanwhile is passed over, but requests of the server are
  // answered. Errors: NotFound, InvalidArgument and FormatError for what the server does wrong; kLostSession; those of
  // Patience.
  virtual Result<Answer> ask(const Session& session, const Outgoing& request, const Patience& patience) = 0;
  // Sends what has no answer: a notification, or the answer to a request of the server.
  virtual Status tell(const Session& session, const std::string& message, const Patience& patience) = 0;
  // Tells the server that nobody needs the session any more.
  virtual void end(const Session& session, const Patience& patience) = 0;
};

}  // namespace realizar::mcp
