#include "server/http_server.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <list>
#include <optional>
#include <unordered_set>

namespace realizar::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Parser = http::request_parser<http::string_body>;
using boost::system::error_code;
using TlsStream = asio::ssl::stream<tcp::socket>;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr size_t kReadBytes = 4096;
constexpr size_t kMaxPipelinedBytes = 64u << 10;  // read ahead while a reply is under way
constexpr uint32_t kLingerMs = 5000;
constexpr size_t kCongestedBytes = 64u << 10;

tcp::socket& lowest(tcp::socket& socket) {
  return socket;
}
tcp::socket& lowest(TlsStream& stream) {
  return stream.next_layer();
}

// Of http://host/path, which proxies send (RFC 9112, section 3.2.2), the path; any other target as it is.
std::string_view origin_form(std::string_view target) {
  const size_t scheme_end = target.find("://");
  if (target.starts_with('/') || scheme_end == std::string_view::npos) return target;
  const size_t slash = target.find('/', scheme_end + 3);
  return slash == std::string_view::npos ? "/" : target.substr(slash);
}

class Exchange;

// What an Exchange needs of its connection.
class ConnectionBase {
 public:
  virtual ~ConnectionBase() = default;
  virtual void send_bytes(std::string_view bytes) = 0;
  virtual void finish_reply(bool keep_alive) = 0;
  virtual size_t n_unsent_bytes() const = 0;
  virtual void close_if_idle() = 0;
  virtual void close() = 0;
};

// One request's reply: heads and chunks on the way to the connection.
class Exchange final : public Reply {
 public:
  Exchange(std::weak_ptr<ConnectionBase> connection, bool keep_alive, bool is_http_1_0, bool is_head)
      : connection_(std::move(connection)), keep_alive_(keep_alive), is_http_1_0_(is_http_1_0), is_head_(is_head) {}

  void send(HttpResponse response) override {
    if (state_ != State::kOpen) return;
    response.headers.emplace_back("Content-Length", std::to_string(response.body.size()));
    std::string bytes = head_of(response);
    if (!is_head_) bytes += response.body;
    state_ = State::kStreaming;
    put(bytes);
    finish();
  }

  void begin_stream(HttpResponse head) override {
    if (state_ != State::kOpen) return;
    // HTTP/1.0 knows no chunks: the end of the connection is the end of the reply.
    if (is_http_1_0_) keep_alive_ = false;
    if (!is_http_1_0_) head.headers.emplace_back("Transfer-Encoding", "chunked");
    state_ = State::kStreaming;
    put(head_of(head));
  }

  void write(std::string_view bytes) override {
    if (state_ != State::kStreaming || bytes.empty() || is_head_) return;
    if (is_http_1_0_) return put(bytes);
    put(fmt::format("{:x}\r\n", bytes.size()));
    put(bytes);
    put("\r\n");
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
  bool is_closed() const override { return state_ == State::kClosed; }
  void notify_closed() {
    if (std::exchange(state_, State::kClosed) == State::kDone) return;
    if (const auto callback = std::exchange(on_closed, {})) callback();
    on_drained = {};
  }
  void notify_drained() {
    if (state_ == State::kStreaming && on_drained) on_drained();
  }

 private:
  enum class State { kOpen, kStreaming, kDone, kClosed };

  std::string head_of(const HttpResponse& response) const {
    std::string head = fmt::format("HTTP/1.1 {} {}\r\nConnection: {}\r\n", response.status,
                                   reason_phrase(response.status), keep_alive_ ? "keep-alive" : "close");
    if (!response.content_type.empty()) head += fmt::format("Content-Type: {}\r\n", response.content_type);
    for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
    return head + "\r\n";
  }

  void put(std::string_view bytes) {
    if (const auto connection = connection_.lock()) connection->send_bytes(bytes);
  }

  void finish() {
    if (state_ == State::kClosed) return;
    state_ = State::kDone;
    on_closed = on_drained = {};
    if (const auto connection = connection_.lock()) connection->finish_reply(keep_alive_);
  }

  std::weak_ptr<ConnectionBase> connection_;
  bool keep_alive_, is_http_1_0_, is_head_;
  State state_ = State::kOpen;
};

struct Shared {
  HttpOptions options;
  HttpServer::Handler handler;
  std::unordered_set<ConnectionBase*> connections;
  bool draining = false;
};

template <class Stream>
class Connection final : public ConnectionBase, public std::enable_shared_from_this<Connection<Stream>> {
 public:
  Connection(Stream stream, std::shared_ptr<Shared> shared)
      : stream_(std::move(stream)),
        shared_(std::move(shared)),
        read_timer_(stream_.get_executor()),
        write_timer_(stream_.get_executor()) {
    shared_->connections.insert(this);
  }
  ~Connection() override { shared_->connections.erase(this); }

