// One request in progress: a single object from its header to the last byte of its answer, served by one coroutine. The
// coroutine waits for another thread, for a model or for updates of the engine, and resumes on the I/O thread; a call
// whose client has left ends where it waits. The server's list owns it until it has ended; code that calls it in the
// meantime keeps it alive. I/O thread, except for data lent to a worker.
#pragma once

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

// A client's id is returned in a header and in the log: only short, printable ASCII.
bool is_plain_header(std::string_view text);

class Call;
using CallPtr = std::shared_ptr<Call>;

// The permission that a route requires.
enum class Right : uint8_t {
  kNone,
  kKey,     // one of the keys, if there are any
  kOwn,     // to change what belongs to a key: that key's; without keys it belongs to everybody, and requires kManage
  kManage,  // to change the server for others: Call::may_manage
  kOwner,   // of the server's own user, only through the owner's socket
};

// One route: a path, the coroutine that serves its calls, and its protocol.
struct Route {
  const char* method;
  const char* path;  // may contain a name in braces: that part of a request's path is Call::path_id
  Task<Status> (*serve)(Call& call);
  const Protocol* protocol = &kPlainProtocol;
  Right right = Right::kKey;
  void (*before_body)(Call& call) = nullptr;  // may answer, or choose where the body goes; null: to memory
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
  HttpBody body;                                   // for its reader, which then releases it
  std::string id;                                  // X-Request-Id
  Headers headers;                                 // added to every reply
  const Protocol* protocol;                        // never null
  const Route* route = nullptr;                    // once it is found
  std::string path_id;            // the part of the request's path for the name in braces in its route's
  KeyDigest key{};                // of the API key; zeros if none is required
  bool may_manage = false;        // it may change the server for others
  bool is_of_local_page = false;  // OriginPolicy::is_local_page
  std::string adapter;            // named by the model's name; "": none
  uint64_t tenant = 0;            // whose share of the engine it uses
  std::string client;             // in whose turn its work is done: its key's, or its connection's if no key is
                                  // required
  bool is_detached = false;       // it was started by another call, and is counted with that
  bool is_logged = true;          // when it ends; only one of the calls for a request is
  CallRecord record;
  std::optional<ServerSpan> span;          // in a trace; nullopt: not traced
  std::unique_ptr<ResponseWriter> writer;  // of the answer, once it is known
  std::shared_ptr<BodySink> body_sink;     // receives the body; null: it is in `body`
  bool listens = false;                    // to changes of models, until the server ends

  // Sends the body there; call it before the body is read.
  void take_body_into(std::shared_ptr<BodySink> sink);

  // The reply: whole, or begin_stream, any number of writes, and end. At its end it is counted and logged, and these
  // functions do nothing afterwards.
  void send(HttpResponse response);
  void begin_stream(HttpResponse head);
  // The head of a whole reply whose body is sent in pieces, by writes and an end. An error cannot be inserted into such
  // a body: a failure closes the connection.
  void begin_pieces(HttpResponse head);
  // The stream is in the middle of an event, where an error cannot be inserted either.
  void set_in_event(bool is_in_event) { is_in_pieces_ = is_in_event; }
  void write(std::string_view bytes);
  void end();
  // Ends a stream with an error in the dialect's form, or is the whole reply. If neither can be sent, the connection is
  // closed.
  void fail(const ApiError& error) noexcept;
  void fail(const Error& error) noexcept;
  bool is_over() const { return is_over_; }
  // send() and fail() as the result of a coroutine that has nothing left to do.
  Status finish(HttpResponse response);
  Status refuse(const ApiError& error);
  bool is_post() const;
  // The header for replies and the log: the request's, if it is valid, or that of the trace which begins here; "":
  // none.
  std::string traceparent() const;
  bool is_congested() const { return reply_->is_congested(); }

  // Counts it among its tenant's open calls until it ends.
  void count_as_open();
  bool is_open() const { return is_open_; }

  void run(Task<Status> task);         // runs the coroutine that serves the call
  bool awaits_body();                  // false: it has already ended
  void ping(Clock::time_point now);    // sends a comment in a stream that was silent for a while
  void interrupt(const Error& error);  // ends it, wherever it is
  void signal_update();                // the engine has updates, or there is room to send them
  void on_body(HttpBody received) override;
  void on_no_body(int status, std::string message) override;
  void on_drained() override { signal_update(); }
  void on_closed() noexcept override;

  // The state of the coroutine: running, or what it waits for. Another thread must return the call before it can end;
  // otherwise it ends where it waits.
  enum class Wait : uint8_t { kNothing, kBody, kModel, kUpdate, kThread };
  // The coroutine waits at `at` until resume() is called, once.
  void suspend(Wait wait, std::coroutine_handle<> at) {
    wait_ = wait;
    at_ = at;
  }
  void resume() noexcept;
  // Resumes the call from any thread, unless it has ended by then.
  std::function<void()> resumer();
  bool has_update() const { return has_update_; }
  // Marks pending updates as taken. Returns an error if the call was interrupted.
  Status take_update();

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
  bool is_over_ = false, is_open_ = false, has_update_ = false;
  bool is_in_pieces_ = false;
  Status interruption_;
  std::optional<Clock::time_point> last_sent_;  // after a stream began
  Task<Status> task_;                           // last: it uses all other members
};

// Runs `work`, which returns a Result or a Status, on a worker for bodies of that size: co_await gives the result, or
// the exception as an error. Like everything awaited here it must have a name: GCC 12 miscompiles temporaries.
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

// Runs something on another thread than a worker: `begin` gets a function that returns the call, to be called once,
// from any thread. Data used by that thread must be shared with it, since the server may end in the meantime.
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

// Returns the model with that name, or an error.
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

// Returns an error if the call was interrupted.
class UpdateWait {
 public:
  explicit UpdateWait(Call& call) : call_(call) {}
  bool await_ready() const noexcept { return call_.has_update(); }
  void await_suspend(std::coroutine_handle<> at) { call_.suspend(Call::Wait::kUpdate, at); }
  Status await_resume() { return call_.take_update(); }

 private:
  Call& call_;
};

}  // namespace realizar::server
