#include "server/shared/redis_connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/printable.h"
#include "base/try.h"

namespace realizar::server {
namespace {

using Clock = RedisConnection::Clock;

constexpr size_t kReadBytes = 256 << 10;
constexpr std::chrono::seconds kPatience{2};  // without receiving a byte

Error redis_is_lost(std::string why) {
  return not_found(std::move(why), "redis");
}

Error redis_is_slow() {
  return not_found("no answer in time", kRedisIsSlow);
}

// Waits until the socket may have become ready for `events`.
Status wait_for(int socket, short events, const StopSignal& stop, Clock::time_point deadline) {
  const auto end = std::min(deadline, Clock::now() + kPatience);
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return end == deadline ? redis_is_slow() : redis_is_lost("no answer for 2 s");
    pollfd waited[] = {{socket, events, 0}, {stop.fd(), POLLIN, 0}};
    const int n_ready = ::poll(waited, 2, static_cast<int>(std::min<int64_t>(left, 60'000)));
    if (n_ready < 0 && errno != EINTR) return redis_is_lost(std::strerror(errno));
    if (n_ready <= 0) continue;
    if (waited[1].revents != 0) return Error{ErrorCode::kCancelled, "the server is shutting down", "shutdown"};
    return {};
  }
}

struct AddressList {
  addrinfo* first = nullptr;
  ~AddressList() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
};

Result<FileDescriptor> connect_to(const addrinfo& address, const StopSignal& stop, Clock::time_point deadline) {
  FileDescriptor socket(
      ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
  if (socket.get() < 0) return redis_is_lost(std::strerror(errno));
  const int on = 1;
  static_cast<void>(::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return redis_is_lost(std::strerror(errno));
  RZ_CHECK_OK(wait_for(socket.get(), POLLOUT, stop, deadline));
  int reason = 0;
  socklen_t size = sizeof reason;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &reason, &size) != 0) reason = errno;
  if (reason != 0) return redis_is_lost(std::strerror(reason));
  return socket;
}

// Resolving the name may take longer than the deadline: the system's resolver has none.
Result<FileDescriptor> connect_to(const CacheUrl& url, const StopSignal& stop, Clock::time_point deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  AddressList addresses;
  const int code = ::getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &addresses.first);
  if (code != 0) return redis_is_lost(fmt::format("{}: {}", url.host, ::gai_strerror(code)));
  Error last = redis_is_lost("no address");
  for (const addrinfo* address = addresses.first; address != nullptr; address = address->ai_next) {
    auto socket = connect_to(*address, stop, deadline);
    if (socket.ok()) return socket;
    last = std::move(socket).error();
  }
  return last;
}

std::string tls_reason() {
  char text[256] = "it was closed";
  const auto code = ::ERR_get_error();
  if (code != 0) ::ERR_error_string_n(code, text, sizeof text);
  ::ERR_clear_error();
  return text;
}

// The bytes of a socket, with or without TLS. Both functions return how many were moved, or 0 if the socket must become
// ready for wanted() first.
class ByteStream {
 public:
  explicit ByteStream(FileDescriptor socket) : socket_(std::move(socket)) {}

  Status begin_tls(const CacheUrl& url, const StopSignal& stop, Clock::time_point deadline) {
    context_.reset(::SSL_CTX_new(::TLS_client_method()));
    if (context_ == nullptr || ::SSL_CTX_set_default_verify_paths(context_.get()) != 1) {
      return redis_is_lost("TLS: " + tls_reason());
    }
    ::SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    ::SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    ssl_.reset(::SSL_new(context_.get()));
    if (ssl_ == nullptr || ::SSL_set_fd(ssl_.get(), socket_.get()) != 1) return redis_is_lost("TLS: " + tls_reason());
    // A certificate has addresses in a different field than hosts, and only hosts are sent to the server.
    const bool is_address = ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_.get()), url.host.c_str()) == 1;
    if (!is_address) {
      ::ERR_clear_error();
      ::SSL_set_tlsext_host_name(ssl_.get(), url.host.c_str());
      if (::SSL_set1_host(ssl_.get(), url.host.c_str()) != 1) return redis_is_lost("TLS: " + tls_reason());
    }
    while (true) {
      const int done = ::SSL_connect(ssl_.get());
      if (done == 1) return {};
      RZ_CHECK_OK(note_tls(done));
      RZ_CHECK_OK(wait_for(socket_.get(), wanted_, stop, deadline));
    }
  }

  Result<size_t> send(std::string_view bytes) {
    if (ssl_ != nullptr) {
      ::ERR_clear_error();
      const int n = ::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), kReadBytes)));
      return n > 0 ? Result<size_t>(static_cast<size_t>(n)) : nothing(n);
    }
    wanted_ = POLLOUT;
    return moved(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }

  Result<size_t> receive(std::span<char> bytes) {
    if (ssl_ != nullptr) {
      ::ERR_clear_error();
      const int n = ::SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
      return n > 0 ? Result<size_t>(static_cast<size_t>(n)) : nothing(n);
    }
    wanted_ = POLLIN;
    const ssize_t n = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (n == 0) return redis_is_lost("it closed the connection");
    return moved(n);
  }

  int socket() const { return socket_.get(); }
  short wanted() const { return wanted_; }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { ::SSL_free(ssl); }
  };

  static Result<size_t> moved(ssize_t n) {
    if (n >= 0) return static_cast<size_t>(n);
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return size_t{0};
    return redis_is_lost(std::strerror(errno));
  }
  Status note_tls(int returned) {
    const int code = ::SSL_get_error(ssl_.get(), returned);
    wanted_ = code == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN;
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE) return {};
    return redis_is_lost("TLS: " + tls_reason());
  }
  Result<size_t> nothing(int returned) {
    RZ_CHECK_OK(note_tls(returned));
    return size_t{0};
  }

  FileDescriptor socket_;
  short wanted_ = POLLIN;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
};

