#include "mcp/http_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/ascii_case.h"
#include "base/printable.h"
#include "base/try.h"
#include "mcp/sse_reader.h"

namespace realizar::mcp {
namespace {

using hub::HttpCall;
using hub::HttpHead;

constexpr size_t kMaxStreamBytes = 32u << 20;  // in everything before an answer
constexpr size_t kMaxRefusalBytes = 4u << 10;
constexpr int kMaxResumptions = 20;
constexpr auto kConnectTime = std::chrono::seconds(10);
constexpr auto kUsualRetry = std::chrono::milliseconds(1000);

bool has_type(const HttpHead& head, std::string_view type) {
  const std::string_view given = head.headers.get("content-type");
  const bool ends_there = given.size() <= type.size() || given[type.size()] == ';' || given[type.size()] == ' ';
  return starts_with_ignoring_case(given, type) && ends_there;
}

// Waits that long, or until the patience ends.
Status pause(std::chrono::milliseconds time, const Patience& patience) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
    RZ_CHECK_OK(patience.status());
    std::this_thread::sleep_for(std::min<Clock::duration>(kPollInterval, end - Clock::now()));
  }
  return patience.status();
}

// Searches a response for the answer to one request.
class AnswerReader {
 public:
  using OnRequest = std::function<void(const Message&)>;
  AnswerReader(uint64_t id, OnRequest on_request) : id_(id), on_request_(std::move(on_request)) {}

  // False: complete, no more is needed.
  bool take(const HttpHead& head, std::string_view piece) {
    n_bytes_ += piece.size();
    if (head.status != 200) return take_text(piece, kMaxRefusalBytes);
    if (n_bytes_ > kMaxStreamBytes)
      return fail(format_error("the server sends more than 32 MB before an answer", "answer"));
    if (!has_type(head, "text/event-stream")) {
      return take_text(piece, kMaxMessageBytes) ||
             fail(format_error(fmt::format("the answer is longer than {} bytes", kMaxMessageBytes), "answer"));
    }
    is_stream_ = true;
    const Status read = sse_.push(piece, [this](std::string_view data) { return data.empty() || take_messages(data); });
    if (!read.ok()) return fail(read.error());
    return !answer_ && failure_.ok();
  }

  // A body that is not a stream is parsed when it is complete.
  void finish(const HttpHead& head) {
    if (head.status != 200 || is_stream_ || !failure_.ok()) return;
    if (has_type(head, "application/json")) {
      take_messages(text_);
    } else if (!has_type(head, "text/event-stream")) {
      fail(format_error(
          "expected application/json or text/event-stream, actual " + shown(head.headers.get("content-type")),
          "answer"));
    }
  }

  std::optional<Answer>& answer() { return answer_; }
  const Status& failure() const { return failure_; }
  const std::string& refusal() const { return text_; }
  // Whether a stream that broke before the answer can be resumed.
  bool can_resume() const { return is_stream_ && !answer_ && failure_.ok() && !sse_.last_id().empty(); }
  const std::string& last_id() const { return sse_.last_id(); }
  std::chrono::milliseconds retry() const { return sse_.retry().value_or(kUsualRetry); }
  void begin_stream_again() { sse_.begin_again(); }

 private:
  bool fail(Error error) {
    if (failure_.ok()) failure_ = std::move(error);
    return false;
  }

  bool take_text(std::string_view piece, size_t max_bytes) {
    text_ += piece.substr(0, max_bytes - text_.size());
    return n_bytes_ <= max_bytes;
  }

  bool take_messages(std::string_view text) {
    auto messages = read_messages(text);
    if (!messages.ok()) return fail(messages.error());
    for (Message& message : *messages) take_message(message);
    return !answer_;
  }

  // An error without an id is the server's reply to a request that it could not parse.
  void take_message(Message& message) {
    const bool is_error = message.kind == Message::Kind::kError;
    if (message.kind == Message::Kind::kRequest && ++n_requests_ <= kMaxServerRequests) on_request_(message);
    const bool is_ours = message.id == id_ || (is_error && message.id.is_null());
    if ((!is_error && message.kind != Message::Kind::kResult) || !is_ours || answer_) return;
    answer_ = answer_of(std::move(message));
  }

  uint64_t id_;
  OnRequest on_request_;
  SseReader sse_{kMaxMessageBytes};
  std::string text_;
  size_t n_bytes_ = 0;
  int n_requests_ = 0;
  bool is_stream_ = false;
  std::optional<Answer> answer_;
  Status failure_;
};

// Names of tools are ASCII, which Client has checked.
void add_method_headers(HttpCall& call, const Outgoing& request) {
  call.headers.push_back("Mcp-Method: " + request.method);
  const Json name = request.params.value("name", Json());
  if (name.is_string()) call.headers.push_back("Mcp-Name: " + name.get<std::string>());
}

// The message in the body of a refusal, if it is a JSON-RPC error.
std::string message_of(const std::string& body) {
  const auto messages = read_messages(body);
  const bool is_error = messages.ok() && messages->size() == 1 && messages->front().kind == Message::Kind::kError;
  return is_error ? ": " + shown(messages->front().error.message, 300) : "";
}

