#include "server/server.h"

#include <fmt/format.h>
#include <limits.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/caught.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/try.h"
#include "engine/block_events.h"
#include "engine/engine.h"
#include "engine/prefixes.h"
#include "server/call/background.h"
#include "server/call/context.h"
#include "server/call/request_fields.h"
#include "server/call/store_changes.h"
#include "server/events/kv_publisher.h"
#include "server/http/auth.h"
#include "server/http/body_coding.h"
#include "server/http/origin_policy.h"
#include "server/http/process.h"
#include "server/models/prefix_folders.h"
#include "server/routes/routes.h"
#include "server/shared/shared_prefixes.h"
#include "server/watch/access_log.h"
#include "server/watch/line_writer.h"
#include "server/watch/metrics.h"
#include "server/watch/trace_exporter.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxAskedHeadersBytes = 2000;
constexpr uint64_t kReturnedBytes = 1u << 20;  // of ended answers, before memory is returned
constexpr const char* kAllMethods = "GET, POST, DELETE, OPTIONS";
constexpr std::string_view kUsualHeaders =
    "Authorization, X-Api-Key, Content-Type, Content-Encoding, X-Request-Id, X-Trace, traceparent, tracestate";
constexpr std::string_view kExposedHeaders =
    "X-Request-Id, X-Realizar-Warning, Retry-After, retry-after-ms, openai-processing-ms, x-ratelimit-limit-requests, "
    "x-ratelimit-remaining-requests";
constexpr auto kLastWords = std::chrono::seconds(1);  // for the errors of interrupted calls to reach their clients

// Names of headers, separated by commas.
bool is_header_list(std::string_view text) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~, ";  // RFC 9110, section 5.6.2
  const auto may_stand = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kMarks.find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= kMaxAskedHeadersBytes && std::all_of(text.begin(), text.end(), may_stand);
}

Error shutting_down() {
  return {ErrorCode::kResourceExhausted, "the server is shutting down", "shutdown"};
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// Passes spdlog's lines to a LineWriter.
class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LogSink(std::shared_ptr<LineWriter> writer) : writer_(std::move(writer)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    while (line.size() > 0 && line[line.size() - 1] == '\n') line.resize(line.size() - 1);
    writer_->write(std::string(line.data(), line.size()));
  }
  void flush_() override {}

  const std::shared_ptr<LineWriter> writer_;
};

// The program's own messages while it serves, also through spdlog: on standard output, written by a separate thread, so
// that a stalled reader stops nothing. There is no place to report lost lines of this log.
class ServerLog {
 public:
  ServerLog() { spdlog::set_default_logger(std::make_shared<spdlog::logger>("", std::make_shared<LogSink>(writer_))); }
  ~ServerLog() { spdlog::set_default_logger(before_); }
  ServerLog(const ServerLog&) = delete;
  ServerLog& operator=(const ServerLog&) = delete;

  // Only the line, without a time or level.
  void write(std::string line) { writer_->write(std::move(line)); }

 private:
  const std::shared_ptr<LineWriter> writer_ =
      LineWriter::over(STDOUT_FILENO, "standard output", [](const std::string&) {});
  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

// Makes the allocator return the small blocks of ended answers: large ones are returned anyway.
class MemoryReturn final : public Job {
 public:
  void begin(HttpServer& http) {
    if (std::exchange(is_under_way_, true)) return;
    http.post_work("", WorkPool::kSmallBytes + 1, *this);
  }

 private:
  void run() noexcept override { give_memory_back(); }
  void then() noexcept override { is_under_way_ = false; }

