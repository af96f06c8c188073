#include "server/events/zmq_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/symbol.h"

namespace realizar::server {
namespace {

constexpr int kDontWait = 1, kSendMore = 2;  // flags
constexpr int kReceiveMore = 13;             // an option
constexpr short kPollIn = 1;
constexpr size_t kMaxFrames = 8;

bool find_calls(void* library, ZmqCalls& calls) {
  return find_symbol(library, "zmq_ctx_new", calls.ctx_new) && find_symbol(library, "zmq_ctx_term", calls.ctx_term) &&
         find_symbol(library, "zmq_socket", calls.socket) && find_symbol(library, "zmq_close", calls.close) &&
         find_symbol(library, "zmq_setsockopt", calls.setsockopt) &&
         find_symbol(library, "zmq_getsockopt", calls.getsockopt) && find_symbol(library, "zmq_bind", calls.bind) &&
         find_symbol(library, "zmq_connect", calls.connect) && find_symbol(library, "zmq_send", calls.send) &&
         find_symbol(library, "zmq_recv", calls.recv) && find_symbol(library, "zmq_poll", calls.poll) &&
         find_symbol(library, "zmq_errno", calls.error_number) &&
         find_symbol(library, "zmq_strerror", calls.error_text);
}

Error out_of_sockets() {
  return {ErrorCode::kResourceExhausted, "ZeroMQ has no more sockets: too many files are open", "kv_events"};
}

}  // namespace

void ZmqSocket::set_max_message_bytes(int64_t n) {
  calls_->setsockopt(socket_, static_cast<int>(ZmqOption::kMaxMessageBytes), &n, sizeof n);
}

Status ZmqSocket::bind(const std::string& endpoint) {
  if (calls_->bind(socket_, endpoint.c_str()) == 0) return {};
  return invalid_argument(error_text(), "kv_events");
}

Status ZmqSocket::connect(const std::string& endpoint) {
  if (calls_->connect(socket_, endpoint.c_str()) == 0) return {};
  return invalid_argument(error_text(), "kv_events");
}

std::string ZmqSocket::last_endpoint() const {
  std::array<char, 1024> text{};
  size_t n_bytes = text.size() - 1;
  calls_->getsockopt(socket_, static_cast<int>(ZmqOption::kLastEndpoint), text.data(), &n_bytes);
  return text.data();
}

// The first frame checks for room: the following ones belong to a message that has begun.
ZmqSent ZmqSocket::send(const std::vector<std::string_view>& frames) {
  for (size_t i = 0; i < frames.size(); ++i) {
    const int flags = kDontWait | (i + 1 < frames.size() ? kSendMore : 0);
    while (calls_->send(socket_, frames[i].data(), frames[i].size(), flags) < 0) {
      const int error = calls_->error_number();
      if (error == EINTR) continue;
      return error == EAGAIN ? ZmqSent::kNoRoom : ZmqSent::kNoPeer;
    }
  }
  return ZmqSent::kYes;
}

std::optional<std::vector<std::string>> ZmqSocket::receive(size_t max_frame_bytes) {
  std::vector<std::string> frames;
  std::string frame(max_frame_bytes, '\0');
  int has_more = 1;
  while (has_more != 0) {
    const int n_bytes = calls_->recv(socket_, frame.data(), frame.size(), kDontWait);
    if (n_bytes < 0 && calls_->error_number() == EINTR) continue;
    if (n_bytes < 0) return std::nullopt;
    // Further frames are read and dropped.
    if (frames.size() < kMaxFrames) frames.push_back(frame.substr(0, static_cast<size_t>(n_bytes)));
    size_t n_value = sizeof has_more;
    if (calls_->getsockopt(socket_, kReceiveMore, &has_more, &n_value) != 0) return std::nullopt;
  }
  return frames;
}

Result<std::unique_ptr<Zmq>> Zmq::open(const char* library_name) {
  void* library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return not_found(std::string("--kv-events needs ZeroMQ, whose library cannot be loaded (") + ::dlerror() +
                         "); install Debian's package libzmq5",
                     "kv_events");
  }
  ZmqCalls calls{};
  if (!find_calls(library, calls)) {
    return not_found(std::string(library_name) + " is not ZeroMQ's library of version 4: it lacks a symbol",
                     "kv_events");
  }
  void* context = calls.ctx_new();
  if (context == nullptr) return out_of_sockets();
  return std::unique_ptr<Zmq>(new Zmq(calls, context));
}

Result<std::unique_ptr<ZmqSocket>> Zmq::make_socket(ZmqType type) {
  void* socket = calls_.socket(context_, static_cast<int>(type));
  if (socket == nullptr) return out_of_sockets();
  return std::make_unique<ZmqSocket>(calls_, socket);
}

// An interrupted wait is as good as a complete one.
void Zmq::wait(const ZmqSocket* socket, int timeout_ms) {
  ZmqPollItem item{socket != nullptr ? socket->handle() : nullptr, -1, kPollIn, 0};
  calls_.poll(&item, socket != nullptr ? 1 : 0, timeout_ms);
}

}  // namespace realizar::server
