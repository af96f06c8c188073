// The server's own state: models, health, metrics. POST /service/models: a model for another command of the server's
// own user, who may name any of their files.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/backend_numbers.h"
#include "api/loaded_model.h"
#include "hub/partial_file.h"
#include "server/call/context.h"
#include "server/call/request_fields.h"
#include "server/call/store_changes.h"
#include "server/models/model_card.h"
#include "server/models/model_registry.h"
#include "server/routes/routes.h"
#include "server/shared/shared_prefixes.h"
#include "server/watch/access_log.h"
#include "server/watch/metrics.h"
#include "server/watch/metrics_history.h"
#include "server/watch/trace_exporter.h"

namespace realizar::server {
namespace {

const char* to_string(ModelRegistry::State state) {
  constexpr const char* kNames[] = {"unloaded", "loading", "ready", "unloading", "failed"};
  return kNames[static_cast<size_t>(state)];
}

Json default_sampling_json(const SamplingParams& params) {
  Json json;
  for (const SamplingParameter& parameter : kSamplingParameters) {
    if (!parameter.is_told) continue;
    const auto field = parameter.other_field.empty() ? parameter.name : parameter.other_field;
    json[std::string(field)] = parameter_json(parameter, params);
  }
  return json;
}

// Equal to the metrics: scratch and free memory change while the model is used.
Json devices_json(const ServedModel& model) {
  Json devices = Json::array();
  for (const DeviceNumbers& device : numbers_of(*model.loaded->backend).devices) {
    devices.push_back({{"name", device.name},
                       {"weight_bytes", device.weight_bytes},
                       {"kv_bytes", device.kv_bytes},
                       {"scratch_bytes", device.scratch_bytes},
                       {"free_bytes", device.free_bytes},
                       {"total_bytes", device.total_bytes}});
  }
  return devices;
}

Json model_json(const ModelRegistry::Entry& entry) {
  Json json{{"id", entry.source.id},
            {"object", "model"},
            {"created", std::chrono::duration_cast<std::chrono::seconds>(entry.created.time_since_epoch()).count()},
            {"owned_by", "realizar"},
            {"aliases", entry.source.aliases},
            {"tags", entry.source.tags},
            {"status", {{"value", model_status(entry)}}},  // in the format of llama.cpp's router
            {"state", to_string(entry.state)},
            {"loaded", entry.model != nullptr}};
  if (entry.failure) {
    json["status"]["failed"] = true;
    json["error"] = told_failure(entry.source.id, *entry.failure).message;
  }
  if (entry.state == ModelRegistry::State::kLoading) json["progress"] = entry.progress;
  if (entry.model == nullptr) return json;
  const ModelInfo& info = entry.model->loaded->info;
  json["context_length"] = info.n_ctx;
  json["max_model_len"] = info.n_ctx;
  json["architecture"] = info.arch;
  json["n_params"] = info.n_params;
  json["meta"] = {{"n_vocab", info.n_vocab},
                  {"n_ctx_train", info.n_ctx_train},
                  {"n_embd", info.d_model},
                  {"n_params", info.n_params},
                  {"size", info.weight_bytes}};
  json["weight_bytes"] = info.weight_bytes;
  json["kv_bytes"] = info.kv_bytes;
  json["scratch_bytes"] = info.scratch_bytes;
  json["backend"] = info.backend;
  if (!info.gpu_refusal.empty()) json["gpu_refusal"] = info.gpu_refusal;
  json["devices"] = devices_json(*entry.model);
  json["has_chat_template"] = info.has_chat_template;
  const std::string& chat_template = entry.model->loaded->output_source;
  json["has_thinking_switch"] = chat_template.find("enable_thinking") != std::string::npos;
  json["marks_reasoning"] = text::marks_reasoning(entry.model->loaded->output_format);
  json["takes_tools"] = entry.model->loaded->output_format.calls.has_value();
  json["sampling"] = default_sampling_json(entry.model->loaded->generation_config.sampling);
  return json;
}

// A model being downloaded, in the format of llama.cpp's router.
Json download_json(const ModelDownloads::Download& download) {
  return {{"id", download.name},
          {"object", "model"},
          {"created", 0},
          {"owned_by", "realizar"},
          {"status",
           {{"value", "downloading"},
            {"progress", shares_json(download.files)},
            {"done_bytes", download.whole.n_done},
            {"total_bytes", download.whole.n_bytes}}},
          {"state", "downloading"},
          {"loaded", false}};
}

// An adapter, in vLLM's format.
Json adapter_json(const ModelRegistry::Entry& entry, const std::string& adapter) {
  return {{"id", adapted_name(entry.source.id, adapter)},
          {"object", "model"},
          {"created", std::chrono::duration_cast<std::chrono::seconds>(entry.created.time_since_epoch()).count()},
          {"owned_by", "realizar"},
          {"root", adapter},
          {"parent", entry.source.id},
          {"loaded", entry.model != nullptr}};
}

const char* to_string(Lack lack) {
  constexpr const char* kNames[] = {"", "manage_models", "admin_key", "own_machine"};
  return kNames[static_cast<size_t>(lack)];
}

bool may_delete(const Call& call, const ModelRegistry::Entry& entry) {
  const bool is_last = call.context.models.entries().size() == 1;
  const bool is_of_store = entry.source.store_name && may_change_store(call);
  return !is_last && ((entry.source.is_deletable && call.may_manage) || is_of_store);
}

// The memory that --memory-mb leaves.
Json limit_json(const ServerContext& context) {
  uint64_t n_held = context.answers.n_held_bytes();
  for (const auto* entries : {&context.models.entries(), &context.models.leaving()}) {
    for (const ModelEntry& entry : *entries) n_held += entry.model == nullptr ? 0 : entry.model->n_bytes();
  }
  const uint64_t n_most = context.options.memory_bytes;
  return {{"name", "--memory-mb"}, {"free_bytes", n_most - std::min(n_held, n_most)}, {"total_bytes", n_most}};
}

// Details for the chat page's view of models, besides those that every client gets: the content of files, free memory
// and disk, and what the caller may do.
struct ModelDetails {
  std::map<std::string, ModelCardPtr> cards;  // by the model's path
  std::vector<MemoryPlace> memory;
  uint64_t n_disk_bytes = 0;  // free where the store is; 0: not known