  bool is_under_way_ = false;
};

// Null: no ready model has these.
engine::EngineThread* thread_of(const ModelRegistry& models, const engine::BlockEvents& events) {
  for (const auto* entries : {&models.entries(), &models.leaving()}) {
    for (const ModelEntry& entry : *entries) {
      if (entry.model != nullptr && entry.model->block_events.get() == &events) return entry.model->thread.get();
    }
  }
  return nullptr;
}

// The parts of a server that can fail to open.
struct ServerParts {
  KeyStore keys;
  AccessLog log;
  std::unique_ptr<PrefixKeeper> prefixes;  // null: not kept
  std::unique_ptr<SlotFolder> slots;       // null: clients cannot save any
  std::unique_ptr<SharedPrefixes> shared;  // null: not shared with other servers
  std::unique_ptr<TraceExporter> traces;   // null: none
  std::unique_ptr<KvPublisher> kv_events;  // null: the cache's events are not published
};

class Server {
 public:
  Server(const ServerOptions& options, ServerParts parts)
      : options_(options),
        parts_(std::move(parts)),
        origins_(
            {options.http.host, options.allowed_hosts, options.cors_origins, !parts_.keys.is_empty(), host_name()}),
        responses_({options.stored_responses_bytes, options.stored_responses_bytes / 4}),
        background_(options.stored_responses_bytes / 2, options.stored_responses_bytes / 8) {}

  Status run(ServerLog& server_log);

 private:
  std::optional<std::string> accept(HttpRequest request, const std::shared_ptr<Reply>& reply);
  void take_or_refuse(Call& call);
  Headers common_headers(const Call& call) const;
  HttpResponse options_of(const HttpRequest& request) const;
  bool allows_page(const HttpRequest& request) const;
  std::optional<ApiError> identify(Call& call) const;
  std::optional<ApiError> admit(Call& call) const;
  void tell_listeners();
  void sample();
  void end_if_idle(Clock::time_point now);
  void drain();
  void finish_drain();
  void cut_off();
  void load_first_model();
  void publish_blocks_of(ServedModel& model);
  std::string url() const;

