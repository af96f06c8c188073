#include "server/http/http_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/caught.h"
#include "server/http/api_error.h"

namespace realizar::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using TlsStream = asio::ssl::stream<tcp::socket>;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr size_t kReadBytes = 4096;
constexpr size_t kReadBodyBytes = 64u << 10;
constexpr size_t kLeastBodyBytes = 64u << 10;     // of an upload within body_timeout_ms: 1 KB/s by default
constexpr size_t kMaxPipelinedBytes = 64u << 10;  // read ahead during a reply
constexpr size_t kMaxUnwantedBytes = 64u << 10;   // of a refused request's body that are read to keep the connection
constexpr const char* kOwner = "owner";           // in place of an address
constexpr uint32_t kLingerMs = 5000;
constexpr uint32_t kLastReadMs = 1000;

// A body for Beast's parser that accepts data as long as it is wanted and there is room for it.
struct BoundedBody {
  struct value_type {  // NOLINT(readability-identifier-naming): Beast's name
    HttpBody body;
    std::shared_ptr<BodySink> sink;  // null: into `body`
    size_t max_bytes = 0;
    bool is_wanted = true;
  };

  class reader {  // NOLINT(readability-identifier-naming): Beast's name
   public:
    template <bool is_request, class Fields>
    reader(http::header<is_request, Fields>&, value_type& value) : value_(value) {}

    void init(const boost::optional<uint64_t>& n_bytes, error_code& error) {
      if (n_bytes) n_expected_bytes_ = *n_bytes;
      error = {};
    }

    size_t put(asio::const_buffer buffer, error_code& error) {
      const size_t n_bytes = buffer.size();
      error = {};
      if (!value_.is_wanted) return n_bytes;
      if (value_.sink != nullptr) {
        value_.sink->take({static_cast<const char*>(buffer.data()), n_bytes});
        return n_bytes;
      }
      std::string& bytes = value_.body.bytes;
      const size_t n_all_bytes = bytes.size() + n_bytes;
      if (n_all_bytes > value_.max_bytes) error = http::error::body_limit;
      if (!error && !value_.body.share.grow_to(n_all_bytes)) error = asio::error::no_buffer_space;
      if (error) return 0;
      // Twice the received bytes, but never more than announced: announcing a large body allocates nothing.
      if (n_all_bytes > bytes.capacity()) bytes.reserve(std::min<uint64_t>(2 * n_all_bytes, n_expected_bytes_));
      bytes.append(static_cast<const char*>(buffer.data()), n_bytes);
      return n_bytes;
    }

    void finish(error_code& error) { error = {}; }

   private:
    value_type& value_;
    uint64_t n_expected_bytes_ = UINT64_MAX;
  };
};
using Parser = http::request_parser<BoundedBody>;

tcp::socket& lowest(tcp::socket& socket) {
  return socket;
}
tcp::socket& lowest(TlsStream& stream) {
  return stream.next_layer();
}

template <class Stream>
class Connection final : public ConnectionBase, public std::enable_shared_from_this<Connection<Stream>> {
 public:
  Connection(Stream stream, std::shared_ptr<ConnectionContext> context, bool is_owner)
      : stream_(std::move(stream)),
        context_(std::move(context)),
        is_owner_(is_owner),
        address_(address_of(lowest(stream_))),
        is_proxy_(!is_owner && context_->proxies.has(address_)),
        id_(context_->n_opened++),
        read_timer_(stream_.get_executor()),
        write_timer_(stream_.get_executor()),
        sleep_timer_(stream_.get_executor()) {
    context_->connections.insert(this);
    if (!is_proxy_ && !is_owner_) count_for(address_);
  }
  ~Connection() override {
    context_->connections.erase(this);
    count_for("");
  }

  // An exception, from lack of memory, ends the connection.
  void start() {
    auto self = this->shared_from_this();
    asio::co_spawn(stream_.get_executor(), run(self), [self](const std::exception_ptr& thrown) {
      if (thrown) self->close();
    });
  }

  void send_bytes(std::string_view bytes) override {
    if (is_closed()) return;
    unsent_ += bytes;
    write_some();
  }
  size_t n_unsent_bytes() const override { return unsent_.size() + sending_.size(); }

