// The functions of ZeroMQ used here. libzmq.so.5 is opened at run time, so that neither linking nor headers are needed.
// The functions and numbers here are the same in all versions with that name (ZeroMQ 4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::server {

struct ZmqPollItem {
  void* socket = nullptr;
  int fd = 0;
  short events = 0, returned_events = 0;
};

struct ZmqCalls {
  void* (*ctx_new)();
  int (*ctx_term)(void* context);
  void* (*socket)(void* context, int type);
  int (*close)(void* socket);
  int (*setsockopt)(void* socket, int option, const void* value, size_t n_bytes);
  int (*getsockopt)(void* socket, int option, void* value, size_t* n_bytes);
  int (*bind)(void* socket, const char* endpoint);
  int (*connect)(void* socket, const char* endpoint);
  int (*send)(void* socket, const void* bytes, size_t n_bytes, int flags);
  int (*recv)(void* socket, void* bytes, size_t n_bytes, int flags);
  int (*poll)(ZmqPollItem* items, int n_items, long timeout_ms);
  int (*error_number)();
  const char* (*error_text)(int number);
};

enum class ZmqType : int { kPub = 1, kRouter = 6 };
enum class ZmqOption : int {
  kLastEndpoint = 32,
  kLinger = 17,           // ms that closing allows for unsent messages
  kReconnectMaxMs = 21,   // between attempts to connect, which become ever rarer
  kMaxMessageBytes = 22,  // from a peer; int64_t
  kSendLimit = 23,        // messages queued for a peer
  kReceiveLimit = 24,
  kRefuseUnroutable = 33,  // a message to a peer without room, or a disconnected one, is an error instead of lost
  kIpv6 = 42,
};

// The fate of a message.
enum class ZmqSent { kYes, kNoRoom, kNoPeer };

// One thread at a time.
class ZmqSocket {
 public:
  ZmqSocket(const ZmqCalls& calls, void* socket) : calls_(&calls), socket_(socket) {}
  ZmqSocket(const ZmqSocket&) = delete;
  ZmqSocket& operator=(const ZmqSocket&) = delete;
  ~ZmqSocket() { calls_->close(socket_); }

  void set(ZmqOption option, int value) { calls_->setsockopt(socket_, static_cast<int>(option), &value, sizeof value); }
  void set_max_message_bytes(int64_t n);
  // Errors: the system's reason.
  Status bind(const std::string& endpoint);
  Status connect(const std::string& endpoint);
  // The bound address, with the port that the system has chosen.
  std::string last_endpoint() const;

  // Does not wait. A message of several frames is sent whole or not at all.
  ZmqSent send(const std::vector<std::string_view>& frames);
  // nullopt: no message. A longer frame is cut to max_frame_bytes.
  std::optional<std::vector<std::string>> receive(size_t max_frame_bytes);
  void* handle() const { return socket_; }

 private:
  std::string error_text() const { return calls_->error_text(calls_->error_number()); }

  const ZmqCalls* calls_;
  void* socket_;
};

// The library, with a context for sockets; the sockets must end first.
class Zmq {
 public:
  // Errors: NotFound, which names Debian's package; ResourceExhausted.
  static Result<std::unique_ptr<Zmq>> open(const char* library_name = "libzmq.so.5");
  Zmq(const Zmq&) = delete;
  Zmq& operator=(const Zmq&) = delete;
  ~Zmq() { calls_.ctx_term(context_); }

  // Errors: ResourceExhausted.
  Result<std::unique_ptr<ZmqSocket>> make_socket(ZmqType type);
  // Waits until a socket, which may be null, has a message, for at most timeout_ms.
  void wait(const ZmqSocket* socket, int timeout_ms);

 private:
  Zmq(const ZmqCalls& calls, void* context) : calls_(calls), context_(context) {}

  const ZmqCalls calls_;
  void* const context_;
};

}  // namespace realizar::server
