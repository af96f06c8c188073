#include "server/server.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/caught.h"
#include "base/memory_reserve.h"
#include "base/printable.h"
#include "server/access_log.h"
#include "server/auth.h"
#include "server/body_coding.h"
#include "server/file_limit.h"
#include "server/metrics.h"
#include "server/origin_policy.h"
#include "server/page.h"
#include "server/process_memory.h"
#include "server/recorded_reply.h"
#include "server/request_fields.h"
#include "server/routes.h"
#include "server/server_log.h"
#include "server/tenant.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxIdBytes = 200;
constexpr size_t kMaxAskedHeadersBytes = 2000;
constexpr const char* kAllMethods = "GET, HEAD, POST, DELETE, OPTIONS";
constexpr std::string_view kUsualHeaders =
    "Authorization, Content-Type, Content-Encoding, X-Request-Id, X-Trace, traceparent, tracestate";
constexpr auto kLastWords = std::chrono::seconds(1);  // for errors of what was cut off to reach its clients

// What clients send as an id comes back in a header and in the log: printable ASCII only.
bool is_plain(std::string_view text) {
  return !text.empty() && text.size() <= kMaxIdBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

// Names of headers with commas between them.
bool is_header_list(std::string_view text) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~, ";  // RFC 9110, section 5.6.2
  const auto may_stand = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kMarks.find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= kMaxAskedHeadersBytes && std::all_of(text.begin(), text.end(), may_stand);
}

std::string now_iso8601() {
  const auto now = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  return fmt::format("{}.{:03}Z", text, ms % 1000);
}

class Server {
 public:
  Server(const ServerOptions& options, KeyStore keys, AccessLog log, std::unique_ptr<PrefixKeeper> prefixes)
      : options_(options),
        keys_(std::move(keys)),
        origins_({options.http.host, options.allowed_hosts, options.cors_origins, !keys_.is_empty()}),
        log_(std::move(log)),
        responses_({options.stored_responses_bytes, options.stored_responses_bytes / 4}),
        prefixes_(std::move(prefixes)) {}

  Status run(const std::function<void(const std::string&)>& on_listening);

 private:
  std::optional<BodyTaker> accept(const std::shared_ptr<const HttpRequest>& request,
                                  const std::shared_ptr<Reply>& reply);
  Headers common_headers(const Call& call) const;
  void answer_options(const HttpRequest& request, Reply& reply) const;
  bool allows_origin(std::string_view origin) const;
  bool admit(Call& call, const Route& route);
  BodyTaker taker_of(Call call, const Route& route) const;
  void sample();
  void record(const Call& call, const std::string& route, int status);
  void drain();
  void finish_drain();
  void cut_off();
  void load_first_model();

  const ServerOptions& options_;
  KeyStore keys_;
  OriginPolicy origins_;
  AccessLog log_;
  ServerMetrics metrics_;
  ResponseStore responses_;
  std::unique_ptr<PrefixKeeper> prefixes_;  // null: none are kept
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<ModelRegistry> models_;
  std::unique_ptr<ServerContext> context_;
  std::map<uint64_t, uint32_t> n_open_;            // generating calls of each tenant that has some
  std::unordered_map<const Reply*, Reply*> open_;  // the replies under way, by the connection's own
  Clock::time_point drain_ends_;
  bool is_cut_off_ = false;
  Status status_;
};

