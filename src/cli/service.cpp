#include "cli/service.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <filesystem>
#include <utility>

#include "base/json_text.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/generation.h"
#include "cli/output.h"
#include "hub/user_folders.h"
#include "mcp/sse_reader.h"

namespace realizar::cli {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Json = nlohmann::ordered_json;
using Local = asio::local::stream_protocol;
using ResponseParser = http::response_parser<http::string_body>;

constexpr size_t kMaxEventBytes = 64u << 20;
constexpr int kVersionTimeoutMs = 5000;  // a server reports its version even while it is busy

Error has_gone(const error_code& error) {
  return {ErrorCode::kInternal, "the running server does not answer: " + error.message(), "service"};
}

// The error in an answer: {"error": {"message", "code", "param"}}.
Error error_of(const Json& json, int status) {
  const Json error = json.is_object() ? json.value("error", Json()) : Json();
  const auto text = [&](const char* name) {
    const bool has_it = error.is_object() && error.contains(name) && error[name].is_string();
    return has_it ? error[name].get<std::string>() : std::string();
  };
  std::string message = text("message");
  if (message.empty()) message = fmt::format("the running server answers with status {}", status);
  ErrorCode code = ErrorCode::kInvalidArgument;
  if (text("code") == "context_length_exceeded") code = ErrorCode::kContextLengthExceeded;
  if (status == 404) code = ErrorCode::kNotFound;
  if (status == 429 || status == 503) code = ErrorCode::kResourceExhausted;
  if (status == 500) code = ErrorCode::kInternal;
  const auto number = [&](const char* name) { return error.is_object() ? error.value(name, 0u) : 0u; };
  return {code, std::move(message), text("param"), number("n_prompt_tokens"), number("n_ctx")};
}

}  // namespace

// One connection with a single request.
class Service::Exchange {
 public:
  explicit Exchange(Service& service) : service_(service), socket_(io_) {}
  ~Exchange() { service_.fd_ = -1; }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Sends the request, and reads the answer's head, which must arrive within time_ms; -1: no limit.
  Status begin(const std::string& path, const Json& body, int time_ms = -1) {
    error_code error;
    socket_.connect(Local::endpoint(service_.socket_), error);
    if (error) return has_gone(error);
    service_.fd_ = socket_.native_handle();
    http::request<http::string_body> request{body.is_null() ? http::verb::get : http::verb::post, path, 11};
    request.set(http::field::host, "localhost");
    request.set(http::field::content_type, "application/json");
    if (!body.is_null()) request.body() = json_text(body);
    request.keep_alive(false);
    request.prepare_payload();
    if (!service_.is_cancelled_) http::write(socket_, request, error);
    parser_.body_limit(boost::none);
    if (!error) error = wait(time_ms);
    if (!error && !service_.is_cancelled_) http::read_header(socket_, buffer_, parser_, error);
    return outcome(error);
  }

  int status() { return parser_.get().result_int(); }

  // The part of the body that has arrived since the last call; empty: the body is complete.
  Result<std::string> more() {
    std::string& arrived = parser_.get().body();
    error_code error;
    while (arrived.empty() && !parser_.is_done() && !error) http::read_some(socket_, buffer_, parser_, error);
    RZ_CHECK_OK(outcome(error));
    return std::exchange(arrived, {});
  }

  Result<Json> rest() {
    std::string bytes;
    while (true) {
      RZ_TRY(const std::string piece, more());
      if (piece.empty()) break;
      bytes += piece;
    }
    Json json = Json::parse(bytes, nullptr, false);
    if (status() / 100 != 2) return error_of(json, status());
    if (json.is_discarded()) return Error{ErrorCode::kInternal, "the running server answers no JSON", "service"};
    return json;
  }

 private:
  error_code wait(int time_ms) {
    pollfd readable{socket_.native_handle(), POLLIN, 0};
    const bool is_late = time_ms >= 0 && ::poll(&readable, 1, time_ms) == 0;
    return is_late ? asio::error::timed_out : error_code();
  }

  Status outcome(const error_code& error) const {
    if (service_.is_cancelled_) return Error{ErrorCode::kCancelled, "interrupted", ""};
    return error ? Status(has_gone(error)) : Status();
  }

  Service& service_;
  asio::io_context io_;
  Local::socket socket_;
  boost::beast::flat_buffer buffer_;
  ResponseParser parser_;
};

std::unique_ptr<Service> Service::find() {
  const auto path = hub::service_socket();
  std::error_code missing;
  if (!path || !std::filesystem::exists(*path, missing)) return nullptr;
  auto service = std::make_unique<Service>(path->string());
  if (service->pid() == 0) return nullptr;  // the socket of a killed server
  const auto answer = service->ask("/version", Json(), kVersionTimeoutMs);
  if (!answer.ok()) {
    warn(answer.error().message + "; it is not used");
    return nullptr;
  }
  const std::string actual = answer->value("version", "");
  if (actual == version()) return service;
  warn(fmt::format("the running server has the version {}, and not {}: it is not used", printable(actual), version()));
  return nullptr;
}

std::unique_ptr<Service> Service::find_for(const std::string& option) {
  auto service = find();
  if (service == nullptr || option.empty()) return service;
  warn(fmt::format("{}: the model is loaded in this process, and not in the running server", option));
  return nullptr;
}

std::string Service::name_of_model(const std::string& given) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::canonical(given, error);
  return error ? given : whole.string();
}

Result<Json> Service::open_model(const std::string& given) {
  return ask("/service/models", {{"model", name_of_model(given)}});
}

Result<Json> Service::ask(const std::string& path, const Json& body, int time_ms) {
  is_cancelled_ = false;
  Exchange exchange(*this);
  RZ_CHECK_OK(exchange.begin(path, body, time_ms));
  return exchange.rest();
}

Status Service::stream(const std::string& path, const Json& body,
                       const std::function<bool(std::string_view data)>& on_event) {
  is_cancelled_ = false;
  Exchange exchange(*this);
  RZ_CHECK_OK(exchange.begin(path, body));
  if (exchange.status() != 200) {
    const auto refused = exchange.rest();
    return refused.ok() ? Error{ErrorCode::kInternal, "the running server answers no stream", "service"}
                        : refused.error();
  }
  mcp::SseReader reader(kMaxEventBytes);
  bool goes_on = true;
  Status status;
  const auto take = [&](std::string_view data) {
    const Json json = Json::parse(data, nullptr, false);
    if (json.is_object() && json.contains("error")) status = error_of(json, 500);
    goes_on = status.ok() && on_event(data);
    return goes_on;
  };
  while (goes_on) {
    RZ_TRY(const std::string piece, exchange.more());
    if (piece.empty()) break;
    RZ_CHECK_OK(reader.push(piece, take));
  }
  return status;
}

// shutdown(2) is the only call that a signal handler may make and that wakes a reading thread.
void Service::cancel() noexcept {
  is_cancelled_ = true;
  if (const int fd = fd_; fd >= 0) ::shutdown(fd, SHUT_RDWR);
}

int Service::pid() const {
  asio::io_context io;
  Local::socket socket(io);
  error_code error;
  socket.connect(Local::endpoint(socket_), error);
  ucred peer{};
  socklen_t n_bytes = sizeof peer;
  if (error || ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &n_bytes) != 0) return 0;
  return peer.pid;
}

}  // namespace realizar::cli
