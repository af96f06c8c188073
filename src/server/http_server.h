// HTTP/1.1 over TCP or TLS: one I/O thread for all sockets, a few workers for what takes long (parsing, templates,
// tokenizing). Boost stays behind this header.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "realizar/result.h"
#include "server/http.h"

namespace realizar::server {

struct HttpOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;  // 0: any free one
  uint32_t n_workers = 2;
  size_t max_body_bytes = 32u << 20;
  uint32_t max_header_bytes = 32u << 10;
  uint32_t max_connections = 10000;
  uint32_t header_timeout_ms = 10'000;  // from the first byte of a request to the end of its headers
  uint32_t body_timeout_ms = 60'000;    // from then to the end of the body
  uint32_t idle_timeout_ms = 75'000;    // between requests
  uint32_t write_timeout_ms = 60'000;   // without a byte taken by the client
  std::string tls_cert, tls_key;        // PEM files; empty: plain HTTP
};

class HttpServer {
 public:
  using Handler = std::function<void(std::shared_ptr<const HttpRequest>, std::shared_ptr<Reply>)>;

  // Binds and listens. Errors: InvalidArgument (address, certificate), ResourceExhausted (the port is taken).
  static Result<std::unique_ptr<HttpServer>> create(const HttpOptions& options, Handler handler);
  virtual ~HttpServer() = default;

  virtual uint16_t port() const = 0;
  // Serves on the calling thread, which becomes the I/O thread, until stop().
  virtual void run() = 0;

  // Any thread.
  virtual void post(std::function<void()> task) = 0;       // onto the I/O thread
  virtual void post_work(std::function<void()> task) = 0;  // onto a worker
  virtual void wake() = 0;  // has on_wake called on the I/O thread; neither locks nor allocates

  // On the I/O thread, or before run().
  virtual void set_on_wake(std::function<void()> on_wake) = 0;
  virtual void every(std::chrono::milliseconds interval, std::function<void()> task) = 0;
  virtual void on_signal(std::function<void(int signal)> handler) = 0;  // SIGINT and SIGTERM
  // No new connections; idle ones are closed, the others after their reply.
  virtual void stop_accepting() = 0;
  virtual void stop() = 0;
  virtual uint32_t n_connections() const = 0;
};

}  // namespace realizar::server
