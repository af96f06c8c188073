// Sends a JSON-RPC message to a server and returns its answer, over any transport
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

// A time limit, and a flag that cancels.
struct Patience {
  Clock::time_point deadline;
  const std::atomic<bool>* cancelled = nullptr;  // null: not cancellable

  Status status() const;  // Cancelled, or ResourceExhausted (kTimeout) after the deadline
};

// Limits the patience to `time` from now.
Patience within(std::chrono::milliseconds time, const Patience& patience);

// How often waiting code checks for cancellation.
inline constexpr std::chrono::milliseconds kPollInterval{20};
// Limits on a server's messages: the size of one, and the number of its own requests that are answered while one of
// ours waits.
inline constexpr size_t kMaxMessageBytes = 4u << 20;
inline constexpr int kMaxServerRequests = 16;
// Time for the server to read the answer to such a request.
inline constexpr std::chrono::seconds kReplyTime{5};

// Agreed with a server; empty before the first request.
struct Session {
  std::string id;       // "": the server has no sessions
  std::string version;  // of the protocol
  // Revision 2026-07-28: there are no sessions, and every request has headers with its method and its tool.
  bool is_stateless = false;
};

struct Outgoing {
  uint64_t id;
  std::string method;
  Json params;
};

// The answer to a request.
struct Answer {
  Json result;
  std::optional<RpcError> error;  // if set, there is no result
  std::string session_id;         // from the answer
  bool is_stateless = false;      // as in the session
};

// Converts a result or an error to the answer for its request.
Answer answer_of(Message message);

// Subjects of three errors: the server refuses such a request (FormatError); it has lost the session (NotFound); there
// was no answer in time (ResourceExhausted).
inline constexpr const char* kRefusal = "refused";
inline constexpr const char* kLostSession = "session";
inline constexpr const char* kTimeout = "timeout";

class Transport {
 public:
  virtual ~Transport() = default;

  // Sends a request and waits for its answer. Other messages in the meantime are ignored, except requests of the
  // server, which are answered. Errors: NotFound, InvalidArgument and FormatError for faults of the server;
  // kLostSession; those of Patience.
  virtual Result<Answer> ask(const Session& session, const Outgoing& request, const Patience& patience) = 0;
  // Sends a message that has no answer: a notification, or the answer to a request of the server.
  virtual Status tell(const Session& session, const std::string& message, const Patience& patience) = 0;
  // Tells the server that the session is no longer needed.
  virtual void end(const Session& session, const Patience& patience) = 0;
};

}  // namespace realizar::mcp