  void start() { asio::co_spawn(stream_.get_executor(), run(this->shared_from_this()), asio::detached); }

  void send_bytes(std::string_view bytes) override {
    if (closed_) return;
    unsent_ += bytes;
    write_some();
  }
  size_t n_unsent_bytes() const override { return unsent_.size() + sending_.size(); }

  void finish_reply(bool keep_alive) override {
    exchange_.reset();
    keep_alive_ = keep_alive && !shared_->draining;
    if (!keep_alive_) return close_when_sent();
    arm(read_timer_, shared_->options.idle_timeout_ms);
    // The reader sleeps in a read; what it holds already may be the next request.
    if (buffer_.size() > 0) cancel_watch();
  }

  void close_if_idle() override {
    if (exchange_ == nullptr && !in_request_) close_when_sent();
  }

  void close() override {
    if (std::exchange(closed_, true)) return;
    error_code ignored;
    lowest(stream_).shutdown(tcp::socket::shutdown_both, ignored);
    lowest(stream_).close(ignored);
    read_timer_.cancel();
    write_timer_.cancel();
    if (waiting_ != nullptr) waiting_->cancel();
    if (const auto exchange = std::exchange(exchange_, nullptr)) exchange->notify_closed();
  }

 private:
  // Holds the connection while it is served.
  static asio::awaitable<void> run(std::shared_ptr<Connection> self) { co_await self->serve(); }

  // GCC 12 miscompiles co_await inside conditions, hence the single steps.
  asio::awaitable<void> serve() {
    arm(read_timer_, shared_->options.header_timeout_ms);
    bool goes_on = co_await handshake();
    while (goes_on && !closed_) {
      while (!closed_ && n_unsent_bytes() > kCongestedBytes) co_await sleep();
      goes_on = co_await read_request();
      while (goes_on && exchange_ != nullptr && !closed_) goes_on = co_await watch();
      goes_on = goes_on && keep_alive_;
    }
    if (lingers_) co_await discard_input();
    if (lingers_ || exchange_ != nullptr || n_unsent_bytes() == 0) close();
  }

  // Reads on for a while after a refusal: closing on unread bytes would reset the connection, and the client would not
  // see the answer.
  asio::awaitable<void> discard_input() {
    arm(read_timer_, kLingerMs);
    while (!closed_) {
      buffer_.consume(buffer_.size());
      const bool has_more = co_await read_some();
      if (!has_more) co_return;
    }
  }

  asio::awaitable<bool> handshake() {
    error_code error;
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      std::tie(error) = co_await stream_.async_handshake(TlsStream::server, kTuple);
    }
    co_return !error;
  }

  // One request, to its handler. False: the connection is over.
  asio::awaitable<bool> read_request() {
    Parser parser;
    parser.header_limit(shared_->options.max_header_bytes);
    parser.body_limit(shared_->options.max_body_bytes);
    parser.eager(true);
    bool had_header = false;
    while (!parser.is_done()) {
      error_code error;
      if (buffer_.size() > 0) {
        begin_request();
        buffer_.consume(parser.put(buffer_.data(), error));
      }
      // A chunk's head and the trailers have no bound of their own.
      const size_t most_bytes = shared_->options.max_header_bytes + kReadBytes;
      if (had_header && !parser.is_done() && buffer_.size() > most_bytes) error = http::error::bad_chunk;
      if (error && error != http::error::need_more) co_return refuse(error);
      if (parser.is_header_done() && !std::exchange(had_header, true)) accept_header(parser);
      if (parser.is_done()) break;
      const bool has_more = co_await read_some();
      if (!has_more) co_return false;
    }
    in_request_ = false;
    read_timer_.cancel();
    dispatch(parser);
    co_return true;
  }

