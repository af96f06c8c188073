#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "backend/cuda/device/device_list.h"
#include "base/try.h"
#include "cli/background.h"
#include "cli/command.h"
#include "cli/mcp_flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/rank_job.h"
#include "cli/served_models.h"
#include "cli/serving_defaults.h"
#include "cli/store_flags.h"
#include "hub/user_folders.h"
#include "server/http/origin_policy.h"
#include "server/server.h"
#include "server/watch/line_writer.h"

namespace realizar::cli {
namespace {

struct ServeArgs {
  ServedModelArgs models;
  LoadFlags load;
  ServingDefaults defaults;
  server::ServerOptions options;
  McpFlags mcp;
  bool manages_models = false, in_background = false;
  uint64_t memory_mb = 0, cache_dir_mb = 1024, slot_save_mb = 4096;
};

Status list_mcp_servers(ServeArgs& args) {
  RZ_TRY(mcp::ServerList list, args.mcp.read());
  args.options.mcp_servers = std::move(list.servers);
  args.options.mcp = args.mcp.client_options();
  return {};
}

// Opens the store if clients may change models; settings for downloads are then read at the start.
Status open_store(ServeArgs& args) {
  if (!args.manages_models) return {};
  RZ_TRY(hub::HubSettings hub, args.load.store.hub_settings());
  args.options.store =
      std::make_shared<const server::ModelStore>(server::ModelStore{args.load.store.library(), std::move(hub), true});
  return {};
}

// Enough for a few whole contexts; longer queues wait, and requests that no longer fit are preempted.
constexpr uint32_t kDefaultContexts = 4;
constexpr uint32_t kMoreAdapters = 4;  // that clients may load, in addition to those of the command line

Status make_room_for_adapters(server::ServerOptions& options) {
  if (options.lora_dir.empty()) return {};
  std::error_code error;
  if (!std::filesystem::is_directory(options.lora_dir, error)) {
    return not_found("--lora-dir: there is no folder " + options.lora_dir, "lora_dir");
  }
  if (options.load.adapters.n_slots > 0) return {};
  size_t n_most = 0;
  for (const auto& model : options.models) n_most = std::max(n_most, model.adapters.size());
  options.load.adapters.n_slots = static_cast<uint32_t>(n_most) + kMoreAdapters;
  return {};
}

// If no model was named, a line lists the served ones. Nobody has chosen other programs' models for this server, so
// none of them is loaded before it is requested.
void settle_unnamed(ServeArgs& args) {
  if (!args.models.models.empty() || !args.models.folder.empty()) return;
  const server::ModelSource& first = args.options.models.front();
  if (first.store_name) return;
  args.models.with_bundled = first.path == hub::bundled_file();
  if (args.models.with_bundled) {
    return warn(fmt::format("no model was named, and no other is on this machine: {}, is served", bundled_text()));
  }
  args.options.preload = false;
  warn(
      "no model was named: those of other programs that realizar list shows are served, each loaded when it is asked "
      "for");
}

// A step has at least one token of each sequence, with its speculative tokens.
void make_room_for_steps(LoadOptions& options) {
  const uint32_t n_least = options.batch.max_seqs * (1 + options.draft.n_tokens);
  if (options.batch.max_tokens >= n_least) return;
  warn(
      fmt::format("--batch-tokens is {0} and not {1}: a step has room for a token of each of {2} sequences "
                  "(--max-seqs), and for {3} proposed tokens of each (--draft-tokens)",
                  n_least, options.batch.max_tokens, options.batch.max_seqs, options.draft.n_tokens));
  options.batch.max_tokens = n_least;
}

Status check_shared_cache(const server::ServerOptions& options) {
  const bool has_rest = !options.cache_password_file.empty() || options.cache_wait_ms > 0;
  if (options.cache_url.empty() && has_rest) {
    return invalid_argument(
        "--cache-password-file and --cache-wait-ms are for the Redis of --cache-url, which is not given", "cache_url");
  }
  if (options.cache_ttl_s == 0) return invalid_argument("--cache-ttl-s: expected 1 or more, actual 0", "cache_ttl_s");
  return {};
}

// Events do not name a model, and a message's topic is the server's.
Status check_kv_events(const server::ServerOptions& options) {
  const bool is_wanted = !options.kv_events.empty();
  if (!is_wanted && !(options.kv_events_replay.empty() && options.kv_events_topic.empty())) {
    return invalid_argument(
        "--kv-events-replay and --kv-events-topic are for what --kv-events publishes, which is not "
        "given",
        "kv_events");
  }
  if (!is_wanted || options.models.size() == 1) return {};
  return invalid_argument(fmt::format("--kv-events: events name no model, and {} are served; name one, and start a "
                                      "server for each",
                                      options.models.size()),
                          "kv_events");
}

Result<int> serve(ServeArgs& args) {
  if (args.in_background) return start_in_background();
  server::ServerOptions& options = args.options;
  args.models.with_store = args.manages_models;
  args.models.adapters = std::exchange(args.load.options.adapters.sources, {});
  auto models = find_served_models(args.models, args.load.store);
  if (!models.ok()) return fail(models.error());
  // The reader of standard error may not read it, and the server does not wait.
  const auto warnings = server::LineWriter::over(STDERR_FILENO, "standard error", [](const std::string&) {});
  const WarningsGoTo writer([&](std::string line) { warnings->write(std::move(line)); });
  if (auto status = open_store(args); !status.ok()) return fail(status.error());
  options.models = std::move(*models);
  settle_unnamed(args);
  args.models.pull = false;  // models that are looked up again while the server runs are not downloaded
  options.find_models = [models = args.models, store = args.load.store] { return find_served_models(models, store); };
  options.find_model = [store = args.load.store](const std::string& given) { return find_later_model(store, given); };
  options.http.owner_fd = take_passed_socket();
  if (const auto socket = hub::service_socket()) options.http.owner_socket = socket->string();
  if (auto status = args.defaults.put_into(options); !status.ok()) return fail(status.error());
  if (options.http.tls_cert.empty() != options.http.tls_key.empty()) {
    return fail(invalid_argument("--tls-cert and --tls-key go together", "tls_cert"));
  }
  if (options.http.max_bodies_bytes < options.http.max_body_bytes) {
    return fail(invalid_argument("--max-bodies-bytes is for all bodies: expected at least --max-body-bytes",
                                 "max_bodies_bytes"));
  }
  if (options.max_answers_bytes < options.max_answer_bytes) {
    return fail(invalid_argument("--max-answers-bytes is for all answers: expected at least --max-answer-bytes",
                                 "max_answers_bytes"));
  }
  if (options.wipe_cache && options.cache_dir.empty()) {
    return fail(invalid_argument("--wipe-cache is for the folder of --cache-dir, which is not given", "wipe_cache"));
  }
  if (auto status = check_shared_cache(options); !status.ok()) return fail(status.error());
  if (auto status = check_kv_events(options); !status.ok()) return fail(status.error());
  options.clients_manage = args.manages_models || args.models.are_deletable || !options.lora_dir.empty() ||
                           options.llama_answers || !options.autoload;
  options.load = args.load.options;
  options.load.ranks = RankJob::ranks_to_serve_with();
  options.on_stop = RankJob::note_stop;
  make_room_for_steps(options.load);
  options.load.cache.n_contexts = kDefaultContexts;
  if (auto status = list_mcp_servers(args); !status.ok()) return fail(status.error());
  if (auto status = make_room_for_adapters(options); !status.ok()) return fail(status.error());
  const bool is_local = server::is_loopback(options.http.host) || server::is_socket_path(options.http.host);
  if (!is_local && options.api_keys_file.empty() && options.api_keys.empty()) {
    warn(fmt::format("whoever reaches {} may use this server{}; --api-keys FILE asks for a key", options.http.host,
                     options.mcp_servers.empty() ? "" : ", and call the tools of the MCP servers"));
  }
  if (!cuda::is_built() || options.load.backend == BackendChoice::kCpu) warn_of_gpu_options(options.load);
  options.memory_bytes = args.memory_mb << 20;
  options.cache_dir_bytes = args.cache_dir_mb << 20;
  options.slot_save_bytes = args.slot_save_mb << 20;
  const auto status = server::serve(options);
  return status.ok() ? kOk : fail(status.error());
}

void add_model_flags(Flags flags, ServeArgs& args) {
  flags = flags.advanced();
  flags.option("--tags", args.models.tags,
               "Tags of the model in GET /v1/models, separated by commas; ID=TAG if several are served",
               {.shown_as = "[ID=]TAG[,TAG]"});
  flags.option("--models-max", args.options.max_loaded,
               "Keep at most N models loaded at once; the least recently used one is unloaded; 0: no limit",
               {.has_default = true});
  flags.flag_off("--no-models-autoload", args.options.autoload,
                 "Only load models by POST /models/load; requests for others get 400");
  flags.flag_off("--no-preload", args.options.preload,
                 "Load no model at the start: the first one is also loaded when it is requested");
  flags.flag("--delete-models", args.models.are_deletable,
             "Let clients delete models of --models-dir, files and all (DELETE /models)");
  flags.flag("--manage-models", args.manages_models,
             "Let admins (without keys: clients on this machine) download, create, copy, load and delete models of the "
             "store, which is served too");
  flags.option("--sleep-idle-seconds", args.options.sleep_idle_s,
               "Unload a model that was not used for N seconds; the next request loads it again; 0: never",
               {.has_default = true});
  flags.option("--keep-alive", args.options.exit_idle_s, "End the server after N seconds without requests; 0: never",
               {.has_default = true});
}

void add_engine_flags(Flags flags, ServeArgs& args) {
  args.load.options.batch.max_seqs = 64;
  args.load.add_serving_to(flags.group("Engine").advanced());
  flags = flags.group("Engine").advanced();
  flags.option("--lora-default", args.models.default_adapters,
               "The adapter of requests that name none; ID:NAME if several models are served",
               {.shown_as = "[ID:]NAME"});
  flags.option("--lora-dir", args.options.lora_dir,
               "Folder of adapters that clients may load and unload; without it, and without --lora, there are none",
               {.takes = kFolder});
  flags.option("--max-queue", args.options.max_queue, "Let at most N requests wait for a model; further ones get 429",
               {.has_default = true});
  flags.option("--cache-dir", args.options.cache_dir,
               "Folder that keeps cached prefixes, and so prompts, over restarts; created if it is missing",
               {.takes = kFolder});
  flags.option("--cache-dir-mb", args.cache_dir_mb, "Keep at most N MB there for each model", {.has_default = true});
  flags.flag("--wipe-cache", args.options.wipe_cache,
             "First overwrite with zeroes and remove everything in --cache-dir, for all models");
  flags.option("--cache-url", args.options.cache_url,
               "Redis by which servers share cached prefixes, and so prompts: redis://[USER@]HOST[:PORT][/DB], or "
               "rediss:// for TLS",
               {.shown_as = "URL"});
  flags.option("--cache-password-file", args.options.cache_password_file, "File with its password in the first line",
               {.takes = kFile});
  flags.option("--cache-ttl-s", args.options.cache_ttl_s, "Make it drop stored prefixes after N seconds",
               {.has_default = true});
  flags.option("--cache-wait-ms", args.options.cache_wait_ms,
               "Let a request wait for it at most N ms; 0: as long as computing would take", {.has_default = true});
  flags.option(
      "--kv-events", args.options.kv_events,
      "Publish over ZeroMQ, as vLLM does, which KV blocks are cached, for routers (llm-d, Dynamo): tcp://*:5557 "
      "waits for them, tcp://HOST:PORT goes to one. They learn the prompts",
      {.shown_as = "ENDPOINT"});
  flags.option("--kv-events-replay", args.options.kv_events_replay,
               "Replay messages that a router has missed at this address: tcp://*:5558", {.shown_as = "ENDPOINT"});
  flags.option("--kv-events-topic", args.options.kv_events_topic,
               "Topic of these messages; llm-d expects kv@HOST:PORT@MODEL, with its address of this server",
               {.shown_as = "TEXT"});
  flags.option("--slot-save-path", args.options.slot_save_path,
               "Folder where clients save the cached part of a prompt, under a name, and restore it from (POST "
               "/slots/ID); created if it is missing",
               {.takes = kFolder});
  flags.option("--slot-save-mb", args.slot_save_mb, "Let each API key save at most N MB there", {.has_default = true});
  flags.option("--memory-mb", args.memory_mb, "Use at most N MB for weights and caches of all models; 0: no limit",
               {.has_default = true});
}

void add_http_flags(Flags flags, ServeArgs& args) {
  server::ServerOptions& options = args.options;
  flags = flags.group("Server").advanced();
  flags.option("--host", options.http.host, "Address to listen on, 0.0.0.0 for all, or the path of a Unix socket",
               {.has_default = true, .is_common = true});
  flags.option("--port", options.http.port, "Port; 0: any free one", {.has_default = true, .is_common = true});
  flags.option("--tls-cert", options.http.tls_cert, "Certificate chain (PEM); with --tls-key: HTTPS",
               {.is_common = true, .takes = kFile});
  flags.option("--tls-key", options.http.tls_key, "Private key (PEM)", {.is_common = true, .takes = kFile});
  flags.option(
      "--api-keys", options.api_keys_file,
      "File with one key, or sha256:HEX, per line, after \"admin \" one that may change the server for others; "
      "requests without one of them get 401",
      {.is_common = true, .takes = kFile});
  flags.option("--api-key", options.api_keys,
               "An API key; may be repeated. Other users of this machine can see it in the list of processes; "
               "--api-keys hides keys in a file",
               {.shown_as = "KEY"});
  flags.option("--max-requests-per-key", options.max_requests_per_key,
               "Requests of one key (of one address, if there are no keys) that may run or wait at once; 0: no limit",
               {.has_default = true});
  flags.option("--max-prompt-tokens", options.max_prompt_tokens, "Longer prompts are refused; 0: the context",
               {.has_default = true});
  flags.option("--request-timeout-ms", options.request_timeout_ms,
               "Time from a request's arrival to its end; 0: no limit", {.has_default = true});
  flags.option("--drain-timeout-ms", options.drain_timeout_ms, "Time that running requests have after SIGTERM",
               {.has_default = true});
  flags.option("--stall-timeout-ms", options.stall_timeout_ms,
               "Time without progress, in a model that has requests, after which /readyz answers 503",
               {.has_default = true});
  flags.option("--max-body-bytes", options.http.max_body_bytes, "Larger bodies are refused", {.has_default = true});
  flags.option("--max-bodies-bytes", options.http.max_bodies_bytes,
               "Total bytes of all bodies; beyond that: 503. The first 64 KB of each do not count",
               {.has_default = true});
  flags.option("--max-answer-bytes", options.max_answer_bytes, "Memory of one request's answers; beyond that: 400",
               {.has_default = true});
  flags.option("--max-answers-bytes", options.max_answers_bytes,
               "Memory of all answers that are sent whole; beyond that: 429. The first 64 KB of each do not count",
               {.has_default = true});
  flags.option("--max-header-bytes", options.http.max_header_bytes, "Larger headers are refused",
               {.has_default = true});
  flags.option("--max-connections", options.http.max_connections, "Connections at once; further ones are closed",
               {.has_default = true});
  flags.option("--max-connections-per-address", options.http.max_connections_per_address,
               "Connections of one address at once; further ones are closed; 0: no limit", {.has_default = true});
  flags.option(
      "--trusted-proxy", options.http.trusted_proxies,
      "Address or network (10.0.0.0/8) of a proxy, whose header X-Forwarded-For says which client a request is "
      "from; may be repeated",
      {.shown_as = "ADDRESS"});
  flags.option("--header-timeout-ms", options.http.header_timeout_ms, "Time for a request's headers to arrive",
               {.has_default = true});
  flags.option("--body-timeout-ms", options.http.body_timeout_ms,
               "Time for its body to arrive, or for each 64 KB of an upload", {.has_default = true});
  flags.option("--idle-timeout-ms", options.http.idle_timeout_ms, "Time between the requests of a connection",
               {.has_default = true});
  flags.option("--write-timeout-ms", options.http.write_timeout_ms, "Time for a client to take a byte",
               {.has_default = true});
  flags.option("--sse-ping-interval", options.ping_interval_s,
               "Time between keep-alive comments of a stream that sends nothing else; 0: none",
               {.shown_as = "SECONDS", .has_default = true});
  flags.option("--cors-origin", options.cors_origins,
               "Origin whose pages may call; may be repeated; chrome-extension://*: all of a scheme; *: any");
  flags.option(
      "--allowed-host", options.allowed_hosts,
      "Name by which clients may reach a server that asks for no key; may be repeated; *: any. On loopback only "
      "loopback's names and these are answered");
  flags.option("--access-log", options.access_log, "Write a JSON line for each request; -: standard error",
               {.is_common = true, .takes = kNewFile});
  flags.option("--otlp-endpoint", options.otlp_endpoint,
               "Send a trace of each request to this collector of OpenTelemetry's (OTLP over HTTP, in JSON); without a "
               "path: to /v1/traces there",
               {.shown_as = "URL"});
  flags.option("--stored-responses-bytes", options.stored_responses_bytes,
               "Memory for responses that later ones may continue, a quarter of it for each key; 0: none are stored",
               {.has_default = true});
  flags.flag("--log-prompts", options.log_prompts,
             "Write prompts into the access log, which then only its owner can read");
  flags.flag("--trace-operations", options.trace_operations,
             "Time every operation of requests with the header X-Trace: operations, for their answers' `trace`; their "
             "steps take longer, for others too");
  flags.flag("--llama-answers", options.llama_answers,
             "Answer like llama-server if its answers differ from those of OpenAI's API");
  flags.flag_off("--no-slots", options.slots, "Do not serve GET /slots");
  flags.flag_off("--no-page", options.page, "Do not serve the chat page");
  flags.flag_off("--no-metrics", options.metrics, "Do not serve /metrics");
  flags.flag("--open-metrics", options.open_metrics, "Serve /metrics to everybody, even if keys are required");
}

}  // namespace

void add_serve(CommandLine& line) {
  auto args = std::make_shared<ServeArgs>();
  Flags flags = line.command("serve", "Serve models over HTTP: OpenAI's API, metrics, a chat page");
  flags.option(
      "models,-m,--model", args->models.models,
      "Models: PATH or NAME, or ID=PATH or ID=NAME. The first is loaded at the start, the others when they are "
      "requested. Without any, all models that realizar list shows are served: the most recently pulled one is "
      "loaded at the start. If there are none, the bundled one is served",
      {.shown_as = "[[ID=]MODEL...]", .takes = kFile});
  flags.option("--models-dir", args->models.folder,
               "Serve every model in this folder too: .gguf files, and folders that hold one model",
               {.takes = kFolder});
  flags.option("--alias", args->models.aliases,
               "Further names of the model, separated by commas; ID=NAME if several are served",
               {.shown_as = "[ID=]NAME[,NAME]"});
  add_model_flags(flags, *args);
  flags.advanced().flag("--strict-model-names", args->options.strict_model_names,
                        "404 for names that no model has; otherwise a single model answers to any name");
  flags.flag("--pull", args->models.pull, "Download missing models first");
  flags.flag("--background", args->in_background, "Run in the background, where commands find it");
  args->load.add_to(flags, ThreadsOption::kOne, StoreFlags::Network::kYes);
  add_end_flags(flags.group("End token").advanced(), args->load.options.ends);
  args->defaults.add_to(flags);
  add_engine_flags(flags, *args);
  add_http_flags(flags, *args);
  args->mcp.add_to(flags.group("Tools of the chat page"));
  flags.examples(
      {"realizar serve model.gguf", "realizar serve --models-dir models --host 0.0.0.0 --api-keys keys.txt"});
  flags.runs([args] { return serve(*args); });
}

}  // namespace realizar::cli