  // The details of an entry whose card was read; null if there is none.
  Json of(const Call& call, const ModelRegistry::Entry& entry) const;
  Json of_server(const Call& call) const;
};

// Reads files: for workers.
ModelDetails read_details(ServerContext& context, const std::vector<std::string>& paths) {
  ModelDetails details;
  for (const std::string& path : paths) details.cards[path] = context.client_models->cards.of(path);
  details.memory = memory_places(context.options.load);
  if (const auto& store = context.options.store; store != nullptr) {
    details.n_disk_bytes = hub::free_disk_bytes(store->library.store().root()).value_or(0);
  }
  return details;
}

Json ModelDetails::of(const Call& call, const ModelRegistry::Entry& entry) const {
  const auto found = cards.find(entry.source.path);
  if (found == cards.end()) return nullptr;
  const ModelCard& card = *found->second;
  return {{"file_bytes", card.n_bytes},        {"needed_bytes", card.n_needed_bytes},
          {"architecture", card.arch},         {"quantization", card.quantization},
          {"n_params", card.n_params},         {"n_ctx_train", card.n_ctx},
          {"capabilities", card.capabilities}, {"may_delete", may_delete(call, entry)}};
}

Json ModelDetails::of_server(const Call& call) const {
  Json places = Json::array();
  if (call.context.options.memory_bytes > 0) places.push_back(limit_json(call.context));
  for (const MemoryPlace& place : memory) {
    places.push_back({{"name", place.name}, {"free_bytes", place.free_bytes}, {"total_bytes", place.total_bytes}});
  }
  const Lack lack = what_lacks(call);
  return {{"may_load", call.may_manage},
          {"may_download", lack == Lack::kNothing},
          {"lacks", to_string(lack)},
          {"memory", std::move(places)},
          {"disk_free_bytes", lack == Lack::kNothing ? n_disk_bytes : 0}};
}

std::string_view condition_of(const ServerContext& context) {
  if (context.draining) return "draining";
  if (context.models.any_lost()) return "device lost";
  if (context.models.any_stalled(std::chrono::milliseconds(context.options.stall_timeout_ms))) return "stalled";
  return context.models.has_been_ready() ? "ready" : "loading";
}

Json totals_json(const MetricsTotals& totals) {
  return {{"requests", totals.n_requests},
          {"refused", totals.n_refused},
          {"failed", totals.n_failed},
          {"preemptions", totals.n_preemptions},
          {"prefix_queried_tokens", totals.n_prefix_queried},
          {"prefix_hit_tokens", totals.n_prefix_hits}};
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error;
}

// The served model that would answer like `source`; null: none.
const ModelEntry* find_same(const ModelRegistry& models, const ModelSource& source) {
  for (const ModelEntry& entry : models.entries()) {
    ModelSource other = entry.source;
    if (!is_same_file(other.path, source.path)) continue;
    other.id = source.id;
    other.path = source.path;
    if (is_same_model(other, source)) return &entry;
  }
  return nullptr;
}

Json service_model_json(const ServedModel& model) {
  const ModelInfo& info = model.loaded->info;
  const GenerationConfig& config = model.loaded->generation_config;
  return {{"id", model.id},
          {"path", info.path},
          {"name", info.name},
          {"backend", info.backend},
          {"n_ctx", info.n_ctx},
          {"n_vocab", info.n_vocab},
          {"weight_bytes", info.weight_bytes},
          {"kv_bytes", info.kv_bytes},
          {"scratch_bytes", info.scratch_bytes},
          {"gives_text", info.gives_text},
          {"has_chat_template", info.has_chat_template},
          {"sampling", sampling_json(config.sampling)},
          {"stop", config.stop}};
}

}  // namespace

// With ?reload=1 the folder of models is read again first.
Task<Status> get_models(Call& call) {
  ServerContext& context = call.context;
  if (!query_value(call.request.query, "reload").empty() && context.options.find_models) {
    OnWorker finding(call, WorkPool::kSmallBytes + 1, [&] { return context.options.find_models(); });
    RZ_CO_TRY(std::vector<ModelSource> sources, co_await finding);
    context.models.set_sources(std::move(sources));
    context.model_events.add_reload();
  }
  if (is_anthropic(call.request)) co_return call.finish(get_message_models(call));
  const bool has_details = !query_value(call.request.query, "details").empty();
  ModelDetails details;
  if (has_details) {
    std::vector<std::string> paths;
    for (const auto& entry : context.models.entries()) paths.push_back(entry.source.path);
    OnWorker reading(call, WorkPool::kSmallBytes + 1,
                     [&]() -> Result<ModelDetails> { return read_details(context, paths); });
    RZ_CO_TRY(details, co_await reading);
  }
  Json list = Json::array();
  for (const auto& entry : context.models.entries()) {
    list.push_back(model_json(entry));
    if (has_details) list.back()["details"] = details.of(call, entry);
  }
  for (const auto& entry : context.models.entries()) {
    for (const std::string& adapter : context.models.adapters_of(entry)) list.push_back(adapter_json(entry, adapter));
  }
  if (context.downloads != nullptr) {
    for (const auto& download : context.downloads->list()) list.push_back(download_json(download));
  }
  Json json{{"object", "list"}, {"data", std::move(list)}};
  if (has_details) json["server"] = details.of_server(call);
  co_return call.finish(json_response(json));
}

HttpResponse get_model(const Call& call) {
  if (is_anthropic(call.request)) return get_message_model(call);
  const ModelRegistry& models = call.context.models;
  const auto* entry = models.find_named(call.path_id);
  if (entry != nullptr) return json_response(model_json(*entry));
  const std::string adapter = models.adapter_of(call.path_id);
  if (!adapter.empty()) return json_response(adapter_json(*models.find(call.path_id), adapter));
  return error_response(to_api_error(call.context.models.no_such_model(call.path_id)));
}

HttpResponse get_livez(const Call&) {
  return json_response({{"status", "alive"}});
}

// Ready: a model has answered or could, new work is accepted and makes progress.
HttpResponse get_readyz(const Call& call) {
  const std::string_view condition = condition_of(call.context);
  return json_response({{"status", condition}}, condition == "ready" ? 200 : 503);
}

HttpResponse get_health(const Call& call) {
  const ModelRegistry& models = call.context.models;
  const std::string_view condition = condition_of(call.context);
  const bool is_ready = condition == "ready";
  Json json{{"status", is_ready ? "ok" : condition},
            {"requests_open", models.n_open()},
            {"uptime_s", call.context.metrics.uptime_s()}};
  for (const auto& entry : models.entries()) json["models"][entry.source.id] = to_string(entry.state);
  return json_response(json, is_ready ? 200 : 503);
}

HttpResponse get_version(const Call&) {
  return json_response({{"version", version()}});
}

HttpResponse get_metrics(const Call& call) {
  if (!call.context.options.metrics) {
    return error_response({501, "this server was started without metrics", "", "not_supported"});
  }
  const ServerContext& context = call.context;
  ServerCounts counts{.n_connections = context.http.n_connections(),
                      .n_lost_log_lines = context.access_log->n_lost_lines()};
  if (context.traces != nullptr) counts.spans = {context.traces->n_sent(), context.traces->n_lost()};
  if (context.shared != nullptr) counts.shared = &context.shared->counters();
  std::string text = context.metrics.text(context.models, counts);
  return {
      200,
      "text/plain; version=0.0.4; charset=utf-8",
      std::move(text),
      {{"Process-Start-Time-Unix", std::to_string(unix_now_s() - static_cast<int64_t>(context.metrics.uptime_s()))}}};
}

// The server's activity during its last hour, for the page's charts. "?since=SECONDS" (Unix time) omits the samples
// until then.
HttpResponse get_metrics_history(const Call& call) {
  const ServerContext& context = call.context;
  if (!context.options.metrics) {
    return error_response({404, "metrics are switched off", "", "not_found"});
  }
  constexpr std::string_view kSince = "since=";
  const std::string_view query = call.request.query;
  std::optional<double> since_s;
  if (query.empty()) since_s = 0;
  if (query.starts_with(kSince)) since_s = number_of<double>(query.substr(kSince.size()));
  if (!since_s) return error_response(bad_request("expected no query, or since=SECONDS", "since"));
  const double uptime_s = std::chrono::duration<double>(Clock::now() - context.start).count();
  const Json json{{"interval_s", MetricsHistory::kInterval.count()},
                  {"span_s", MetricsHistory::kInterval.count() * MetricsHistory::kMaxSamples},
                  {"uptime_s", uptime_s},
                  {"totals", totals_json(context.metrics.totals(context.models))},
                  {"samples", context.history.columns(*since_s)}};
  return {200, "application/json", dump(json), {{"Cache-Control", "no-store"}}};
}

Task<Status> post_service_models(Call& call, const Json& body) {
  RZ_CO_TRY(const std::string given, required_text(body, "model", "expected a file, or the name of a model"));
  if (!call.context.options.find_model) co_return Error{ErrorCode::kUnsupported, "no further model is served", "model"};
  OnWorker finding(call, 0, [&] { return call.context.options.find_model(given); });
  RZ_CO_TRY(ModelSource source, co_await finding);
  ModelRegistry& models = call.context.models;
  const ModelEntry* served = find_same(models, source);
  const std::string id = served == nullptr ? source.id : served->source.id;
  if (served == nullptr) {
    // A file that is not a model would stay in the list.
    OnWorker reading(call, 0, [&] { return read_model_card(source.path); });
    const Result<ModelCard> card = co_await reading;
    if (!card.ok()) co_return invalid_argument(card.error().message, "model");
    models.put(std::move(source));
  }
  ModelWait wait(call, id);
  RZ_CO_TRY(const ServedModelPtr model, co_await wait);
  co_return call.finish(json_response(service_model_json(*model)));
}

}  // namespace realizar::server