  const ServerOptions& options_;
  ServerParts parts_;
  OriginPolicy origins_;
  ServerMetrics metrics_;
  ResponseStore responses_;
  BackgroundRecords background_;
  MemoryReturn memory_return_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<ModelRegistry> models_;
  std::unique_ptr<ServerContext> context_;
  Clock::time_point last_asked_ = Clock::now();
  Clock::time_point drain_ends_;
  bool is_cut_off_ = false;
  Status status_;
};

Status Server::run(ServerLog& server_log) {
  RZ_TRY(http_, HttpServer::create(options_.http, [this](HttpRequest request, const auto& reply) {
           return accept(std::move(request), reply);
         }));
  RegistryOptions registry;
  static_cast<ModelServing&>(registry) = static_cast<const ModelServing&>(options_);
  registry.n_answer_bytes = [this] { return context_->answers.n_held_bytes(); };
  if (options_.sleep_idle_s > 0) registry.keep_alive = std::chrono::seconds(options_.sleep_idle_s);
  registry.prefixes = parts_.prefixes.get();
  registry.hash_weights = parts_.slots != nullptr || parts_.shared != nullptr;
  if (parts_.kv_events != nullptr) registry.watch = [this](ServedModel& model) { publish_blocks_of(model); };
  registry.on_progress = [this] { http_->wake(); };
  const auto post_io = [this](std::function<void()> task) { http_->post(std::move(task)); };
  registry.post_io = post_io;
  models_ = std::make_unique<ModelRegistry>(options_.models, std::move(registry));
  context_ = std::make_unique<ServerContext>(
      ServerContext{options_, *http_, *models_, metrics_, responses_, background_, &parts_.log});
  if (!options_.mcp_servers.empty()) {
    mcp::ClientOptions mcp = options_.mcp;
    mcp.on_log = [](const std::string& line) { spdlog::info("{}", line); };
    mcp.on_warning = [](const std::string& line) { spdlog::warn("{}", line); };
    context_->mcp = std::make_unique<McpProxy>(options_.mcp_servers, mcp);
  }
  if (options_.store != nullptr && options_.store->may_change) {
    context_->pulls = std::make_unique<ModelPulls>(*options_.store, post_io);
    context_->downloads =
        std::make_unique<ModelDownloads>(*context_->pulls, context_->model_events, [this] { tell_listeners(); });
  }
  context_->slot_folder = parts_.slots.get();
  context_->shared = parts_.shared.get();
  if (parts_.shared != nullptr) parts_.shared->start(post_io);
  context_->traces = parts_.traces.get();
  models_->set_on_change([this](const ModelChange& change) {
    context_->model_events.add(change);
    tell_listeners();
  });
  http_->set_on_wake([this] { models_->dispatch(); });
  RZ_CHECK_OK(http_->on_stop_signal([this] { drain(); }));
  RZ_CHECK_OK(http_->on_reopen_signal([this] { parts_.log.reopen(); }));
  keep_memory_reserve();
  http_->every(std::chrono::seconds(1), [this] {
    refill_memory_reserve();
    models_->unload_idle();
    if (context_->answers.take_n_freed_bytes() >= kReturnedBytes) memory_return_.begin(*http_);
    const auto now = Clock::now();
    context_->for_each_call([now](Call& call) { call.ping(now); });
    end_if_idle(now);
  });
  http_->every(MetricsHistory::kInterval, [this] { sample(); });
  server_log.write(fmt::format("realizar listens on {}, model {}", url(), options_.models.front().id));
  if (parts_.kv_events != nullptr) {
    spdlog::info("KV events of {} are published at {}{}{}", options_.models.front().id, parts_.kv_events->address(),
                 parts_.kv_events->replay_address().empty() ? "" : ", and repeated at ",
                 parts_.kv_events->replay_address());
  }
  for (const std::string& exposure :
       {parts_.keys.exposure(), exposure_of(options_.http.tls_key, "the TLS key", true)}) {
    if (!exposure.empty()) spdlog::warn("{}", exposure);
  }
  const bool nobody_manages = options_.clients_manage && !parts_.keys.is_empty() && !parts_.keys.has_admin();
  if (nobody_manages) {
    spdlog::warn("no API key is an admin's, so that no client may change models, adapters or what is loaded");
  }
  if (!http_->owner_socket_note().empty()) {
    spdlog::info("other commands of this user do not use this server: {}", http_->owner_socket_note());
  }
  load_first_model();
  sample();
  http_->run();
  if (parts_.shared != nullptr) parts_.shared->stop();
  context_->calls.clear();
  models_.reset();
  parts_.kv_events.reset();
  if (status_.ok() && parts_.prefixes != nullptr) status_ = parts_.prefixes->status();
  return status_;
}

std::string Server::url() const {
  if (is_socket_path(options_.http.host)) return "unix:" + options_.http.host;
  const bool is_ipv6 = options_.http.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", options_.http.tls_cert.empty() ? "http" : "https", is_ipv6 ? "[" : "",
                     options_.http.host, is_ipv6 ? "]" : "", http_->port());
}

// Listeners are notified later, since a resumed call may request another model.
void Server::tell_listeners() {
  http_->post([this] {
    context_->for_each_call([](Call& call) {
      if (call.listens) call.signal_update();
    });
  });
}

// The server ends if this model cannot be loaded; other models may fail by themselves.
void Server::load_first_model() {
  if (!options_.autoload || !options_.preload) return;
  models_->acquire("", 0, [this](const Result<ServedModelPtr>& model) {
    if (model.ok()) return;
    status_ = models_->entries().front().failure.value_or(model.error());
    http_->stop();
  });
}

// Publishes the blocks of the named model, and of no other loaded model: events do not name models. On a loading
// thread.
void Server::publish_blocks_of(ServedModel& model) {
  if (model.id != options_.models.front().id) return;
  engine::Prefixes& prefixes = model.loaded->engine->prefixes();
  model.block_events = prefixes.watch_blocks();
  std::vector<KeyDigest> keys = parts_.keys.digests();
  if (keys.empty()) keys.push_back({});
  KvPublisher::Source source{model.block_events, {}, {}};
  for (const KeyDigest& key : keys) source.roots.push_back(prefixes.blocks().root_hash(cache_salt_of(key, model)));
  source.reach_engine = [this, events = model.block_events] {
    http_->post([this, events] {
      if (engine::EngineThread* thread = thread_of(*models_, *events); thread != nullptr) {
        return thread->visit([events](engine::Engine&) { events->tell_some(); });
      }
      events->wish_again();
    });
  };
  parts_.kv_events->watch(std::move(source));
}

Headers Server::common_headers(const Call& call) const {
  Headers headers{{"X-Request-Id", call.id}};
  if (std::string parent = call.traceparent(); !parent.empty()) headers.emplace_back("traceparent", std::move(parent));
  if (allows_page(call.request)) {
    headers.emplace_back("Access-Control-Allow-Origin", call.request.header("origin"));
    headers.emplace_back("Access-Control-Expose-Headers", std::string(kExposedHeaders));
    headers.emplace_back("Vary", "Origin");
  }
  return headers;
}

// Whether the page of another origin that sent the request may read the answer.
bool Server::allows_page(const HttpRequest& request) const {
  const auto origin = request.header("origin");
  if (!is_plain_header(origin)) return false;
  if (origins_.is_cors_origin(origin)) return true;
  if (!origins_.is_local_page(request)) return false;
  // Before such a request, a browser asks whether its page may send it.
  const std::string_view method =
      request.method == "OPTIONS" ? request.header("access-control-request-method") : request.method;
  const Route* route = find_route(method, request.path, options_.llama_answers).route;
  return route != nullptr && effect_of(*route) == Effect::kAnswer;
}

// The methods of a path, and for pages of allowed origins the headers that they may send: any that they ask for, since
// clients have their own. Some old browsers and proxies require the status 200 for success.
HttpResponse Server::options_of(const HttpRequest& request) const {
  HttpResponse response{200, "", "", {}};
  const std::string allowed = find_route(request.method, request.path, options_.llama_answers).allowed;
  if (!allowed.empty()) response.headers.emplace_back("Allow", allowed);
  if (allows_page(request)) {
    const auto asked = request.header("access-control-request-headers");
    response.headers.emplace_back("Access-Control-Allow-Methods", kAllMethods);
    response.headers.emplace_back("Access-Control-Allow-Headers", is_header_list(asked) ? asked : kUsualHeaders);
    response.headers.emplace_back("Access-Control-Max-Age", "86400");
    response.headers.emplace_back("Vary", "Access-Control-Request-Headers");
  }
  return response;
}

bool is_under_messages(std::string_view path) {
  return path.starts_with("/v1/messages/") || path.starts_with("/messages/");
}

HttpResponse no_route(const Call& call, const RouteMatch& match) {
  const std::string path = shown(call.request.path);
  ApiError error{404, "there is no " + path + " here", "", "not_found"};
  const bool is_batch = is_under_messages(path) && path.find("/batches") != std::string::npos;
  if (is_batch) error.message += ": batches are not built; POST /v1/messages takes each of their requests";
  if (!match.allowed.empty()) error = {405, path + " takes " + match.allowed, "", "method_not_allowed"};
  error.request_id = call.id;
  HttpResponse response = call.protocol->spell_error(error);
  if (match.allowed.empty()) return response;
  response.headers.emplace_back("Allow", match.allowed);
  return response;
}

// A repeated header counts as missing. A tracestate list in several lines is left out.
ServerSpan begin_span_of(const HttpRequest& request) {
  const auto only = [&](const char* name) {
    return request.count(name) == 1 ? request.header(name) : std::string_view();
  };
  return begin_span(only("traceparent"), only("tracestate"));
}

std::optional<HttpResponse> coding_refusal(const Call& call) {
  const std::string_view coding = call.request.header("content-encoding");
  if (call.request.count("content-encoding") <= 1 && body_coding(coding)) return std::nullopt;
  ApiError error{415, fmt::format("Content-Encoding: expected one of {}, actual {}", kBodyCodings, shown(coding)), "",
                 ""};
  error.request_id = call.id;
  HttpResponse response = call.protocol->spell_error(error);
  response.headers.emplace_back("Accept-Encoding", kBodyCodings);
  return response;
}

// Refuses by the header alone, if possible: no body is read from a client that may not send one.
std::optional<std::string> Server::accept(HttpRequest request, const std::shared_ptr<Reply>& reply) {
  const CallPtr begun = Call::begin(*context_, std::move(request), reply);
  Call& call = *begun;
  const Status taken = caught([&] { take_or_refuse(call); });
  if (!taken.ok()) call.fail(taken.error());
  // Connections are cheap: all of an address share the room for bodies.
  std::string sender = parts_.keys.is_empty() ? call.request.client : call.client;
  return call.awaits_body() ? std::optional(std::move(sender)) : std::nullopt;
}

void Server::take_or_refuse(Call& call) {
  const HttpRequest& request = call.request;
  const auto given_id = request.header("x-request-id");
  call.id = is_plain_header(given_id) ? std::string(given_id) : random_id("req_");
  // Routes that probes and scrapers call again and again are not traced.
  if (parts_.traces != nullptr && request.method == "POST") call.span = begin_span_of(request);
  call.headers = common_headers(call);
  call.is_of_local_page = origins_.is_local_page(request);
  RouteMatch match = find_route(request.method, request.path, options_.llama_answers);
  if (request.path.starts_with("/api/")) call.protocol = &kOllama;  // also if there is no such route
  if (is_under_messages(request.path)) call.protocol = &kMessages;
  if (match.route != nullptr) call.protocol = match.route->protocol;
  if (call.protocol == &kPlainProtocol && is_anthropic(request)) call.protocol = &kMessages;
  if (call.protocol->id_header != nullptr) call.headers.emplace_back(call.protocol->id_header, call.id);
  const Effect effect = match.route != nullptr ? effect_of(*match.route) : Effect::kNone;
  if (const auto refusal = origins_.refusal(request, effect)) return call.fail(*refusal);
  if (request.method == "OPTIONS") return call.send(options_of(request));
  if (match.route == nullptr) return call.send(no_route(call, match));
  if (auto refusal = coding_refusal(call)) return call.send(std::move(*refusal));
  call.route = match.route;
  call.path_id = std::move(match.path_id);
  if (const auto refusal = admit(call)) return call.fail(*refusal);
  if (call.is_post()) call.count_as_open();
  if (call.is_post()) last_asked_ = call.arrival;
  if (call.route->before_body != nullptr) call.route->before_body(call);
}

ApiError owners_alone() {
  return {403, "this is for other commands of the server's own user, which have a socket of their own", "",
          "not_allowed"};
}

// Identifies the tenant of the call by its key, and checks its rights. 401 if the route requires a key and the call has
// none, 403 if the route requires more than the key may do.
std::optional<ApiError> Server::identify(Call& call) const {
  const Right right = call.route->right;
  call.tenant = tenant_of(call.request.client);
  if (call.request.is_owner) {
    call.may_manage = true;
    return std::nullopt;
  }
  const bool is_open = options_.open_metrics && std::string_view(call.route->path) == "/metrics";
  if (right == Right::kNone || is_open) return std::nullopt;
  if (parts_.keys.is_empty()) {
    call.may_manage = options_.clients_manage && call.request.is_local && !call.is_of_local_page;
    if (right == Right::kOwner) return owners_alone();
    return right == Right::kKey || call.may_manage ? std::nullopt : std::optional(may_not_manage(call));
  }
  auto key = parts_.keys.find(call.request.header("authorization"));
  for (const char* name : {"x-api-key", "api-key"}) {
    if (!key) key = parts_.keys.find_key(call.request.header(name));
  }
  if (!key) {
    ApiError error{401, "the API key is missing or wrong", "", "invalid_api_key"};
    if (options_.llama_answers) error.type = "authentication_error";
    return error;
  }
  call.key = *key;
  call.tenant = tenant_of(*key);
  call.may_manage = parts_.keys.is_admin(*key);
  if (right == Right::kOwner) return owners_alone();
  if (right != Right::kManage || call.may_manage) return std::nullopt;
  return may_not_manage(call);
}

std::optional<ApiError> Server::admit(Call& call) const {
  if (auto refusal = identify(call)) return refusal;
  call.client = parts_.keys.is_empty() ? fmt::format("connection {}", call.request.connection_id)
                                       : fmt::format("key {}", call.tenant);
  if (!call.is_post()) return std::nullopt;
  if (context_->draining) return ApiError{503, "the server is shutting down", "", "shutting_down"};
  const uint32_t most = options_.max_requests_per_key;
  if (most == 0 || context_->n_open_of(call.tenant) < most) return std::nullopt;
  return ApiError{
      429, fmt::format("this {} has {} requests under way already", parts_.keys.is_empty() ? "address" : "key", most),
      "", "rate_limit_exceeded"};
}

void Server::sample() {
  if (!options_.metrics) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  context_->history.add(metrics_.totals(*models_), std::chrono::duration<double>(now).count());
}

// A client that only listens to changes of models does not keep an idle server running.
void Server::end_if_idle(Clock::time_point now) {
  if (options_.exit_idle_s == 0 || context_->draining) return;
  if (!context_->n_open.empty()) last_asked_ = now;
  if (now - last_asked_ < std::chrono::seconds(options_.exit_idle_s)) return;
  spdlog::info("no requests for {} s: the server ends", options_.exit_idle_s);
  drain();
}

// Lets running requests end, up to a time limit.
void Server::drain() {
  if (options_.on_stop) options_.on_stop();
  context_->draining = true;
  drain_ends_ = Clock::now() + std::chrono::milliseconds(options_.drain_timeout_ms);
  models_->drain();
  http_->stop_accepting();
  context_->for_each_call([](Call& call) {
    if (call.listens) call.interrupt(shutting_down());
  });
  http_->every(std::chrono::milliseconds(50), [this] { finish_drain(); });
  http_->post([this] { finish_drain(); });  // after connections that are closed or accepted by then
}

void Server::finish_drain() {
  const auto now = Clock::now();
  const bool is_over = context_->n_under_way() == 0 && http_->n_connections() == 0;
  if (is_over || now >= drain_ends_ + kLastWords) return http_->stop();
  if (now >= drain_ends_ && !std::exchange(is_cut_off_, true)) cut_off();
}

// Requests that still run when the time is over get an error.
void Server::cut_off() {
  const size_t n_cut = context_->n_under_way();
  if (n_cut == 0) return;
  status_ = Error{
      ErrorCode::kCancelled,
      fmt::format("{} requests were cut off after the drain timeout of {} ms", n_cut, options_.drain_timeout_ms), ""};
  context_->for_each_call([](Call& call) { call.interrupt(shutting_down()); });
}

// Null: prefixes are not shared.
Result<std::unique_ptr<SharedPrefixes>> open_shared(const ServerOptions& options) {
  if (options.cache_url.empty()) return std::unique_ptr<SharedPrefixes>();
  SharedOptions shared;
  RZ_TRY(shared.url, parse_cache_url(options.cache_url));
  if (!options.cache_password_file.empty()) {
    RZ_TRY(shared.password, read_cache_password(options.cache_password_file));
    const std::string exposure = exposure_of(options.cache_password_file, "Redis's password", true);
    if (!exposure.empty()) spdlog::warn("{}", exposure);
  }
  shared.ttl_s = options.cache_ttl_s;
  if (options.cache_wait_ms > 0) shared.wait_ms = options.cache_wait_ms;
  return SharedPrefixes::open(std::move(shared));
}

}  // namespace