  void begin_request() {
    if (!std::exchange(in_request_, true)) arm(read_timer_, shared_->options.header_timeout_ms);
  }

  void accept_header(Parser& parser) {
    arm(read_timer_, shared_->options.body_timeout_ms);
    const bool wants_continue = beast::iequals(parser.get()[http::field::expect], "100-continue");
    if (wants_continue && !parser.is_done()) send_bytes("HTTP/1.1 100 Continue\r\n\r\n");
  }

  // Answers what could not be read, and gives the connection up.
  bool refuse(error_code error) {
    const int status = error == http::error::body_limit ? 413 : error == http::error::header_limit ? 431 : 400;
    const std::string body = fmt::format(
        R"({{"error":{{"message":"{}","type":"invalid_request_error","param":null,"code":null}}}})",
        status == 413   ? fmt::format("the body is larger than {} bytes", shared_->options.max_body_bytes)
        : status == 431 ? fmt::format("the headers are larger than {} bytes", shared_->options.max_header_bytes)
                        : "this is not HTTP/1.1: " + error.message());
    in_request_ = false;
    lingers_ = true;
    Exchange(this->weak_from_this(), false, false, false).send({status, "application/json", body, {}});
    return false;
  }

  void dispatch(Parser& parser) {
    auto& message = parser.get();
    auto request = std::make_shared<HttpRequest>();
    request->method = std::string(message.method_string());
    const std::string_view target = origin_form(message.target());
    const size_t mark = target.find('?');
    request->path = std::string(target.substr(0, mark));
    if (mark != std::string_view::npos) request->query = std::string(target.substr(mark + 1));
    for (const auto& field : message) request->headers.emplace_back(field.name_string(), field.value());
    request->body = std::move(message.body());
    request->peer = peer();
    exchange_ = std::make_shared<Exchange>(this->weak_from_this(), message.keep_alive(), message.version() < 11,
                                           message.method() == http::verb::head);
    keep_alive_ = true;
    shared_->handler(std::move(request), exchange_);
  }

  std::string peer() {
    error_code error;
    const auto endpoint = lowest(stream_).remote_endpoint(error);
    return error ? "" : endpoint.address().to_string();
  }

  asio::awaitable<bool> read_some() {
    const auto [error, n_bytes] = co_await stream_.async_read_some(buffer_.prepare(kReadBytes), kTuple);
    buffer_.commit(n_bytes);
    co_return !error && !closed_;
  }

  // While a reply is under way: notices a client that went away, and takes in a bounded part of its next requests.
  asio::awaitable<bool> watch() {
    if (buffer_.size() < kMaxPipelinedBytes) {
      is_watching_ = true;
      const auto [error, n_bytes] = co_await stream_.async_read_some(buffer_.prepare(kReadBytes), kTuple);
      is_watching_ = false;
      buffer_.commit(n_bytes);
      co_return !closed_ && (!error || error == asio::error::operation_aborted);
    }
    co_await sleep();
    co_return !closed_;
  }

  // Until a reply is over, more of one is sent, or the connection is closed.
  asio::awaitable<void> sleep() {
    asio::steady_timer forever(stream_.get_executor(), asio::steady_timer::time_point::max());
    waiting_ = &forever;
    co_await forever.async_wait(kTuple);
    waiting_ = nullptr;
  }

  void cancel_watch() {
    error_code ignored;
    if (waiting_ != nullptr) waiting_->cancel();
    if (!is_watching_) return;
    // A write that is under way would be cancelled too; its bytes go out first.
    if (sending_.empty()) {
      lowest(stream_).cancel(ignored);
    } else {
      cancels_when_sent_ = true;
    }
  }