Status Server::run(const std::function<void(const std::string&)>& on_listening) {
  RZ_TRY(http_, HttpServer::create(options_.http, [this](auto request, auto reply) { return accept(request, reply); }));
  RegistryOptions registry;
  registry.load = options_.load;
  registry.max_queue = options_.max_queue;
  registry.strict_names = options_.strict_model_names;
  registry.memory_bytes = options_.memory_bytes;
  registry.prefixes = prefixes_.get();
  registry.on_progress = [this] { http_->wake(); };
  registry.post_io = [this](std::function<void()> task) { http_->post(std::move(task)); };
  models_ = std::make_unique<ModelRegistry>(options_.models, std::move(registry));
  context_ = std::make_unique<ServerContext>(
      ServerContext{options_, *http_, *models_, metrics_, responses_, {}, false, &log_});
  http_->set_on_wake([this] { models_->dispatch(); });
  RZ_CHECK_OK(http_->on_stop_signal([this] { drain(); }));
  keep_memory_reserve();
  http_->every(std::chrono::seconds(1), [this] {
    refill_memory_reserve();
    const auto now = Clock::now();
    for (Completion* completion : std::vector(context_->streaming.begin(), context_->streaming.end())) {
      completion->ping(now);
    }
  });
  http_->every(MetricsHistory::kInterval, [this] { sample(); });
  const bool is_ipv6 = options_.http.host.find(':') != std::string::npos;
  if (options_.page && !page_html().empty()) static_cast<void>(page_files());
  on_listening(fmt::format("{}://{}{}{}:{}", options_.http.tls_cert.empty() ? "http" : "https", is_ipv6 ? "[" : "",
                           options_.http.host, is_ipv6 ? "]" : "", http_->port()));
  if (!keys_.exposure().empty()) spdlog::warn("{}", keys_.exposure());
  load_first_model();
  sample();
  http_->run();
  models_.reset();
  if (status_.ok() && prefixes_ != nullptr) status_ = prefixes_->status();
  return status_;
}

// A server whose model cannot be loaded ends; further models may fail alone.
void Server::load_first_model() {
  models_->acquire("", [this](const Result<ServedModelPtr>& model) {
    if (model.ok()) return;
    status_ = models_->entries().front().failure.value_or(model.error());
    http_->stop();
  });
}

Headers Server::common_headers(const Call& call) const {
  const HttpRequest& request = *call.request;
  Headers headers{{"X-Request-Id", call.id}};
  if (!call.record->warning.empty()) headers.emplace_back("X-Realizar-Warning", call.record->warning);
  if (const auto parent = request.header("traceparent"); is_plain(parent)) headers.emplace_back("traceparent", parent);
  const auto origin = request.header("origin");
  if (!origin.empty() && allows_origin(origin)) {
    headers.emplace_back("Access-Control-Allow-Origin", origin);
    headers.emplace_back("Access-Control-Expose-Headers", "X-Request-Id, X-Realizar-Warning, Retry-After");
    headers.emplace_back("Vary", "Origin");
  }
  return headers;
}

bool Server::allows_origin(std::string_view origin) const {
  return is_plain(origin) && origins_.is_cors_origin(origin);
}

// What a path takes, and to pages of allowed origins what they may send: any header that they ask for, since clients
// have their own.
void Server::answer_options(const HttpRequest& request, Reply& reply) const {
  HttpResponse response{204, "", "", {}};
  const std::string allowed = find_route(request.method, request.path).allowed;
  if (!allowed.empty()) response.headers.emplace_back("Allow", allowed);
  if (allows_origin(request.header("origin"))) {
    const auto asked = request.header("access-control-request-headers");
    response.headers.emplace_back("Access-Control-Allow-Methods", allowed.empty() ? kAllMethods : allowed);
    response.headers.emplace_back("Access-Control-Allow-Headers", is_header_list(asked) ? asked : kUsualHeaders);
    response.headers.emplace_back("Access-Control-Max-Age", "86400");
    response.headers.emplace_back("Vary", "Access-Control-Request-Headers");
  }
  reply.send(std::move(response));
}

HttpResponse no_route(const HttpRequest& request, const RouteMatch& match) {
  if (match.allowed.empty()) {
    return error_response({404, "there is no " + shown(request.path) + " here", "", "not_found"});
  }
  HttpResponse response =
      error_response({405, shown(request.path) + " takes " + match.allowed, "", "method_not_allowed"});
  response.headers.emplace_back("Allow", match.allowed);
  return response;
}

std::optional<HttpResponse> coding_refusal(const HttpRequest& request) {
  const std::string_view coding = request.header("content-encoding");
  if (request.count("content-encoding") <= 1 && body_coding(coding)) return std::nullopt;
  HttpResponse response = error_response(
      {415, fmt::format("Content-Encoding: expected one of {}, actual {}", kBodyCodings, shown(coding)), "", ""});
  response.headers.emplace_back("Accept-Encoding", kBodyCodings);
  return response;
}

