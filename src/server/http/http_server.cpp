#include "server/http/http_server.h"

#include <fmt/format.h>
#include <linux/filter.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iterator>
#include <list>
#include <mutex>
#include <thread>

#include "base/caught.h"
#include "base/try.h"
#include "server/http/http_connection.h"
#include "server/http/process.h"
#include "server/http/unix_socket.h"

namespace realizar::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr auto kPause = std::chrono::milliseconds(50);  // after running out of memory or file descriptors

void report(const Status& status) {
  if (!status.ok()) spdlog::error("the server continues after: {}", status.error().message);
}

// Prevents new connections: the system drops their first packets, and when they are repeated the port is closed or
// belongs to another server. Without such a filter, a connection that is being made at this moment may still be reset.
void refuse_handshakes(int listening_fd) {
  constexpr uint32_t kFlagsOffset = 13, kSyn = 2;  // RFC 9293, section 3.1
  constexpr uint32_t kAllOfIt = UINT32_MAX;
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kFlagsOffset),
                        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kSyn, 0, 1), BPF_STMT(BPF_RET | BPF_K, 0),
                        BPF_STMT(BPF_RET | BPF_K, kAllOfIt)};
  const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  static_cast<void>(::setsockopt(listening_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
}

// Jobs on their way back to the I/O thread, in a list that allocates nothing: any thread pushes, one takes.
class FinishedJobs {
 public:
  void push(Job& job) {
    const std::lock_guard lock(mutex_);
    job.next = std::exchange(newest_, &job);
  }
  // Runs each job's then(), oldest first.
  void take_all() {
    Job* oldest = oldest_first();
    while (oldest != nullptr) {
      Job* job = oldest;
      oldest = job->next;  // before then(), which may destroy the job
      job->then();
    }
  }

 private:
  Job* oldest_first() {
    const std::lock_guard lock(mutex_);
    Job* reversed = nullptr;
    while (newest_ != nullptr) {
      Job* job = newest_;
      newest_ = std::exchange(job->next, reversed);
      reversed = job;
    }
    return reversed;
  }

  std::mutex mutex_;
  Job* newest_ = nullptr;
};

class AsioServer final : public HttpServer {
 public:
  AsioServer(const HttpOptions& options, TrustedProxies proxies, Handler handler)
      : context_(std::make_shared<ConnectionContext>(
            ConnectionContext{options,
                              std::move(handler),
                              std::make_shared<BodyRoom>(options.max_bodies_bytes, options.max_body_bytes),
                              std::move(proxies),
                              {},
                              {}})),
        door_{tcp::acceptor(io_)},
        owner_door_{tcp::acceptor(io_), true},
        wake_fd_(io_, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        stop_fd_(io_),
        reopen_fd_(io_),
        workers_(options.n_small_workers, options.n_large_workers) {}

  Status listen();
  void listen_to_owner();
  uint16_t port() const override {
    return is_socket_path(context_->options.host) ? 0 : door_.acceptor.local_endpoint().port();
  }
  const std::string& owner_socket_note() const override { return owner_socket_note_; }

  void run() override {
    Status status;
    do {
      status = caught([&] {
        revive();
        io_.run();
      });
      report(status);
      if (!status.ok()) std::this_thread::sleep_for(kPause);
    } while (!status.ok());
    close_all();
  }
  void post(std::function<void()> task) override {
    asio::post(io_, [task = std::move(task)] { report(caught(task)); });
  }
  void post_work(const std::string& client, size_t n_body_bytes, Job& job) override {
    workers_.submit({client, n_body_bytes, [this, &job] {
                       job.run();
                       finished_.push(job);
                       wake();
                     }});
  }
  void wake() override {
    if (is_woken_.exchange(true, std::memory_order_acq_rel)) return;
    const uint64_t one = 1;
    // The counter cannot overflow: it is set once between two reads.
    static_cast<void>(::write(wake_fd_.native_handle(), &one, sizeof one) == sizeof one);
  }
  void set_on_wake(std::function<void()> on_wake) override { on_wake_ = std::move(on_wake); }

  void every(std::chrono::milliseconds interval, std::function<void()> task) override {
    tickers_.push_back({asio::steady_timer(io_), interval, std::move(task)});
    arm(tickers_.back());
  }

  Status on_stop_signal(std::function<void()> handler) override {
    RZ_TRY(const int fd, catch_stop_signals());
    stop_fd_.assign(::dup(fd));
    stop_fd_.async_wait(asio::posix::stream_descriptor::wait_read, [handler = std::move(handler)](error_code error) {
      if (!error) report(caught(handler));
    });
    return {};
  }

  Status on_reopen_signal(std::function<void()> handler) override {
    RZ_TRY(const int fd, catch_reopen_signal());
    reopen_fd_.assign(::dup(fd));
    on_reopen_ = std::move(handler);
    await_reopen_signal();
    return {};
  }

  void stop_accepting() override {
    context_->draining = true;
    if (!is_socket_path(context_->options.host)) refuse_handshakes(door_.acceptor.native_handle());
    for (Door* door : {&door_, &owner_door_}) {
      accept_all(*door);
      door->close();
    }
    for (ConnectionBase* connection : std::vector(context_->connections.begin(), context_->connections.end())) {
      connection->close_if_idle();
    }
  }
  void stop() override { io_.stop(); }
  uint32_t n_connections() const override { return static_cast<uint32_t>(context_->connections.size()); }

 private:
  // A listening socket.
  struct Door {
    tcp::acceptor acceptor;
    bool is_owners = false;
    std::string path = {};  // of a Unix socket, removed with it; "": none, or owned by systemd
    bool accepts = false;   // its loop is running

    void close() {
      if (!acceptor.is_open()) return;
      if (!path.empty()) ::unlink(path.c_str());
      error_code ignored;
      acceptor.close(ignored);
    }
  };

  asio::awaitable<void> accept(Door& door);
  void accept_all(Door& door);
  void start(tcp::socket socket, bool is_owners);

  Status load_certificate();

  // Ends whatever still runs while the objects that its callbacks use exist.
  void close_all() {
    door_.close();
    owner_door_.close();
    workers_.stop();
    for (ConnectionBase* connection : std::vector(context_->connections.begin(), context_->connections.end())) {
      connection->close();
    }
    do {
      io_.restart();
    } while (io_.poll() > 0);
  }

  void await_reopen_signal() {
    reopen_fd_.async_read_some(asio::buffer(&n_reopen_signals_, sizeof n_reopen_signals_),
                               [this](error_code error, size_t) {
                                 if (error) return;
                                 report(caught(on_reopen_));
                                 await_reopen_signal();
                               });
  }

  asio::awaitable<void> wait_for_wakes() {
    uint64_t n_wakes = 0;
    while (true) {
      const auto [error, n_bytes] = co_await wake_fd_.async_read_some(asio::buffer(&n_wakes, sizeof n_wakes), kTuple);
      if (error) co_return;
      is_woken_.exchange(false, std::memory_order_acq_rel);
      finished_.take_all();
      if (on_wake_) report(caught(on_wake_));
    }
  }

  struct Ticker {
    asio::steady_timer timer;
    std::chrono::milliseconds interval;
    std::function<void()> task;
    bool is_armed = false;
  };

  void arm(Ticker& ticker) {
    ticker.timer.expires_after(ticker.interval);
    ticker.timer.async_wait([this, &ticker](error_code error) {
      ticker.is_armed = false;
      if (error) return;
      report(caught(ticker.task));
      arm(ticker);
    });
    ticker.is_armed = true;
  }

  // Starts the loops that are not running: all of them at first, later those that an exception ended.
  void revive() {
    keep(door_.accepts, [this] { return accept(door_); });
    if (owner_door_.acceptor.is_open()) keep(owner_door_.accepts, [this] { return accept(owner_door_); });
    keep(awaits_wakes_, [this] { return wait_for_wakes(); });
    for (Ticker& ticker : tickers_) {
      if (!ticker.is_armed) arm(ticker);
    }
  }

  template <class Loop>
  void keep(bool& is_there, Loop loop) {
    if (is_there) return;
    asio::co_spawn(io_, loop(), [&is_there](const std::exception_ptr& thrown) {
      is_there = false;
      if (thrown) std::rethrow_exception(thrown);  // to run(), which starts the loop again
    });
    is_there = true;
  }

  asio::io_context io_{1};
  std::shared_ptr<ConnectionContext> context_;
  Door door_, owner_door_;
  std::string owner_socket_note_;
  asio::posix::stream_descriptor wake_fd_;
  asio::posix::stream_descriptor stop_fd_, reopen_fd_;
  std::function<void()> on_reopen_;
  uint64_t n_reopen_signals_ = 0;  // from a read
  std::optional<asio::ssl::context> tls_;
  std::list<Ticker> tickers_;
  std::function<void()> on_wake_;
  std::atomic<bool> is_woken_{false};
  bool awaits_wakes_ = false;
  FinishedJobs finished_;
  WorkPool workers_;  // last: its tasks may hold objects that the members above serve
};

Status AsioServer::load_certificate() {
  const HttpOptions& options = context_->options;
  if (options.tls_cert.empty()) return {};
  error_code error;
  tls_.emplace(asio::ssl::context::tls_server);
  tls_->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                    asio::ssl::context::no_tlsv1_1);
  tls_->use_certificate_chain_file(options.tls_cert, error);
  if (error) return invalid_argument(options.tls_cert + ": " + error.message(), "tls_cert");
  tls_->use_private_key_file(options.tls_key, asio::ssl::context::pem, error);
  if (error) return invalid_argument(options.tls_key + ": " + error.message(), "tls_key");
  return {};
}

// If another server already has the owner's socket, it keeps it: the port is what this server was started for.
void AsioServer::listen_to_owner() {
  const HttpOptions& options = context_->options;
  if (options.owner_fd >= 0) return static_cast<void>(owner_door_.acceptor.assign(tcp::v4(), options.owner_fd));
  if (options.owner_socket.empty()) return;
  const auto socket = open_owner_socket(options.owner_socket);
  if (!socket.ok()) {
    owner_socket_note_ = socket.error().message;
    return;
  }
  owner_door_.acceptor.assign(tcp::v4(), *socket);
  owner_door_.path = options.owner_socket;
}

Status AsioServer::listen() {
  const HttpOptions& options = context_->options;
  RZ_CHECK_OK(load_certificate());
  if (is_socket_path(options.host)) {
    RZ_TRY(const int fd, listen_on_path(options.host));
    door_.acceptor.assign(tcp::v4(), fd);  // to Asio a socket is a stream, whatever its family
    door_.path = options.host;
    return {};
  }
  error_code error;
  const auto address = asio::ip::make_address(options.host == "localhost" ? "127.0.0.1" : options.host, error);
  if (error) {
    return invalid_argument(
        "host: expected an address to listen on, or a path with a '/', actual '" + options.host + "'", "host");
  }
  const tcp::endpoint endpoint(address, options.port);
  tcp::acceptor& acceptor = door_.acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) return {};
  return Error{ErrorCode::kResourceExhausted,
               fmt::format("cannot listen on {}:{}: {}; --port N takes another port, --port 0 any free one",
                           options.host, options.port, error.message()),
               "port"};
}