  void finish_reply(bool keep_alive) override {
    exchange_.reset();
    if (is_proxy_) count_for("");
    if (!keep_alive) {
      if (state_ == State::kReading) state_ = State::kLingering;
      if (is_open()) state_ = State::kClosing;
      wake_sleeper();
      return close_when_sent();
    }
    if (state_ == State::kAnswering) state_ = State::kIdle;
    arm(read_timer_, context_->options.idle_timeout_ms);
    // The reader waits in a read, but its buffer may already hold the next request.
    if (buffer_.size() > 0) wake_reader();
    if (context_->draining) close_if_idle();
  }

  // A client that has connected but not yet sent anything is about to. Otherwise the data read so far is handed on
  // first.
  void close_if_idle() override {
    const bool reads = state_ == State::kReading || state_ == State::kLingering;
    if (reads) return arm(read_timer_, context_->options.body_timeout_ms);
    if (state_ != State::kIdle) return;
    if (!has_been_asked_) return arm(read_timer_, context_->options.header_timeout_ms);
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] { self->close_unless_asked(); });
  }

  void close() override {
    if (std::exchange(state_, State::kClosed) == State::kClosed) return;
    error_code ignored;
    lowest(stream_).shutdown(tcp::socket::shutdown_both, ignored);
    lowest(stream_).close(ignored);
    read_timer_.cancel();
    write_timer_.cancel();
    wake_sleeper();
    if (const auto exchange = std::exchange(exchange_, nullptr)) exchange->notify_closed();
  }

 private:
  enum class State : uint8_t {
    kIdle,       // between requests
    kReading,    // a request is arriving
    kAnswering,  // it has arrived completely, and its reply is being sent
    kClosing,    // the connection is closed when all is sent
    kLingering,  // likewise, and input is discarded until then
    kClosed,
  };
  bool is_open() const { return state_ < State::kClosing; }
  bool is_closed() const { return state_ == State::kClosed; }

  bool takes_requests() const override { return !context_->draining; }

  // Closing with unread bytes would reset the connection, and the sender would not get an answer.
  void close_unless_asked() {
    if (state_ != State::kIdle) return;
    error_code ignored;
    const bool is_asked = buffer_.size() > 0 || lowest(stream_).available(ignored) > 0;
    if (is_asked) return arm(read_timer_, context_->options.header_timeout_ms);
    state_ = State::kClosing;
    close_when_sent();
  }

  // Counts the connection as this address's instead of another's; "": as nobody's.
  void count_for(const std::string& address) {
    const auto before = context_->n_of_address.find(counted_);
    if (before != context_->n_of_address.end() && --before->second == 0) context_->n_of_address.erase(before);
    counted_ = address;
    if (!address.empty()) ++context_->n_of_address[address];
  }

  // Owns the connection while it is served.
  static asio::awaitable<void> run(std::shared_ptr<Connection> self) { co_await self->serve(); }

  // GCC 12 miscompiles co_await inside conditions, hence the separate steps.
  asio::awaitable<void> serve() {
    arm(read_timer_, context_->options.header_timeout_ms);
    bool goes_on = co_await handshake();
    while (goes_on && !is_closed()) {
      while (!is_closed() && n_unsent_bytes() > kCongestedBytes) co_await sleep();
      goes_on = co_await read_request();
      while (goes_on && exchange_ != nullptr && !is_closed()) goes_on = co_await watch();
      goes_on = goes_on && is_open();
    }
    const bool lingers = state_ == State::kLingering;
    if (lingers) co_await discard_input();
    if (lingers || exchange_ != nullptr || n_unsent_bytes() == 0) close();
  }

  // Keeps reading for a while after a refusal: closing with unread bytes would reset the connection, and the client
  // would not see the answer.
  asio::awaitable<void> discard_input() {
    arm(read_timer_, kLingerMs);
    while (!is_closed()) {
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

  // Reads one request and passes it to its handler. False: the connection is over.
  asio::awaitable<bool> read_request() {
    Parser parser;
    parser.header_limit(context_->options.max_header_bytes);
    parser.body_limit(boost::none);
    n_header_bytes_ = 0;
    while (true) {
      const bool goes_on = take_in_or_refuse(parser);
      if (!goes_on) co_return false;
      if (parser.is_done()) break;
      const std::shared_ptr<BodySink> sink = parser.get().body().sink;
      if (sink != nullptr) co_await keep_pace(*sink);
      const bool has_more = co_await read_some();
      // A reply that ends the connection may be sent before the body has arrived.
      if (!has_more || !is_open()) co_return false;
    }
    if (state_ == State::kReading) state_ = exchange_ == nullptr ? State::kIdle : State::kAnswering;
    // There may be many idle connections.
    if (buffer_.capacity() >= kReadBodyBytes) buffer_.shrink_to_fit();
    hand_over(parser);
    co_return true;
  }

  // A body that a sink receives may take any time, but at least kLeastBodyBytes of it must arrive in each
  // body_timeout_ms. Time in which the sink is full does not count against the client.
  asio::awaitable<void> keep_pace(BodySink& sink) {
    const bool is_full = sink.is_full();
    if (is_full) read_timer_.cancel();
    while (sink.is_full() && is_open()) co_await sleep();
    if (!is_open() || (!is_full && n_paced_bytes_ < kLeastBodyBytes)) co_return;
    n_paced_bytes_ = 0;
    arm(read_timer_, context_->options.body_timeout_ms);
  }

  // There is room for more of the body, or the rest of it is not wanted.
  void on_sink_update() {
    wake_sleeper();
    if (state_ != State::kReading || exchange_ == nullptr || exchange_->body_sink == nullptr) return;
    if (const auto refusal = exchange_->body_sink->refusal()) refuse(refusal->status, refusal->message);
  }

  // A thrown value is the reply.
  bool take_in_or_refuse(Parser& parser) {
    bool goes_on = false;
    const Status taken = caught([&] { goes_on = take_in(parser); });
    if (taken.ok()) return goes_on;
    const ApiError error = to_api_error(taken.error());
    return refuse(error.status, error.message);
  }

  // Parses what has arrived. False: the connection is over.
  bool take_in(Parser& parser) {
    if (state_ == State::kIdle) buffer_.consume(n_empty_line_bytes(buffered()));
    while (buffer_.size() > 0 && !parser.is_done()) {
      begin_request();
      const bool had_header = parser.is_header_done();
      if (!had_header && has_folded_line(buffered())) return refuse(400, "a line of the header is folded");
      error_code error;
      const size_t n_bytes = parser.put(buffer_.data(), error);
      buffer_.consume(n_bytes);
      // The parser limits each line of a header, but not their total.
      if (!had_header) n_header_bytes_ += n_bytes;
      if (n_header_bytes_ > context_->options.max_header_bytes) error = http::error::header_limit;
      // A chunk's head and the trailers have no limit of their own.
      const size_t most_bytes = context_->options.max_header_bytes + kReadBytes;
      if (error == http::error::need_more && had_header && buffer_.size() > most_bytes) error = http::error::bad_chunk;
      if (error == http::error::need_more) return true;
      if (error) return refuse(error);
      if (!had_header && parser.is_header_done() && !accept_header(parser)) return false;
    }
    return true;
  }

  std::string_view buffered() const {
    return {static_cast<const char*>(buffer_.cdata().data()), buffer_.cdata().size()};
  }

  void begin_request() {
    if (state_ != State::kIdle) return;
    state_ = State::kReading;
    has_been_asked_ = true;
    arm(read_timer_, context_->options.header_timeout_ms);
  }

  // Asks the handler before any byte of the body is looked at. False: the connection is over.
  bool accept_header(Parser& parser) {
    const auto& message = parser.get();
    HttpRequest request = request_of(message);
    const bool is_http_1_0 = message.version() < 11;
    if (const auto wrong = wrong_headers(request, is_http_1_0); !wrong.empty()) return refuse(400, wrong);
    const auto expected = message[http::field::expect];
    const bool wants_continue = !is_http_1_0 && beast::iequals(expected, "100-continue");
    if (!expected.empty() && !wants_continue && !is_http_1_0) return refuse(417, "expected 100-continue or no Expect");
    if (is_proxy_) {
      if (context_->has_most(request.client)) return refuse(429, "this address has too many requests under way");
      count_for(request.client);
    }

    n_paced_bytes_ = 0;
    arm(read_timer_, context_->options.body_timeout_ms);
    const auto n_body_bytes = parser.content_length();
    const bool is_short = parser.is_done() || (n_body_bytes && *n_body_bytes <= kMaxUnwantedBytes && !wants_continue);
    exchange_ = std::make_shared<Exchange>(this->weak_from_this(), message.keep_alive() && is_short, is_http_1_0,
                                           message.method() == http::verb::head);
    auto& value = parser.get().body();
    if (const auto client = context_->handler(std::move(request), exchange_)) {
      value.body.share = BodyRoom::Share(context_->body_room, *client);
    }
    value.is_wanted = exchange_ != nullptr;
    if (value.is_wanted) value.sink = exchange_->body_sink;
    if (value.sink != nullptr) {
      value.sink->on_room = [weak = this->weak_from_this()] {
        if (const auto self = weak.lock()) self->on_sink_update();
      };
    }
    if (!value.is_wanted && !is_open()) return false;
    return expect_body(parser, wants_continue);
  }

  bool expect_body(Parser& parser, bool wants_continue) {
    const size_t max_bytes = context_->options.max_body_bytes;
    const bool is_wanted = parser.get().body().is_wanted;
    parser.get().body().max_bytes = max_bytes;
    const bool is_bounded = parser.get().body().sink == nullptr;
    if (is_wanted && is_bounded && parser.content_length().value_or(0) > max_bytes) {
      return refuse(http::error::body_limit);
    }
    // Each chunk begins with its size.
    if (parser.chunked() && is_bounded) parser.body_limit(max_bytes);
    parser.eager(true);
    if (wants_continue && is_wanted && !parser.is_done()) send_bytes("HTTP/1.1 100 Continue\r\n\r\n");
    return true;
  }

  template <class Message>
  HttpRequest request_of(const Message& message) {
    HttpRequest request;
    request.method = std::string(message.method_string());
    const std::string_view target = origin_form(message.target());
    const size_t mark = target.find('?');
    request.path = std::string(target.substr(0, mark));
    if (mark != std::string_view::npos) request.query = std::string(target.substr(mark + 1));
    for (const auto& field : message) request.headers.emplace_back(field.name_string(), field.value());
    request.peer = address_;
    request.connection_id = id_;
    request.is_owner = is_owner_;
    if (is_owner_) {
      request.client = kOwner;
      request.is_local = true;
    } else {
      context_->proxies.set_client(request);
    }
    return request;
  }

  bool refuse(error_code error) {
    const HttpOptions& options = context_->options;
    if (error == http::error::body_limit) {
      return refuse(413, fmt::format("the body is larger than {} bytes", options.max_body_bytes));
    }
    if (error == http::error::header_limit) {
      return refuse(431, fmt::format("the headers are larger than {} bytes", options.max_header_bytes));
    }
    if (error == asio::error::no_buffer_space) {
      return refuse(503, kNoBodyRoom);
    }
    return refuse(400, "this is not HTTP/1.1: " + error.message());
  }

  // Answers an unreadable request, and closes the connection.
  bool refuse(int status, const std::string& message) {
    state_ = State::kLingering;
    if (const auto exchange = exchange_; exchange != nullptr && !exchange->listener.expired()) {
      exchange->set_keep_alive(false);
      exchange->refuse(status, message);
    } else {
      Exchange(this->weak_from_this(), false, false, false).send(error_response({status, message, "", ""}));
    }
    return false;
  }

  void hand_over(Parser& parser) {
    const auto exchange = exchange_;  // its reply may end in this call
    if (exchange == nullptr) return;
    read_timer_.cancel();
    exchange->set_keep_alive(parser.get().keep_alive());
    exchange->take(std::move(parser.get().body().body));
  }

  asio::awaitable<bool> read_some() {
    const size_t most_bytes = exchange_ != nullptr ? kReadBodyBytes : kReadBytes;
    const auto [error, n_bytes] = co_await stream_.async_read_some(buffer_.prepare(most_bytes), kTuple);
    buffer_.commit(n_bytes);
    n_paced_bytes_ += n_bytes;
    co_return !error && !is_closed();
  }

  // During a reply: detects a client that disconnects, and reads a limited part of its next requests.
  asio::awaitable<bool> watch() {
    if (buffer_.size() < kMaxPipelinedBytes) {
      reader_ = Reader::kWatches;
      const auto [error, n_bytes] = co_await stream_.async_read_some(buffer_.prepare(kReadBytes), kTuple);
      reader_ = Reader::kReads;
      buffer_.commit(n_bytes);
      co_return !is_closed() && (!error || error == asio::error::operation_aborted);
    }
    co_await sleep();
    co_return !is_closed();
  }

  // Waits until a reply is over, more of one is sent, or the connection is closed.
  asio::awaitable<void> sleep() {
    sleep_timer_.expires_at(asio::steady_timer::time_point::max());
    reader_ = Reader::kSleeps;
    co_await sleep_timer_.async_wait(kTuple);
    reader_ = Reader::kReads;
  }

  void wake_sleeper() {
    if (reader_ == Reader::kSleeps) sleep_timer_.cancel();
  }

  void wake_reader() {
    wake_sleeper();
    // A running write would be cancelled too; on_sent() calls again.
    error_code ignored;
    if (reader_ == Reader::kWatches && sending_.empty()) lowest(stream_).cancel(ignored);
  }

  void write_some() {
    if (!sending_.empty() || unsent_.empty() || is_closed()) return;
    std::swap(sending_, unsent_);
    arm(write_timer_, context_->options.write_timeout_ms);
    asio::async_write(stream_, asio::buffer(sending_), [self = this->shared_from_this()](error_code error, size_t) {
      if (!caught([&] { self->on_sent(error); }).ok()) self->close();
    });
  }

  void on_sent(error_code error) {
    // There may be many idle connections; the memory of a large reply is released.
    if (sending_.capacity() > kReadBytes) std::string().swap(sending_);
    sending_.clear();
    write_timer_.cancel();
    if (error) return close();
    if (exchange_ == nullptr) wake_sleeper();
    const bool was_congested = unsent_.size() > kCongestedBytes;
    write_some();
    if (exchange_ == nullptr && buffer_.size() > 0) wake_reader();
    if (!sending_.empty() && !was_congested) return;
    if (exchange_ != nullptr) {
      const auto exchange = exchange_;
      exchange->notify_drained();
    } else if (!is_open()) {
      close_when_sent();
    }
  }

  void close_when_sent() {
    if (n_unsent_bytes() > 0) return;
    if (state_ != State::kLingering) return close();
    error_code ignored;
    lowest(stream_).shutdown(tcp::socket::shutdown_send, ignored);
  }

  // A server that is stopping does not wait long for half-sent replies.
  void arm(asio::steady_timer& timer, uint32_t timeout_ms) {
    if (context_->draining && &timer == &read_timer_) timeout_ms = std::min(timeout_ms, kLastReadMs);
    timer.expires_after(std::chrono::milliseconds(timeout_ms));
    timer.async_wait([weak = this->weak_from_this(), &timer](error_code error) {
      const auto self = weak.lock();
      if (error || self == nullptr) return;
      const bool awaits_body = &timer == &self->read_timer_ && self->state_ == State::kReading && self->exchange_;
      if (!awaits_body || !caught([&] { self->refuse_slow_body(); }).ok()) self->close();
    });
  }

  void refuse_slow_body() {
    refuse(408, "the body comes too slowly");
    if (!is_closed()) arm(read_timer_, kLingerMs);
  }

  Stream stream_;
  std::shared_ptr<ConnectionContext> context_;
  const bool is_owner_;
  beast::flat_buffer buffer_;
  std::string unsent_, sending_;
  std::shared_ptr<Exchange> exchange_;  // the current reply, or that of a request whose body is being read
  size_t n_header_bytes_ = 0;           // of the request being read
  size_t n_paced_bytes_ = 0;            // of its body, since the timer was armed
  const std::string address_;           // the peer's
  const bool is_proxy_;                 // a trusted one
  std::string counted_;                 // the address that the connection counts for in n_of_address
  const uint64_t id_;
  asio::steady_timer read_timer_, write_timer_, sleep_timer_;
  State state_ = State::kIdle;
  bool has_been_asked_ = false;  // at least one request has begun
  // The reader's kind of wait; it must not be woken while in a read of its own.
  enum class Reader : uint8_t { kReads, kWatches, kSleeps } reader_ = Reader::kReads;
};

}  // namespace

std::string address_of(const tcp::socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return "";
  if (endpoint.data()->sa_family == AF_UNIX) return "127.0.0.1";
  const asio::ip::address address = endpoint.address();
  const bool is_mapped = address.is_v6() && address.to_v6().is_v4_mapped();
  return is_mapped ? asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string() : address.to_string();
}

bool ConnectionContext::has_most(const std::string& address) const {
  const uint32_t most = options.max_connections_per_address;
  if (most == 0 || proxies.has(address)) return false;
  const auto mine = n_of_address.find(address);
  return mine != n_of_address.end() && mine->second >= most;
}

void start_connection(tcp::socket socket, std::shared_ptr<ConnectionContext> context, bool is_owner) {
  std::make_shared<Connection<tcp::socket>>(std::move(socket), std::move(context), is_owner)->start();
}

void start_tls_connection(tcp::socket socket, asio::ssl::context& tls, std::shared_ptr<ConnectionContext> context) {
  std::make_shared<Connection<TlsStream>>(TlsStream(std::move(socket), tls), std::move(context), false)->start();
}

}  // namespace realizar::server