struct FreeCommand {
  void operator()(char* command) const { ::redisFreeCommand(command); }
};

class SocketConnection final : public RedisConnection {
 public:
  SocketConnection(ByteStream stream, const StopSignal& stop) : stream_(std::move(stream)), stop_(stop) {}

  Status greet(const CacheUrl& url, const std::string& password, Clock::time_point deadline) {
    std::vector<Command> commands;
    if (!password.empty() && url.user.empty()) commands.push_back({"AUTH", password});
    if (!password.empty() && !url.user.empty()) commands.push_back({"AUTH", url.user, password});
    const std::string db = std::to_string(url.db);
    commands.push_back({"SELECT", db});
    commands.push_back({"PING"});
    RZ_TRY(const auto replies, ask(commands, {}, deadline));
    for (size_t i = 0; i < replies.size(); ++i) {
      if (!replies[i].is_error()) continue;
      const std::string& text = replies[i].text;
      const bool is_refusal = commands[i].front() == "AUTH" || text.starts_with("NOAUTH") ||
                              text.starts_with("WRONGPASS") || text.starts_with("NOPERM");
      return is_refusal ? invalid_argument(realizar::shown(text), kRedisRefuses) : redis_is_lost(realizar::shown(text));
    }
    return {};
  }

  Result<std::vector<RedisReply>> ask(std::span<const Command> commands, const ReplyBounds& bounds,
                                      Clock::time_point deadline) override {
    n_received_ = 0;
    reader_.set_bounds(bounds);
    for (const Command& command : commands) {
      RZ_CHECK_OK(spell(command));
      if (unsent_.size() >= kReadBytes) RZ_CHECK_OK(send_all(deadline));
    }
    RZ_CHECK_OK(send_all(deadline));
    std::vector<RedisReply> replies;
    replies.reserve(commands.size());
    while (replies.size() < commands.size()) {
      RZ_TRY(std::optional<RedisReply> reply, reader_.next());
      if (reply) {
        replies.push_back(std::move(*reply));
        continue;
      }
      RZ_CHECK_OK(receive(deadline));
    }
    return replies;
  }

  size_t n_received() const override { return n_received_; }

 private:
  Status spell(const Command& command) {
    std::vector<const char*> parts;
    std::vector<size_t> sizes;
    for (const std::string_view part : command) {
      parts.push_back(part.data());
      sizes.push_back(part.size());
    }
    char* written = nullptr;
    const int n_bytes = ::redisFormatCommandArgv(&written, static_cast<int>(parts.size()), parts.data(), sizes.data());
    if (n_bytes < 0) return Error{ErrorCode::kResourceExhausted, "no memory for a question to Redis", "redis"};
    const std::unique_ptr<char, FreeCommand> owned(written);
    unsent_.append(written, static_cast<size_t>(n_bytes));
    return {};
  }

  Status send_all(Clock::time_point deadline) {
    std::string_view left = unsent_;
    while (!left.empty()) {
      RZ_TRY(const size_t n, stream_.send(left));
      left.remove_prefix(n);
      if (n == 0) RZ_CHECK_OK(wait_for(stream_.socket(), stream_.wanted(), stop_, deadline));
    }
    unsent_.clear();
    return {};
  }

  Status receive(Clock::time_point deadline) {
    if (Clock::now() >= deadline) return redis_is_slow();
    RZ_TRY(const size_t n, stream_.receive(buffer_));
    if (n == 0) return wait_for(stream_.socket(), stream_.wanted(), stop_, deadline);
    n_received_ += n;
    return reader_.feed(std::span(buffer_).first(n));
  }

  ByteStream stream_;
  const StopSignal& stop_;
  RedisReader reader_;
  std::string unsent_;
  std::vector<char> buffer_ = std::vector<char>(kReadBytes);
  size_t n_received_ = 0;
};

}  // namespace

StopSignal::StopSignal() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void StopSignal::send() const {
  const uint64_t one = 1;
  static_cast<void>(!::write(event_.get(), &one, sizeof one));
}

Result<std::unique_ptr<RedisConnection>> RedisConnection::open(const CacheUrl& url, const std::string& password,
                                                               const StopSignal& stop, Clock::time_point deadline) {
  RZ_TRY(FileDescriptor socket, connect_to(url, stop, deadline));
  ByteStream stream(std::move(socket));
  if (url.has_tls) RZ_CHECK_OK(stream.begin_tls(url, stop, deadline));
  auto connection = std::make_unique<SocketConnection>(std::move(stream), stop);
  RZ_CHECK_OK(connection->greet(url, password, deadline));
  return std::unique_ptr<RedisConnection>(std::move(connection));
}

}  // namespace realizar::server