asio::awaitable<void> AsioServer::accept(Door& door) {
  while (door.acceptor.is_open()) {
    auto [error, socket] = co_await door.acceptor.async_accept(kTuple);
    if (!error) {
      report(caught([this, &accepted = socket, &door] { start(std::move(accepted), door.is_owners); }));
      continue;
    }
    if (!door.acceptor.is_open()) co_return;
    // Out of file descriptors: other connections must end first.
    asio::steady_timer pause(io_, kPause);
    co_await pause.async_wait(kTuple);
  }
}

// Accepts the connections that the system has established: closing the port would reset them.
void AsioServer::accept_all(Door& door) {
  if (!door.acceptor.is_open()) return;
  error_code error;
  door.acceptor.non_blocking(true, error);
  for (int i = 0; i < asio::socket_base::max_listen_connections && !error; ++i) {
    tcp::socket socket(io_);
    door.acceptor.accept(socket, error);
    if (!error) report(caught([this, &accepted = socket, &door] { start(std::move(accepted), door.is_owners); }));
    if (error == asio::error::connection_aborted) error.clear();
  }
}

void AsioServer::start(tcp::socket socket, bool is_owners) {
  if (context_->connections.size() >= context_->options.max_connections) return;
  if (is_owners) {
    if (comes_from_owner(socket.native_handle())) start_connection(std::move(socket), context_, true);
    return;
  }
  if (context_->has_most(address_of(socket))) return;
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  if (tls_) {
    start_tls_connection(std::move(socket), *tls_, context_);
  } else {
    start_connection(std::move(socket), context_, false);
  }
}

}  // namespace

bool is_socket_path(std::string_view host) {
  return host.find('/') != std::string_view::npos;
}

Result<std::unique_ptr<HttpServer>> HttpServer::create(const HttpOptions& options, Handler handler) {
  RZ_TRY(TrustedProxies proxies, TrustedProxies::create(options.trusted_proxies));
  auto server = std::make_unique<AsioServer>(options, std::move(proxies), std::move(handler));
  RZ_CHECK_OK(server->listen());
  server->listen_to_owner();
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace realizar::server
