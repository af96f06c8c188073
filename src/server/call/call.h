// One request on its way: from its header to the last byte of its answer it is one object, which one coroutine serves.
// The coroutine waits for another thread, for a model or for news of the engine, and resumes on the I/O thread; a call
// whose client has left ends where it waits. The server's list has it until it has ended; whoever calls it meanwhile
// keeps it alive. I/O thread, but for what a worker is lent.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/caught.h"
#include "server/call/protocol.h"
#include "server/call/request_context.h"
#include "server/call/task.h"
#include "server/http/api_error.h"
#include "server/http/auth.h"
#include "server/http/http.h"
#include "server/http/http_server.h"
#include "server/models/served_model.h"
#include "server/watch/access_log.h"
#include "server/watch/trace_context.h"

namespace realizar::server {

struct ServerContext;

// What clients send as an id comes back in a header and in the log: printable ASCII only, and not much of it.
bool is_plain_header(std::string_view text);

class Call;
using CallPtr = std::shared_ptr<Call>;

// The right that a route asks of its callers.
enum class Right : uint8_t {
  kNone,
  kKey,     // one of the keys, where there are any
  kOwn,     // to change what belongs to a key: that key's; where there are none it is everybody's, and it is kManage
  kManage,  // to change the server for others: Call::may_manage
  kOwner,   // of the server's own user, by the owner's socket alone
};

// One route: a path, the coroutine that serves a call of it, and the protocol that it speaks.
struct Route {
  const char* method;
  const char* path;  // may have a name in braces: what stands there in a request's path is Call::path_id
  Task<Status> (*serve)(Call& call);
  const Protocol* protocol = &kPlainProtocol;
  Right right = Right::kKey;
  void (*before_body)(Call& call) = nullptr;  // may answer, or say where the body goes; null: it goes into memory
};

class Call final : public ReplyListener, public std::enable_shared_from_this<Call> {
 public:
  // A new call in the server's list, which listens to its reply.
  static CallPtr begin(ServerContext& server, HttpRequest received, std::shared_ptr<Reply> reply);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  ServerContext& context;
  const HttpRequest request;
  const Clock::time_point arrival = Clock::now();  // of the header
  Clock::time_point start = arrival;               // of the body's end
  HttpBody body;                                   // for whoever reads it, who lets go of it then
  std::string id;                                  // X-Request-Id
  Headers headers;                                 // of every reply
  const Protocol* protocol;                        // which it speaks; never null
  const Route* route = nullptr;                    // once it is taken
  std::string path_id;            // what stands in the request's path for the name in braces of its route's
  KeyDigest key{};                // of the API key; zeros where none is asked for
  bool may_manage = false;        // it may change the server for others
  bool is_of_local_page = false;  // OriginPolicy::is_local_page
  std::string adapter;            // that the model's name asks for; "": none
  uint64_t tenant = 0;            // whose share of the engine it uses
  std::string client;             // whose turn its work takes: its key's, or its connection's where no key is asked for
  bool is_detached = false;       // it was started by another call, with which it is counted
  bool is_logged = true;          // when it is over; of calls that serve one request one is
  CallRecord record;
  std::optional<ServerSpan> span;       // in a trace; nullopt: the request has none
  std::unique_ptr<Speller> speller;     // of the answer, once it is known
  std::shared_ptr<BodySink> body_sink;  // that has the body; null: `body` has it
  bool listens = false;                 // to changes of models, until the server ends

  // Has the body go there; to be called before it is read.
  void take_body_into(std::shared_ptr<BodySink> sink);

  // The reply: whole, or begin_stream, any number of writes, and end. With its end it is counted and logged, and after
  // that these do nothing.
  void send(HttpResponse response);
  void begin_stream(HttpResponse head);
  // The head of a whole reply of which the body comes in pieces, by writes and an end. Nothing else may stand in such a
  // body: what fails after this closes the connection.
  void begin_pieces(HttpResponse head);
  // A stream is in the middle of an event: nothing else may stand there either.
  void set_in_event(bool is_in_event) { is_in_pieces_ = is_in_event; }
  void write(std::string_view bytes);
  void end();
  // Ends a stream as its speller has it, and is the whole reply otherwise. Where neither can be sent, the
  // connection is closed.
  void fail(const ApiError& error) noexcept;
  void fail(const Error& error) noexcept;
  bool is_over() const { return is_over_; }
  bool is_post() const;
  // The header for replies and the log: that of the request, where it is one that may be repeated, or else that of the
  // trace which begins here; "": none.
  std::string traceparent() const;
  bool is_congested() const { return reply_->is_congested(); }

