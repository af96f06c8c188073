// HTTP/1.1 over TCP or TLS: one I/O thread for all sockets, and a WorkPool for slow work (parsing, templates,
// tokenizing). Including this header does not require Boost.
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
  uint16_t port = 8080;            // 0: any free port
  std::string owner_socket;        // a Unix socket for the server's own user, see open_owner_socket(); "": none
  int owner_fd = -1;               // an already listening socket to use instead; -1: none
  uint32_t n_small_workers = 8;    // threads for small bodies
  uint32_t n_large_workers = 2;    // and for large ones
  size_t max_body_bytes = 8u << 20;
  size_t max_bodies_bytes = 256u << 20;  // of all bodies together, not counting the first 64 KB of each
  uint32_t max_header_bytes = 32u << 10;
  uint32_t max_connections = 10000;
  uint32_t max_connections_per_address = 0;  // 0: no limit
  std::vector<std::string> trusted_proxies;  // addresses and networks whose X-Forwarded-For is trusted
  uint32_t header_timeout_ms = 10'000;       // from the first byte of a request to the end of its headers
  uint32_t body_timeout_ms = 60'000;         // from then to the end of the body
  uint32_t idle_timeout_ms = 75'000;         // between requests
  uint32_t write_timeout_ms = 60'000;        // without the client accepting a byte
  std::string tls_cert, tls_key;             // PEM files; empty: plain HTTP
};

// Work for a worker, and a continuation on the I/O thread. Neither may throw.
class Job {
 public:
  virtual ~Job() = default;
  virtual void run() noexcept = 0;
  virtual void then() noexcept = 0;
  Job* next = nullptr;  // used by the server
};

// Whether the host is a Unix socket: a path, which contains a slash.
bool is_socket_path(std::string_view host);

class HttpServer {
 public:
  // Called when a request's header has arrived. Returns the sender, for a fair share of the room for bodies, and sets
  // the reply's listener; nullopt: the reply has been sent, and the body is not wanted.
  using Handler = std::function<std::optional<std::string>(HttpRequest, const std::shared_ptr<Reply>&)>;

  // Binds and listens. Errors: InvalidArgument (address, certificate), ResourceExhausted (the port is taken).
  static Result<std::unique_ptr<HttpServer>> create(const HttpOptions& options, Handler handler);
  virtual ~HttpServer() = default;

  virtual uint16_t port() const = 0;
  // Why there is no owner's socket although it was requested; empty: there is one, or it was not requested.
  virtual const std::string& owner_socket_note() const = 0;
  // Serves on the calling thread, which becomes the I/O thread, until stop().
  virtual void run() = 0;

  // Any thread. Exceptions of a task are logged, and do not end the server.
  virtual void post(std::function<void()> task) = 0;  // onto the I/O thread
  // Runs the job on a worker when it is the client's turn, then its then() on the I/O thread. The job must live until
  // then, or until run() has ended.
  virtual void post_work(const std::string& client, size_t n_body_bytes, Job& job) = 0;
  virtual void wake() = 0;  // calls on_wake on the I/O thread; neither locks nor allocates

  // On the I/O thread, or before run().
  virtual void set_on_wake(std::function<void()> on_wake) = 0;
  virtual void every(std::chrono::milliseconds interval, std::function<void()> task) = 0;
  // Called at the first SIGINT, SIGTERM or SIGHUP; a second one ends the process at once.
  virtual Status on_stop_signal(std::function<void()> handler) = 0;
  // Called at each SIGUSR1.
  virtual Status on_reopen_signal(std::function<void()> handler) = 0;
  // Accepts no new connections; closes idle ones at once, others after their reply. Data that has already arrived
  // counts as a request, even on connections that wait to be accepted.
  virtual void stop_accepting() = 0;
  virtual void stop() = 0;
  virtual uint32_t n_connections() const = 0;
};

}  // namespace realizar::server
