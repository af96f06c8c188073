#include "server/call/call.h"

#include <algorithm>

#include "server/call/context.h"
#include "server/models/model_registry.h"
#include "server/watch/metrics.h"
#include "server/watch/trace_exporter.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxIdBytes = 200;

// How many more requests the caller's key may have open, if keys have a limit, else the queue of the model, once that
// is known.
struct Room {
  uint32_t most = 0, used = 0;
};

std::optional<Room> room_of(const Call& call, bool is_whole) {
  const ServerContext& context = call.context;
  if (const uint32_t most = context.options.max_requests_per_key; most > 0) {
    const uint32_t ends_now = is_whole && call.is_open() ? 1 : 0;
    return Room{most, context.n_open_of(call.tenant) - ends_now};
  }
  const auto* entry = call.record.model.empty() ? nullptr : context.models.find(call.record.model);
  if (entry == nullptr || entry->model == nullptr) return std::nullopt;
  return Room{entry->model->thread->max_open(), entry->model->thread->n_open()};
}

// Headers from which OpenAI's clients learn how much more they may ask, and how long an answer took after its body
// arrived. They only report what the server measures: its limits apply to open requests, so there is no time at which
// they reset, and there is no limit of tokens. If `is_whole`, the reply ends together with its head.
Headers rate_limit_headers(const Call& call, bool is_whole) {
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - call.start);
  Headers headers{{"openai-processing-ms", std::to_string(elapsed.count())}};
  if (const auto room = room_of(call, is_whole)) {
    headers.emplace_back("x-ratelimit-limit-requests", std::to_string(room->most));
    headers.emplace_back("x-ratelimit-remaining-requests",
                         std::to_string(room->most - std::min(room->used, room->most)));
  }
  return headers;
}

// The operation of a route in the semantic conventions for generative AI; "": none.
std::string_view operation_of(std::string_view path) {
  const auto has = [path](std::string_view part) { return path.find(part) != std::string_view::npos; };
  if (path.ends_with("tokens") || path.ends_with("/cancel")) return "";
  if (has("/chat") || has("/messages") || has("/responses")) return "chat";
  if (has("/embed")) return "embeddings";
  return has("/completion") || has("/generate") || has("/infill") ? "text_completion" : "";
}

// The data of an ended call for its trace. The call has a span and a route. Its times are those of its record.
RequestTrace trace_of(const Call& call, int status) {
  const CallRecord& record = call.record;
  RequestTrace trace;
  trace.span = *call.span;
  trace.method = call.route->method;
  trace.route = call.route->path;
  trace.request_id = call.id;
  trace.status = status;
  // Converts times of the steady clock to wall clock times. A pause between the two readings makes no time too early.
  const Clock::time_point now = Clock::now();
  const auto count_ns = [](std::chrono::nanoseconds time) { return static_cast<uint64_t>(time.count()); };
  const uint64_t wall_ns = count_ns(std::chrono::system_clock::now().time_since_epoch());
  const auto at = [&](Clock::time_point time) { return wall_ns - count_ns(now - time); };
  trace.arrived_ns = at(call.arrival);
  trace.ended_ns = wall_ns;
  trace.operation = operation_of(trace.route);
  trace.asked_model = record.asked_model;
  trace.model = record.model;
  trace.adapter = call.adapter;
  trace.n_prompt = record.n_prompt;
  trace.n_cached = record.n_cached;
  trace.n_generated = std::max(record.n_generated, record.n_told);
  trace.finish_reasons = record.finish_reasons;
  if (record.submitted == Clock::time_point{}) return trace;
  trace.queued_ns = at(record.submitted);
  const auto after = [&](double ms) {
    return std::min(trace.ended_ns, trace.queued_ns + static_cast<uint64_t>(ms * 1e6));
  };
  if (record.until_step_ms > 0) trace.first_step_ns = after(record.until_step_ms);
  if (record.until_token_ms > 0) trace.first_token_ns = after(record.until_token_ms);
  trace.done_ns = record.until_end_ms > 0 ? after(record.until_end_ms) : trace.ended_ns;
  return trace;
}

}  // namespace

