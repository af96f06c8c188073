// One request's reply on its way to a connection: heads and chunks of HTTP/1.1. I/O thread.
#pragma once

#include <fmt/format.h>

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/caught.h"
#include "server/http/http.h"

namespace realizar::server {

constexpr size_t kCongestedBytes = 64u << 10;

// The part of a connection that an Exchange uses.
class ConnectionBase {
 public:
  virtual ~ConnectionBase() = default;
  virtual void send_bytes(std::string_view bytes) = 0;
  virtual void finish_reply(bool keep_alive) = 0;
  virtual size_t n_unsent_bytes() const = 0;
  // Do not wait for further requests; one that has arrived is answered.
  virtual void close_if_idle() = 0;
  virtual bool takes_requests() const = 0;
  virtual void close() = 0;
};

class Exchange final : public Reply {
 public:
  Exchange(std::weak_ptr<ConnectionBase> connection, bool keep_alive, bool is_http_1_0, bool is_head)
      : connection_(std::move(connection)), keep_alive_(keep_alive), is_http_1_0_(is_http_1_0), is_head_(is_head) {}

  void send(HttpResponse response) override {
    if (state_ != State::kOpen) return;
    // RFC 9110, section 8.6: a length describes the body, or the one that HEAD omits.
    const bool has_body = response.status != 204 && response.status != 304;
    if (has_body) response.headers.emplace_back("Content-Length", std::to_string(response.body.size()));
    settle_keep_alive();
    std::string bytes = head_of(response);
    if (!is_head_) bytes += response.body;
    put_head(bytes);
    finish();
  }

  void begin_stream(HttpResponse head) override {
    if (state_ != State::kOpen) return;
    // HTTP/1.0 has no chunks: the end of the connection marks the end of the reply.
    if (is_http_1_0_) keep_alive_ = false;
    if (!is_http_1_0_) head.headers.emplace_back("Transfer-Encoding", "chunked");
    settle_keep_alive();
    put_head(head_of(head));
  }

  void write(std::string_view bytes) override {
    if (state_ != State::kStreaming || bytes.empty() || is_head_) return;
    if (is_http_1_0_) return put(bytes);
    put(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes));
  }

  void end() override {
    if (state_ != State::kStreaming) return;
    if (!is_http_1_0_ && !is_head_) put("0\r\n\r\n");
    finish();
  }

  bool is_congested() const override {
    const auto connection = connection_.lock();
    return connection != nullptr && connection->n_unsent_bytes() > kCongestedBytes;
  }
  void drop() noexcept override {
    if (const auto connection = connection_.lock()) connection->close();
  }
  // The request's body, or the reason that there is none.
  void take(HttpBody body) {
    if (const auto told = listener.lock()) told->on_body(std::move(body));
  }
  void refuse(int status, std::string message) {
    if (const auto told = listener.lock()) told->on_no_body(status, std::move(message));
  }
  // Whether further requests may follow the reply; to be called before it begins.
  void set_keep_alive(bool keep_alive) { keep_alive_ = keep_alive; }
  void notify_closed() {
    if (std::exchange(state_, State::kClosed) == State::kDone) return;
    if (const auto told = std::exchange(listener, {}).lock()) told->on_closed();
  }
  void notify_drained() {
    const auto told = listener.lock();
    if (state_ == State::kStreaming && told != nullptr) told->on_drained();
  }

 private:
  enum class State { kOpen, kStreaming, kDone, kClosed };

  void settle_keep_alive() {
    const auto connection = connection_.lock();
    keep_alive_ = keep_alive_ && connection != nullptr && connection->takes_requests();
  }

  std::string head_of(const HttpResponse& response) const {
    std::string head = fmt::format("HTTP/1.1 {} {}\r\nConnection: {}\r\n", response.status,
                                   reason_phrase(response.status), keep_alive_ ? "keep-alive" : "close");
    head += fmt::format("Date: {}\r\nX-Content-Type-Options: nosniff\r\n", http_date(std::time(nullptr)));
    if (!response.content_type.empty()) head += fmt::format("Content-Type: {}\r\n", response.content_type);
    for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
    return head + "\r\n";
  }

  // A head with missing bytes cannot be followed by anything.
  void put_head(std::string_view bytes) {
    state_ = State::kStreaming;
    if (!caught([&] { put(bytes); }).ok()) drop();
  }

  void put(std::string_view bytes) {
    if (const auto connection = connection_.lock()) connection->send_bytes(bytes);
  }

  void finish() {
    if (state_ == State::kClosed) return;
    state_ = State::kDone;
    listener.reset();
    if (const auto connection = connection_.lock()) connection->finish_reply(keep_alive_);
  }

  std::weak_ptr<ConnectionBase> connection_;
  bool keep_alive_, is_http_1_0_, is_head_;
  State state_ = State::kOpen;
};

}  // namespace realizar::server
