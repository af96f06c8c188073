// HTTP/1.1 over TCP or TLS: one I/O thread for all sockets, and a WorkPool for what takes long (parsing, templates,
// tokenizing). Who includes this header needs no Boost.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"
#include "server/http/http.h"
#include "server/http/work_pool.h"

namespace realizar::server {

struct HttpOptions {
  std::string host = "127.0.0.1";  // an address, or the path of a Unix socket: see is_socket_path()
  uint16_t port = 8080;            // 0: any free one
  std::string owner_socket;        // a Unix socket for the server's own user, as open_owner_socket() has it; "": none
  int owner_fd = -1;               // one that listens already, in its place; -1: none
  uint32_t n_small_workers = 8;    // threads for small bodies
  uint32_t n_large_workers = 2;    // and for large ones
  size_t max_body_bytes = 8u << 20;
  size_t max_bodies_bytes = 256u << 20;  // of all bodies together, without the first 64 KB of each
  uint32_t max_header_bytes = 32u << 10;
  uint32_t max_connections = 10000;
  uint32_t max_connections_per_address = 0;  // 0: no bound
  std::vector<std::string> trusted_proxies;  // addresses and networks whose X-Forwarded-For counts
  uint32_t header_timeout_ms = 10'000;       // from the first byte of a request to the end of its headers
  uint32_t body_timeout_ms = 60'000;         // from then to the end of the body
  uint32_t idle_timeout_ms = 75'000;         // between requests
  uint32_t write_timeout_ms = 60'000;        // without a byte taken by the client
  std::string tls_cert, tls_key;             // PEM files; empty: plain HTTP
};

// What a worker does, and what the I/O thread does after it. Neither may throw.
class Job {
 public:
  virtual ~Job() = default;
  virtual void run() noexcept = 0;
  virtual void then() noexcept = 0;
  Job* next = nullptr;  // the server's own
};

// Whether the host is a Unix socket: a path, which has a slash.
bool is_socket_path(std::string_view host);

class HttpServer {
 public:
  // Called when a request's header is there. Gives who sends it, for a fair share of the room for bodies, and sets the
  // reply's listener; or the reply has been sent, and the body is not wanted.
  using Handler = std::function<std::optional<std::string>(HttpRequest, const std::shared_ptr<Reply>&)>;

  // Binds and listens. Errors: InvalidArgument (address, certificate), ResourceExhausted (the port is taken).
  static Result<std::unique_ptr<HttpServer>> create(const HttpOptions& options, Handler handler);
  virtual ~HttpServer() = default;

  virtual uint16_t port() const = 0;
  // Why there is no owner's socket though one was asked for; empty: there is one, or none was.
  virtual const std::string& owner_socket_note() const = 0;
  // Serves on the calling thread, which becomes the I/O thread, until stop().
  virtual void run() = 0;

  // Any thread. What a task throws is logged, and ends nothing.
  virtual void post(std::function<void()> task) = 0;  // onto the I/O thread
  // Has the job run on a worker, as the client's turn comes, then its then() on the I/O thread. It must live till then,
  // or till run() has ended.
  virtual void post_work(const std::string& client, size_t n_body_bytes, Job& job) = 0;
  virtual void wake() = 0;  // has on_wake called on the I/O thread; neither locks nor allocates

  // On the I/O thread, or before run().
  virtual void set_on_wake(std::function<void()> on_wake) = 0;
  virtual void every(std::chrono::milliseconds interval, std::function<void()> task) = 0;
  // At the first SIGINT, SIGTERM or SIGHUP; the second one ends the process at once.
  virtual Status on_stop_signal(std::function<void()> handler) = 0;
  // At each SIGUSR1.
  virtual Status on_reopen_signal(std::function<void()> handler) = 0;
  // No new connections; idle ones are closed, the others after their reply. What has arrived by then is a request: of
  // connections that wait to be accepted too.
  virtual void stop_accepting() = 0;
  virtual void stop() = 0;
  virtual uint32_t n_connections() const = 0;
};

}  // namespace realizar::server