// Answers what can be refused by the header alone: nobody's body is read who may not send one.
std::optional<BodyTaker> Server::accept(const std::shared_ptr<const HttpRequest>& request,
                                        const std::shared_ptr<Reply>& reply) {
  const auto given_id = request->header("x-request-id");
  const std::string id = is_plain(given_id) ? std::string(given_id) : random_id("req_");
  Call call{*context_, request, nullptr, nullptr, id, {}, 0, Clock::now(), std::make_shared<CallRecord>()};
  auto route_name = std::make_shared<std::string>("none");
  auto tenant = std::make_shared<uint64_t>(0);
  auto counted = std::make_shared<bool>(false);
  const Call for_record = call;
  call.reply = RecordedReply::over(
      reply, [this, for_record] { return common_headers(for_record); },
      [this, inner = reply.get(), for_record, route_name, tenant, counted](int status) {
        open_.erase(inner);
        if (*counted && --n_open_[*tenant] == 0) n_open_.erase(*tenant);
        static_cast<void>(caught([&] { record(for_record, *route_name, status); }));
        if (context_->draining) finish_drain();
      });
  open_[reply.get()] = call.reply.get();
  if (const auto refusal = origins_.refusal(*request)) {
    call.reply->send(error_response(*refusal));
    return std::nullopt;
  }
  if (request->method == "OPTIONS") {
    answer_options(*request, *call.reply);
    return std::nullopt;
  }
  RouteMatch match = find_route(request->method, request->path);
  const Route* route = match.route;
  if (route == nullptr) {
    call.reply->send(no_route(*request, match));
    return std::nullopt;
  }
  call.path_id = std::move(match.path_id);
  if (const auto refusal = coding_refusal(*request)) {
    call.reply->send(*refusal);
    return std::nullopt;
  }
  *route_name = route->path;
  if (!admit(call, *route)) return std::nullopt;
  if (std::string_view(route->method) == "POST") {
    *tenant = call.tenant;
    *counted = true;
    ++n_open_[call.tenant];
  }
  return taker_of(std::move(call), *route);
}

BodyTaker Server::taker_of(Call call, const Route& route) const {
  BodyTaker taker;
  const bool has_key = !keys_.is_empty();
  call.client =
      has_key ? fmt::format("key {}", call.tenant) : fmt::format("connection {}", call.request->connection_id);
  // Connections cost little: all of an address share the room for bodies.
  taker.client = has_key ? call.client : call.request->peer;
  taker.refuse = [reply = call.reply](int status, std::string message) {
    reply->send(error_response({status, std::move(message), "", ""}));
  };
  taker.take = [call = std::move(call), &route](HttpBody body) mutable {
    const auto reply = call.reply;
    answering(*reply, [&] {
      call.start = Clock::now();
      call.body = std::make_shared<HttpBody>(std::move(body));
      route.handle(std::move(call));
    });
  };
  return taker;
}

// Checks the key and its limits; false where the call was refused.
bool Server::admit(Call& call, const Route& route) {
  call.tenant = tenant_of(call.request->peer);
  if (!keys_.is_empty() && route.needs_key) {
    const auto key = keys_.find(call.request->header("authorization"));
    if (!key) {
      call.reply->send(error_response({401, "the API key is missing or wrong", "", "invalid_api_key"}));
      return false;
    }
    call.key = *key;
    call.tenant = tenant_of(*key);
  }
  const bool generates = std::string_view(route.method) == "POST";
  if (generates && context_->draining) {
    call.reply->send(error_response({503, "the server is shutting down", "", "shutting_down"}));
    return false;
  }
  const uint32_t most = options_.max_requests_per_key;
  const auto open = n_open_.find(call.tenant);
  if (generates && most > 0 && open != n_open_.end() && open->second >= most) {
    call.reply->send(error_response(
        {429, fmt::format("this {} has {} requests under way already", keys_.is_empty() ? "address" : "key", most), "",
         "rate_limit_exceeded"}));
    return false;
  }
  return true;
}