Error refused_by(const HttpHead& head, const std::string& body) {
  const int status = head.status;
  const std::string what = fmt::format("it answers {}{}", status, message_of(body));
  if (status == 401 || status == 403) {
    return invalid_argument(what + "; a header such as Authorization can be set in the file of --mcp-config", "answer");
  }
  if (status / 100 == 3) {
    return format_error(fmt::format("{}: it leads to {}, and redirects are not followed: name that address", what,
                                    shown(head.headers.get("location"))),
                        "answer");
  }
  const bool takes_none = status == 400 || status == 404 || status == 405;
  return format_error(what, takes_none ? kRefusal : "answer");
}

}  // namespace

HttpCall HttpTransport::call_of(const Session& session, std::string method, std::string body) const {
  HttpCall call;
  call.url = address_.url;
  call.method = std::move(method);
  call.body = std::move(body);
  for (const auto& [name, value] : address_.headers) call.credentials.push_back(fmt::format("{}: {}", name, value));
  call.headers = {"Accept: " + std::string(call.method == "GET" ? "" : "application/json, ") + "text/event-stream",
                  "Expect:"};
  if (!call.body.empty()) call.headers.emplace_back("Content-Type: application/json");
  if (!session.version.empty()) call.headers.push_back("MCP-Protocol-Version: " + session.version);
  if (!session.id.empty()) call.headers.push_back("MCP-Session-Id: " + session.id);
  return call;
}

// Errors refer to "it": the caller adds the server's name, and the address stays private.
Result<HttpHead> HttpTransport::exchange(HttpCall call, const Patience& patience, const OnBody& on_body) const {
  RZ_CHECK_OK(patience.status());
  const auto time =
      std::chrono::ceil<std::chrono::milliseconds>(patience.deadline - Clock::now()) + std::chrono::milliseconds(1);
  HttpHead head;
  bool is_enough = false;
  call.max_redirects = 0;
  call.max_bytes = 2 * kMaxStreamBytes;  // on_body has its own limits
  call.total_timeout = time;
  call.cancelled = patience.cancelled;
  call.on_head = [&](const HttpHead& received) {
    head = received;
    return Status();
  };
  call.on_bytes = [&](std::string_view piece) {
    is_enough = !on_body(head, piece);
    return is_enough ? Status(Error{ErrorCode::kCancelled, "", ""}) : Status();
  };
  RZ_TRY(hub::HttpClient client, hub::HttpClient::create({ca_file_, kConnectTime, time}));
  const auto reply = client.send(call);
  if (reply.ok() || is_enough) return head;
  RZ_CHECK_OK(patience.status());
  Error error = reply.error();
  if (const std::string prefix = call.url.shown() + ": "; error.message.starts_with(prefix))
    error.message.erase(0, prefix.size());
  return error;
}

Result<Answer> HttpTransport::ask(const Session& session, const Outgoing& request, const Patience& patience) {
  HttpCall first = call_of(session, "POST", request_text(request.id, request.method, request.params));
  if (session.is_stateless) add_method_headers(first, request);
  AnswerReader reader(request.id, [&](const Message& asked) {
    static_cast<void>(tell(session, reply_text(asked), within(kReplyTime, patience)).ok());
  });
  const auto take = [&](const HttpHead& head, std::string_view piece) { return reader.take(head, piece); };
  auto head = exchange(std::move(first), patience, take);
  if (head.ok()) reader.finish(*head);
  const std::string session_id = head.ok() ? std::string(head->headers.get("mcp-session-id")) : "";
  for (int i = 0; i < kMaxResumptions && reader.can_resume(); ++i) {
    RZ_CHECK_OK(pause(reader.retry(), patience));
    HttpCall again = call_of(session, "GET", "");
    again.headers.push_back("Last-Event-ID: " + reader.last_id());
    reader.begin_stream_again();
    head = exchange(std::move(again), patience, take);
    if (head.ok() && head->status != 200) break;
  }
  if (reader.answer()) {
    reader.answer()->session_id = session_id;
    return std::move(*reader.answer());
  }
  RZ_CHECK_OK(reader.failure());
  if (!head.ok()) return head.error();
  if (head->status == 404 && !session.id.empty())
    return not_found("the server has forgotten the session", kLostSession);
  if (head->status != 200) return refused_by(*head, reader.refusal());
  return format_error("it sends no answer to the request", "answer");
}

Status HttpTransport::tell(const Session& session, const std::string& message, const Patience& patience) {
  std::string body;
  RZ_TRY(const HttpHead head,
         exchange(call_of(session, "POST", message), patience, [&](const HttpHead&, std::string_view piece) {
           body += piece.substr(0, kMaxRefusalBytes - body.size());
           return body.size() < kMaxRefusalBytes;
         }));
  if (head.status / 100 == 2) return {};
  return refused_by(head, body);
}

void HttpTransport::end(const Session& session, const Patience& patience) {
  if (session.id.empty()) return;
  static_cast<void>(
      exchange(call_of(session, "DELETE", ""), patience, [](const HttpHead&, std::string_view) { return false; }).ok());
}

}  // namespace realizar::mcp