bool is_plain_header(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

Call::Call(ServerContext& server, HttpRequest received, std::shared_ptr<Reply> reply)
    : context(server), request(std::move(received)), protocol(&kPlainProtocol), reply_(std::move(reply)) {}

CallPtr Call::begin(ServerContext& server, HttpRequest received, std::shared_ptr<Reply> reply) {
  const CallPtr call(new Call(server, std::move(received), std::move(reply)));
  call->place_ = server.calls.insert(server.calls.end(), call);
  if (call->reply_ != nullptr) call->reply_->listener = call;
  return call;
}

bool Call::is_post() const {
  return std::string_view(route->method) == "POST";
}

std::string Call::traceparent() const {
  if (span && !span->has_parent()) return to_traceparent(span->context);
  const auto given = request.header("traceparent");
  return std::string(is_plain_header(given) ? given : std::string_view());
}

void Call::take_body_into(std::shared_ptr<BodySink> sink) {
  body_sink = sink;
  reply_->body_sink = std::move(sink);
}

void Call::send(HttpResponse response) {
  if (is_over_) return;
  status_ = response.status;
  add_headers(response, true);
  reply_->send(std::move(response));
  over();
}

void Call::begin_stream(HttpResponse head) {
  if (is_over_) return;
  status_ = head.status;
  add_headers(head, false);
  reply_->begin_stream(std::move(head));
  last_sent_ = Clock::now();
}

void Call::begin_pieces(HttpResponse head) {
  if (is_over_) return;
  status_ = head.status;
  add_headers(head, true);
  is_in_pieces_ = true;
  reply_->begin_stream(std::move(head));
}

void Call::add_headers(HttpResponse& head, bool is_whole) const {
  head.headers.insert(head.headers.end(), headers.begin(), headers.end());
  if (!record.warning.empty()) head.headers.emplace_back("X-Realizar-Warning", record.warning);
  if (!protocol->tells_limits || is_detached) return;
  for (auto& header : rate_limit_headers(*this, is_whole)) head.headers.push_back(std::move(header));
}

void Call::write(std::string_view bytes) {
  reply_->write(bytes);
  if (!is_in_pieces_) last_sent_ = Clock::now();
}

void Call::end() {
  if (is_over_) return;
  reply_->end();
  over();
}

void Call::fail(const ApiError& error) noexcept {
  if (is_in_pieces_) {
    // The kept end of a stream contains the way in which it ended.
    if (last_sent_ && writer != nullptr)
      static_cast<void>(caught([&] { static_cast<void>(writer->stream_error(error)); }));
    reply_->drop();
    return over();
  }
  const Status told = caught([&] {
    ApiError own = error;
    own.request_id = id;
    if (!last_sent_) return send(protocol->spell_error(own));
    write(writer != nullptr ? writer->stream_error(own) : plain_stream_error(own));
    end();
  });
  if (!told.ok()) reply_->drop();
}

void Call::fail(const Error& error) noexcept {
  const Status told = caught([&] { fail(to_api_error(error)); });
  if (!told.ok()) reply_->drop();
}

Status Call::finish(HttpResponse response) {
  send(std::move(response));
  return {};
}

Status Call::refuse(const ApiError& error) {
  fail(error);
  return {};
}

void Call::count_as_open() {
  ++context.n_open[tenant];
  is_open_ = true;
}

void Call::over() noexcept {
  if (std::exchange(is_over_, true)) return;
  if (is_open_ && --context.n_open[tenant] == 0) context.n_open.erase(tenant);
  static_cast<void>(caught([&] {
    if (!is_detached) context.metrics.count_http(route == nullptr ? "none" : route->path, status_);
    if (!is_logged) return;
    const bool is_traced = context.traces != nullptr && route != nullptr && span && span->context.is_sampled;
    if (is_traced) context.traces->add(trace_of(*this, status_));
    if (context.access_log == nullptr) return;
    const double total_ms = std::chrono::duration<double, std::milli>(Clock::now() - arrival).count();
    context.access_log->write({request, record, id, traceparent(), status_, total_ms});
  }));
}

// Calls `f`, which may end the reply or the connection, from outside of the coroutine.
template <class F>
void Call::while_running(F f) {
  const CallPtr self = shared_from_this();
  const Wait before = std::exchange(wait_, Wait::kNothing);
  f();
  wait_ = before;
  end_if_over();
}

bool Call::awaits_body() {
  const bool is_wanted = !is_over_;
  wait_ = Wait::kBody;
  end_if_over();
  return is_wanted;
}

void Call::ping(Clock::time_point now) {
  const auto interval = std::chrono::seconds(context.options.ping_interval_s);
  if (is_over_ || is_in_pieces_ || !last_sent_ || interval.count() == 0 || now - *last_sent_ < interval) return;
  const Status sent = caught([&] { write(protocol->keep_alive); });
  if (!sent.ok()) interrupt(sent.error());
}

void Call::interrupt(const Error& error) {
  if (is_over_) return;
  if (wait_ != Wait::kUpdate) return while_running([&] { fail(error); });
  interruption_ = error;
  resume();
}

void Call::signal_update() {
  has_update_ = true;
  if (wait_ == Wait::kUpdate) resume();
}

Status Call::take_update() {
  has_update_ = false;
  return std::exchange(interruption_, {});
}

void Call::on_body(HttpBody received) {
  start = Clock::now();
  body = std::move(received);
  Task<Status> task;
  const Status made = caught([&] { task = route->serve(*this); });
  if (!made.ok()) return while_running([&] { fail(made.error()); });
  run(std::move(task));
}

void Call::run(Task<Status> task) {
  task_ = std::move(task);
  at_ = task_.handle();
  resume();
}

void Call::on_no_body(int status, std::string message) {
  while_running([&] { fail(ApiError{status, std::move(message), "", ""}); });
}

void Call::on_closed() noexcept {
  status_ = 499;
  over();
  end_if_over();
}

void Call::resume() noexcept {
  const CallPtr self = shared_from_this();
  const bool is_wanted = !is_over_;
  wait_ = Wait::kNothing;
  if (is_wanted) at_.resume();
  if (task_.is_done() && !task_.result().ok()) fail(task_.result().error());
  const bool stays = is_wanted && !task_.is_done() && (!is_over_ || wait_ == Wait::kThread);
  if (!stays) end_task();
}

std::function<void()> Call::resumer() {
  return [&http = context.http, call = weak_from_this()] {
    http.post([call] {
      if (const CallPtr held = call.lock()) held->resume();
    });
  };
}

void Call::end_if_over() noexcept {
  if (is_over_ && wait_ != Wait::kNothing && wait_ != Wait::kThread) end_task();
}

// From here on the call is not waiting, although destroying the coroutine's objects may notify it.
void Call::end_task() noexcept {
  wait_ = Wait::kNothing;
  const CallPtr self = std::move(*place_);
  context.calls.erase(place_);
  const Task<Status> ended = std::move(task_);
}

ModelWait::~ModelWait() {
  call_.context.models.forget(ticket_);
}

bool ModelWait::await_ready() {
  ticket_ = call_.context.models.acquire(name_, call_.tenant, [this](const Result<ServedModelPtr>& model) {
    model_ = caught([&] { return model; });
    if (is_suspended_) call_.resume();
  });
  return model_.has_value();
}

RequestContext request_context(const Call& call) {
  const ServerOptions& options = call.context.options;
  const bool has_no_key = call.key == KeyDigest{};
  RequestContext context;
  context.path = call.request.path;
  context.has_body = !call.body.bytes.empty();
  context.key = call.key;
  context.tenant = call.tenant;
  // How long a model stays loaded affects everybody: whoever may manage the server decides it, and without keys clients
  // on its machine, except pages of other servers there.
  context.may_set_keep_alive = call.may_manage || (has_no_key && call.request.is_local && !call.is_of_local_page);
  context.adapter = call.adapter;
  context.start = call.start;
  context.load_ms = call.record.load_ms;
  context.max_prompt_tokens = options.max_prompt_tokens;
  context.request_timeout_ms = options.request_timeout_ms;
  context.log_prompts = options.log_prompts;
  context.llama_answers = options.llama_answers;
  context.responses = &call.context.responses;
  context.made = &call.context.client_models->made;
  context.find_model = [&models = call.context.models](const std::string& name) -> std::optional<std::string> {
    if (const auto* entry = models.find_named(name)) return entry->source.id;
    return models.adapter_of(name).empty() ? std::nullopt : std::optional(name);
  };
  if (!has_no_key) return context;
  // With API keys, models stay loaded, since other keys may use them.
  context.keep_alive = [&server = call.context](const std::string& id, const auto& duration) {
    server.http.post([&models = server.models, id, duration] { models.keep_alive(id, duration); });
  };
  return context;
}

size_t ServerContext::n_under_way() const {
  return static_cast<size_t>(std::ranges::count_if(calls, [](const CallPtr& call) { return !call->is_over(); }));
}

uint32_t ServerContext::n_open_of(uint64_t tenant) const {
  const auto open = n_open.find(tenant);
  return open == n_open.end() ? 0 : open->second;
}

}  // namespace realizar::server