void Server::record(const Call& call, const std::string& route, int status) {
  metrics_.count_http(route, status);
  if (!log_.is_on()) return;
  const CallRecord& r = *call.record;
  Json line{{"time", now_iso8601()},
            {"request_id", call.id},
            {"peer", call.request->peer},
            {"method", call.request->method},
            {"path", call.request->path},
            {"status", status},
            {"total_ms", std::chrono::duration<double, std::milli>(Clock::now() - call.start).count()}};
  if (const auto parent = call.request->header("traceparent"); is_plain(parent)) line["traceparent"] = parent;
  if (!r.model.empty()) {
    line.update(Json{{"model", r.model},
                     {"n_prompt", r.n_prompt},
                     {"n_cached", r.n_cached},
                     {"n_generated", r.n_generated},
                     {"queue_ms", r.queue_ms},
                     {"prefill_ms", r.prefill_ms},
                     {"first_token_ms", r.first_token_ms},
                     {"decode_ms", r.decode_ms},
                     {"finish_reason", r.finish_reason}});
  }
  for (const auto& [n_prompt, n_cached, n_generated] : r.prompts) {
    line["prompts"].push_back({{"n_prompt", n_prompt}, {"n_cached", n_cached}, {"n_generated", n_generated}});
  }
  if (!r.warning.empty()) line["warning"] = r.warning;
  if (!r.prompt.empty()) line["prompt"] = r.prompt;
  log_.write(line);
}

void Server::sample() {
  if (!options_.metrics) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  context_->history.add(metrics_.totals(*models_), std::chrono::duration<double>(now).count());
}

// Lets what runs end, up to a limit.
void Server::drain() {
  context_->draining = true;
  drain_ends_ = Clock::now() + std::chrono::milliseconds(options_.drain_timeout_ms);
  models_->drain();
  http_->stop_accepting();
  http_->every(std::chrono::milliseconds(50), [this] { finish_drain(); });
  finish_drain();
}

void Server::finish_drain() {
  const auto now = Clock::now();
  const bool is_over = open_.empty() && http_->n_connections() == 0;
  if (is_over || now >= drain_ends_ + kLastWords) return http_->stop();
  if (now >= drain_ends_ && !std::exchange(is_cut_off_, true)) cut_off();
}

// What is under way when the time is over is told so.
void Server::cut_off() {
  if (open_.empty()) return;
  status_ = Error{
      ErrorCode::kCancelled,
      fmt::format("{} requests were cut off after the drain timeout of {} ms", open_.size(), options_.drain_timeout_ms),
      ""};
  const Error error{ErrorCode::kResourceExhausted, "the server is shutting down", "shutdown"};
  const std::unordered_map<const Reply*, Reply*> cut = open_;
  for (const auto& [inner, reply] : cut) {
    if (open_.contains(inner)) fail(*reply, error);
  }
}

}  // namespace

Status serve(const ServerOptions& given, const std::function<void(const std::string&)>& on_listening) {
  ServerOptions options = given;
  if (options.models.empty()) return invalid_argument("expected at least one model", "models");
  return_large_blocks();
  const ServerLog server_log;
  if (const uint32_t most = max_connections_under(raise_file_limit()); options.http.max_connections > most) {
    spdlog::warn("the limit of open files leaves room for {} connections, not for {}", most,
                 options.http.max_connections);
    options.http.max_connections = most;
  }
  KeyStore keys;
  if (!options.api_keys_file.empty()) {
    RZ_TRY(keys, KeyStore::read(options.api_keys_file));
  }
  for (const std::string& key : options.api_keys) RZ_CHECK_OK(keys.add(key));
  RZ_TRY(AccessLog log, AccessLog::open(options.access_log));
  std::unique_ptr<PrefixKeeper> prefixes;
  if (!options.cache_dir.empty()) {
    RZ_TRY(prefixes, PrefixKeeper::open(options.cache_dir, options.cache_dir_bytes));
    if (options.wipe_cache) RZ_CHECK_OK(prefixes->erase_all());
  }
  return Server(options, std::move(keys), std::move(log), std::move(prefixes)).run(on_listening);
}

}  // namespace realizar::server