  void write_some() {
    if (!sending_.empty() || unsent_.empty() || closed_) return;
    std::swap(sending_, unsent_);
    arm(write_timer_, shared_->options.write_timeout_ms);
    asio::async_write(stream_, asio::buffer(sending_),
                      [self = this->shared_from_this()](error_code error, size_t) { self->on_sent(error); });
  }

  void on_sent(error_code error) {
    // Idle connections are many; what a large reply took is given back.
    if (sending_.capacity() > kReadBytes) std::string().swap(sending_);
    sending_.clear();
    write_timer_.cancel();
    if (error) return close();
    if (exchange_ == nullptr && waiting_ != nullptr) waiting_->cancel();
    const bool was_congested = unsent_.size() > kCongestedBytes;
    write_some();
    if (std::exchange(cancels_when_sent_, false) && exchange_ == nullptr) cancel_watch();
    if (!sending_.empty() && !was_congested) return;
    if (exchange_ != nullptr) {
      const auto exchange = exchange_;
      exchange->notify_drained();
    } else if (closes_when_sent_) {
      close_when_sent();
    }
  }

  void close_when_sent() {
    closes_when_sent_ = true;
    if (n_unsent_bytes() > 0) return;
    if (!lingers_) return close();
    error_code ignored;
    lowest(stream_).shutdown(tcp::socket::shutdown_send, ignored);
  }

  void arm(asio::steady_timer& timer, uint32_t timeout_ms) {
    timer.expires_after(std::chrono::milliseconds(timeout_ms));
    timer.async_wait([weak = this->weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (!error && self != nullptr) self->close();
    });
  }

  Stream stream_;
  std::shared_ptr<Shared> shared_;
  beast::flat_buffer buffer_;
  std::string unsent_, sending_;
  std::shared_ptr<Exchange> exchange_;  // the reply under way
  asio::steady_timer read_timer_, write_timer_;
  asio::steady_timer* waiting_ = nullptr;
  bool in_request_ = false, keep_alive_ = true, closed_ = false;
  bool is_watching_ = false, cancels_when_sent_ = false, closes_when_sent_ = false, lingers_ = false;
};