Status serve(const ServerOptions& given) {
  ServerOptions options = given;
  if (options.models.empty()) return invalid_argument("expected at least one model", "models");
  return_large_blocks();
  ServerLog server_log;
  if (const uint32_t most = max_connections_under(raise_file_limit()); options.http.max_connections > most) {
    spdlog::warn("the limit of open files leaves room for {} connections, not for {}", most,
                 options.http.max_connections);
    options.http.max_connections = most;
  }
  ServerParts parts;
  if (!options.api_keys_file.empty()) {
    RZ_TRY(parts.keys, KeyStore::read(options.api_keys_file));
  }
  for (const std::string& key : options.api_keys) RZ_CHECK_OK(parts.keys.add(key));
  RZ_TRY(parts.log, AccessLog::open(options.access_log, options.log_prompts));
  if (!options.cache_dir.empty()) {
    RZ_TRY(parts.prefixes, PrefixKeeper::open(options.cache_dir, options.cache_dir_bytes));
    if (options.wipe_cache) RZ_CHECK_OK(parts.prefixes->erase_all());
  }
  if (!options.slot_save_path.empty()) {
    RZ_TRY(parts.slots, SlotFolder::open(options.slot_save_path, options.slot_save_bytes));
  }
  RZ_TRY(parts.shared, open_shared(options));
  if (!options.otlp_endpoint.empty()) {
    RZ_TRY(parts.traces, TraceExporter::open(options.otlp_endpoint, {version(), random_id(""), host_name()}));
  }
  if (!options.kv_events.empty()) {
    RZ_TRY(parts.kv_events, KvPublisher::open({options.kv_events, options.kv_events_replay, options.kv_events_topic}));
  }
  return Server(options, std::move(parts)).run(server_log);
}

}  // namespace realizar::server