  // Counts it among its tenant's open calls until it is over.
  void count_as_open();
  bool is_open() const { return is_open_; }

  void run(Task<Status> task);         // does what serves the call
  bool awaits_body();                  // false: it is over already
  void ping(Clock::time_point now);    // a stream that sent nothing for a while sends a comment
  void interrupt(const Error& error);  // ends it, wherever it is
  void tell_news();                    // the engine has some, or there is room to send it
  void on_body(HttpBody received) override;
  void on_no_body(int status, std::string message) override;
  void on_drained() override { tell_news(); }
  void on_closed() noexcept override;

  // Where the coroutine is: on the stack, or what it waits for. Another thread must give the call back before it can
  // end; otherwise it ends where it waits.
  enum class Wait : uint8_t { kNothing, kBody, kModel, kNews, kThread };
  // The coroutine waits at `at` until resume() is called, once.
  void suspend(Wait wait, std::coroutine_handle<> at) {
    wait_ = wait;
    at_ = at;
  }
  void resume() noexcept;
  // Resumes the call from any thread, where it has not ended by then.
  std::function<void()> resumer();
  bool has_news() const { return has_news_; }
  // Forgets that there are news. Gives an error where the call is interrupted.
  Status take_news();

 private:
  Call(ServerContext& server, HttpRequest received, std::shared_ptr<Reply> reply);
  void over() noexcept;
  void end_if_over() noexcept;
  void end_task() noexcept;
  template <class F>
  void while_running(F f);
  void add_headers(HttpResponse& head, bool is_whole) const;

  std::shared_ptr<Reply> reply_;
  std::list<CallPtr>::iterator place_;  // in the server's list
  Wait wait_ = Wait::kNothing;
  std::coroutine_handle<> at_;  // where the coroutine resumes
  int status_ = 0;
  bool is_over_ = false, is_open_ = false, has_news_ = false;
  bool is_in_pieces_ = false;
  Status interruption_;
  std::optional<Clock::time_point> last_sent_;  // since a stream began
  Task<Status> task_;                           // last: it uses all the rest
};

// Has `work`, which gives a Result or a Status, done on a worker for bodies of that size: that, or what it threw, is
// what co_await gives. As all that is awaited here it must have a name: GCC 12 miscompiles temporaries.
template <class F>
class OnWorker final : private Job {
 public:
  OnWorker(Call& call, size_t n_body_bytes, F work)
      : call_(call), n_body_bytes_(n_body_bytes), work_(std::move(work)) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> at);
  auto await_resume() { return std::move(*result_); }

 private:
  void run() noexcept override { result_ = caught(work_); }
  void then() noexcept override { call_.resume(); }

  Call& call_;
  size_t n_body_bytes_;
  F work_;
  std::optional<std::invoke_result_t<F&>> result_;
};

// Has another thread than a worker do something: `begin` gets a function that gives the call back, to be called once,
// from any thread. What that thread uses must be shared with it, since the server may end meanwhile.
template <class Begin>
class Lent {
 public:
  Lent(Call& call, Begin begin) : call_(call), begin_(std::move(begin)) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> at) {
    call_.suspend(Call::Wait::kThread, at);
    begin_(call_.resumer());
  }
  void await_resume() const noexcept {}

 private:
  Call& call_;
  Begin begin_;
};

// Gives the model of that name, or why there is none.
class ModelWait {
 public:
  ModelWait(Call& call, std::string name) : call_(call), name_(std::move(name)) {}
  ~ModelWait();
  ModelWait(const ModelWait&) = delete;
  ModelWait& operator=(const ModelWait&) = delete;
  bool await_ready();
  void await_suspend(std::coroutine_handle<> at) {
    is_suspended_ = true;
    call_.suspend(Call::Wait::kModel, at);
  }
  Result<ServedModelPtr> await_resume() { return std::move(*model_); }

 private:
  Call& call_;
  std::string name_;
  uint64_t ticket_ = 0;
  bool is_suspended_ = false;
  std::optional<Result<ServedModelPtr>> model_;
};

// Gives an error where the call is interrupted.
class NewsWait {
 public:
  explicit NewsWait(Call& call) : call_(call) {}
  bool await_ready() const noexcept { return call_.has_news(); }
  void await_suspend(std::coroutine_handle<> at) { call_.suspend(Call::Wait::kNews, at); }
  Status await_resume() { return call_.take_news(); }

 private:
  Call& call_;
};

}  // namespace realizar::server