class AsioServer final : public HttpServer {
 public:
  AsioServer(const HttpOptions& options, Handler handler)
      : shared_(std::make_shared<Shared>(Shared{options, std::move(handler), {}, false})),
        acceptor_(io_),
        wake_fd_(io_, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        signals_(io_),
        workers_(options.n_workers) {}
  ~AsioServer() override { workers_.join(); }

  Status listen();
  uint16_t port() const override { return acceptor_.local_endpoint().port(); }

  void run() override {
    asio::co_spawn(io_, accept(), asio::detached);
    asio::co_spawn(io_, wait_for_wakes(), asio::detached);
    io_.run();
    close_all();
  }
  void post(std::function<void()> task) override { asio::post(io_, std::move(task)); }
  void post_work(std::function<void()> task) override { asio::post(workers_, std::move(task)); }
  void wake() override {
    if (is_woken_.exchange(true, std::memory_order_acq_rel)) return;
    const uint64_t one = 1;
    // The counter cannot be full: it is set once between two reads.
    static_cast<void>(::write(wake_fd_.native_handle(), &one, sizeof one) == sizeof one);
  }
  void set_on_wake(std::function<void()> on_wake) override { on_wake_ = std::move(on_wake); }

  void every(std::chrono::milliseconds interval, std::function<void()> task) override {
    timers_.emplace_back(io_);
    tick(timers_.back(), interval, std::make_shared<std::function<void()>>(std::move(task)));
  }

  void on_signal(std::function<void(int)> handler) override {
    error_code ignored;
    signals_.add(SIGINT, ignored);
    signals_.add(SIGTERM, ignored);
    wait_for_signal(std::make_shared<std::function<void(int)>>(std::move(handler)));
  }

  void stop_accepting() override {
    error_code ignored;
    acceptor_.close(ignored);
    shared_->draining = true;
    for (ConnectionBase* connection : std::vector(shared_->connections.begin(), shared_->connections.end())) {
      connection->close_if_idle();
    }
  }
  void stop() override { io_.stop(); }
  uint32_t n_connections() const override { return static_cast<uint32_t>(shared_->connections.size()); }

 private:
  asio::awaitable<void> accept();
  void start(tcp::socket socket);

  // Ends what still runs while all that its callbacks use is there.
  void close_all() {
    error_code ignored;
    acceptor_.close(ignored);
    workers_.stop();
    workers_.join();
    for (ConnectionBase* connection : std::vector(shared_->connections.begin(), shared_->connections.end())) {
      connection->close();
    }
    do {
      io_.restart();
    } while (io_.poll() > 0);
  }

  asio::awaitable<void> wait_for_wakes() {
    uint64_t n_wakes = 0;
    while (true) {
      const auto [error, n_bytes] = co_await wake_fd_.async_read_some(asio::buffer(&n_wakes, sizeof n_wakes), kTuple);
      if (error) co_return;
      is_woken_.exchange(false, std::memory_order_acq_rel);
      if (on_wake_) on_wake_();
    }
  }

  void tick(asio::steady_timer& timer, std::chrono::milliseconds interval,
            std::shared_ptr<std::function<void()>> task) {
    timer.expires_after(interval);
    timer.async_wait([this, &timer, interval, task](error_code error) {
      if (error) return;
      (*task)();
      tick(timer, interval, task);
    });
  }

  void wait_for_signal(std::shared_ptr<std::function<void(int)>> handler) {
    signals_.async_wait([this, handler](error_code error, int signal) {
      if (error) return;
      (*handler)(signal);
      wait_for_signal(handler);
    });
  }

  asio::io_context io_{1};
  std::shared_ptr<Shared> shared_;
  tcp::acceptor acceptor_;
  asio::posix::stream_descriptor wake_fd_;
  asio::signal_set signals_;
  std::optional<asio::ssl::context> tls_;
  std::list<asio::steady_timer> timers_;
  std::function<void()> on_wake_;
  std::atomic<bool> is_woken_{false};
  asio::thread_pool workers_;  // last: its tasks may hold what the others serve
};

Status AsioServer::listen() {
  const HttpOptions& options = shared_->options;
  error_code error;
  const auto address = asio::ip::make_address(options.host == "localhost" ? "127.0.0.1" : options.host, error);
  if (error) return invalid_argument("host: expected an address to listen on, actual '" + options.host + "'", "host");
  if (!options.tls_cert.empty()) {
    tls_.emplace(asio::ssl::context::tls_server);
    tls_->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                      asio::ssl::context::no_tlsv1_1);
    tls_->use_certificate_chain_file(options.tls_cert, error);
    if (error) return invalid_argument(options.tls_cert + ": " + error.message(), "tls_cert");
    tls_->use_private_key_file(options.tls_key, asio::ssl::context::pem, error);
    if (error) return invalid_argument(options.tls_key + ": " + error.message(), "tls_key");
  }
  const tcp::endpoint endpoint(address, options.port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) return {};
  return Error{ErrorCode::kResourceExhausted,
               fmt::format("cannot listen on {}:{}: {}", options.host, options.port, error.message()), "port"};
}

asio::awaitable<void> AsioServer::accept() {
  while (acceptor_.is_open()) {
    auto [error, socket] = co_await acceptor_.async_accept(kTuple);
    if (!error) {
      start(std::move(socket));
      continue;
    }
    if (!acceptor_.is_open()) co_return;
    // Out of file descriptors: others must end first.
    asio::steady_timer pause(io_, std::chrono::milliseconds(50));
    co_await pause.async_wait(kTuple);
  }
}

void AsioServer::start(tcp::socket socket) {
  if (shared_->connections.size() >= shared_->options.max_connections) return;
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  if (tls_) {
    std::make_shared<Connection<TlsStream>>(TlsStream(std::move(socket), *tls_), shared_)->start();
  } else {
    std::make_shared<Connection<tcp::socket>>(std::move(socket), shared_)->start();
  }
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::create(const HttpOptions& options, Handler handler) {
  auto server = std::make_unique<AsioServer>(options, std::move(handler));
  RZ_CHECK_OK(server->listen());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace realizar::server
