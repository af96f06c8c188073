#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "backend/cuda/device/runtime.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/mcp_flags.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/pull_view.h"
#include "cli/stored_models.h"
#include "formats/gguf_folder.h"
#include "server/origin_policy.h"
#include "server/server.h"
#include "text/utf8.h"

namespace realizar::cli {
namespace {

struct ServeArgs {
  std::vector<std::string> models;
  std::string folder;
  std::vector<std::string> aliases;
  LoadFlags load;
  bool pull = false;
  server::ServerOptions options;
  McpFlags mcp;
  uint64_t memory_mb = 0, cache_dir_mb = 1024;
};

// "ID=PATH", or a path whose name without its ending is the id.
server::ModelSource source_of(const std::string& text) {
  const size_t sign = text.find('=');
  std::error_code error;
  if (sign != std::string::npos && !std::filesystem::exists(text, error)) {
    return {text.substr(0, sign), text.substr(sign + 1)};
  }
  auto path = std::filesystem::path(text).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const bool has_ending = path.extension() == ".gguf" || path.extension() == ".safetensors";
  return {has_ending ? path.stem().string() : path.filename().string(), text};
}

// A file or folder, or the name of a model, which may be downloaded where that is asked for.
Result<server::ModelSource> find_source(const ServeArgs& args, const std::string& text) {
  const StoreFlags& store = args.load.store;
  const size_t sign = hub::has_name_scheme(text) ? std::string::npos : text.find('=');
  std::error_code error;
  server::ModelSource source = source_of(text);
  if (std::filesystem::exists(source.path, error)) return source;
  const std::string given = sign == std::string::npos ? text : text.substr(sign + 1);
  const std::string id = sign == std::string::npos ? text : text.substr(0, sign);
  if (args.pull && !store.find(given).ok()) {
    RZ_TRY(const hub::ModelName name, hub::parse_name(given));
    RZ_TRY(const hub::HubSettings settings, store.hub_settings());
    RZ_TRY([[maybe_unused]] const auto model, pull_shown(name, store.library().store(), settings));
  }
  return named_model(store, id, given);
}

enum class Holds : uint8_t { kNothing, kModel, kSeveral };

Holds what_holds(const std::filesystem::path& path) {
  std::error_code error;
  if (is_gguf_model(path) || std::filesystem::exists(path / "config.json", error)) return Holds::kModel;
  if (!std::filesystem::is_directory(path, error)) return Holds::kNothing;
  const auto found = find_gguf(path);
  if (found.ok()) return Holds::kModel;
  return found.error().code == ErrorCode::kInvalidArgument ? Holds::kSeveral : Holds::kNothing;
}

// Every .gguf file, and every folder that has a config.json or one .gguf file, in alphabetical order. A split
// file is named by its first part. What nobody could ask for is left out, with a line that says so: links to nothing,
// names that are not UTF-8, folders with several models.
Result<std::vector<server::ModelSource>> find_models(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return not_found("there is no folder " + folder, folder);
  std::vector<server::ModelSource> found;
  auto entry = std::filesystem::directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    const Holds holds = what_holds(entry->path());
    if (holds == Holds::kNothing) continue;
    const std::string path = entry->path().string(), name = entry->path().filename().string();
    if (holds == Holds::kSeveral) {
      warn(fmt::format("{0} is left out: it holds several models; --models-dir {0} serves them", path));
    } else if (!std::filesystem::exists(path, ignored)) {
      warn(path + " is left out: it is not there, or it is a link to nothing");
    } else if (!text::is_valid_utf8(name)) {
      warn(path + " is left out: its name is not UTF-8; ID=PATH gives it another");
    } else {
      found.push_back(source_of(path));
    }
  }
  if (error) return not_found("cannot read the folder " + folder + ": " + error.message(), folder);
  if (found.empty()) return not_found("there is no model in " + folder, folder);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return found;
}

// What is served where nothing is named: the store, the model that was pulled last first; with the bundled model before
// the others while the store is empty.
Result<std::vector<server::ModelSource>> models_of_store(const StoreFlags& store) {
  std::vector<std::string> notes;
  std::vector<server::ModelSource> models = stored_models(store);
  if (!store.library().store().list(notes).empty()) return models;
  auto bundled = bundled_model_path("serve");
  if (!bundled.ok() && models.empty()) return bundled.error();
  if (bundled.ok()) models.insert(models.begin(), {"realizar-tiny", *bundled});
  return models;
}

Status resolve_models(ServeArgs& args) {
  for (const std::string& model : args.models) {
    RZ_TRY(server::ModelSource source, find_source(args, model));
    args.options.models.push_back(std::move(source));
  }
  if (!args.folder.empty()) {
    RZ_TRY(auto found, find_models(args.folder));
    args.options.models.insert(args.options.models.end(), found.begin(), found.end());
  }
  if (args.options.models.empty()) {
    RZ_TRY(args.options.models, models_of_store(args.load.store));
  }
  for (size_t i = 0; i < args.options.models.size(); ++i) {
    const auto& model = args.options.models[i];
    std::error_code error;
    if (!std::filesystem::exists(model.path, error)) return not_found("there is no " + model.path, model.path);
    if (!text::is_valid_utf8(model.id)) {
      return invalid_argument("the id of " + model.path + " is not UTF-8; name it ID=PATH", "model");
    }
    const auto end = args.options.models.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(args.options.models.begin(), end, [&](const auto& other) { return other.id == model.id; })) {
      return invalid_argument("two models are called '" + model.id + "'; name one ID=PATH", "model");
    }
  }
  return {};
}

bool has_name(const server::ModelSource& model, const std::string& name) {
  return model.id == name || std::find(model.aliases.begin(), model.aliases.end(), name) != model.aliases.end();
}

// NAME, where one model is served, or ID=NAME.
Status add_alias(const std::string& text, std::vector<server::ModelSource>& models) {
  const auto named = [&](const server::ModelSource& model) { return text.starts_with(model.id + "="); };
  auto model = std::find_if(models.begin(), models.end(), named);
  const std::string name = model == models.end() ? text : text.substr(model->id.size() + 1);
  if (model == models.end() && models.size() == 1) model = models.begin();
  if (model == models.end()) {
    return invalid_argument("--alias " + text + ": several models are served; expected ID=NAME with the id of one",
                            "alias");
  }
  if (name.empty() || !text::is_valid_utf8(name)) {
    return invalid_argument("--alias " + text + ": expected a name in UTF-8", "alias");
  }
  if (std::any_of(models.begin(), models.end(), [&](const auto& other) { return has_name(other, name); })) {
    return invalid_argument("--alias " + text + ": a model is called '" + name + "' already", "alias");
  }
  model->aliases.push_back(name);
  return {};
}

Status add_aliases(const std::vector<std::string>& texts, std::vector<server::ModelSource>& models) {
  for (const std::string& text : texts) {
    std::istringstream names(text);
    for (std::string name; std::getline(names, name, ',');) RZ_CHECK_OK(add_alias(name, models));
  }
  return {};
}

Status list_mcp_servers(ServeArgs& args) {
  RZ_TRY(mcp::ServerList list, args.mcp.read());
  args.options.mcp_servers = std::move(list.servers);
  args.options.mcp = args.mcp.client_options();
  return {};
}

// Enough for a few whole contexts; longer queues wait, and what no longer fits is preempted.
constexpr uint32_t kDefaultContexts = 4;

int serve(ServeArgs& args) {
  if (auto status = resolve_models(args); !status.ok()) return fail(status.error());
  server::ServerOptions& options = args.options;
  if (auto status = add_aliases(args.aliases, options.models); !status.ok()) return fail(status.error());
  if (options.http.tls_cert.empty() != options.http.tls_key.empty()) {
    return fail(invalid_argument("--tls-cert and --tls-key go together", "tls_cert"));
  }
  if (options.http.max_bodies_bytes < options.http.max_body_bytes) {
    return fail(invalid_argument("--max-bodies-bytes is for all bodies: expected at least --max-body-bytes",
                                 "max_bodies_bytes"));
  }
  if (options.wipe_cache && options.cache_dir.empty()) {
    return fail(invalid_argument("--wipe-cache is for the folder of --cache-dir, which is not given", "wipe_cache"));
  }
  options.load = args.load.options;
  options.load.batch.max_tokens =
      std::max(options.load.batch.max_tokens, options.load.batch.max_seqs * (1 + options.load.draft.n_tokens));
  options.load.cache.n_contexts = kDefaultContexts;
  if (auto status = list_mcp_servers(args); !status.ok()) return fail(status.error());
  if (!server::is_loopback(options.http.host) && options.api_keys_file.empty() && options.api_keys.empty()) {
    warn(fmt::format("whoever reaches {} may use this server{}; --api-keys FILE asks for a key", options.http.host,
                     options.mcp_servers.empty() ? "" : ", and call the tools of the MCP servers"));
  }
  if (!cuda::is_built() || options.load.backend == BackendChoice::kCpu) warn_of_gpu_options(options.load);
  options.memory_bytes = args.memory_mb << 20;
  options.cache_dir_bytes = args.cache_dir_mb << 20;
  const auto status = server::serve(options, [&](const std::string& url) {
    // print would fail where nobody reads this any more, and the server goes on.
    std::puts(("realizar listens on " + url + ", model " + options.models.front().id).c_str());
    std::fflush(stdout);
  });
  return status.ok() ? kOk : fail(status.error());
}

void add_engine_flags(Flags flags, ServeArgs& args) {
  args.load.options.batch.max_seqs = 64;
  args.load.add_serving_to(flags.group("Engine").advanced());
  flags = flags.group("Engine").advanced();
  flags.option("--max-queue", args.options.max_queue, "Let at most N requests wait for a model; further ones get 429")
      .with_default();
  flags
      .option("--cache-dir", args.options.cache_dir,
              "Folder that keeps cached prefixes, and so prompts, over restarts; created if it is missing")
      .folder();
  flags.option("--cache-dir-mb", args.cache_dir_mb, "Keep at most N MB there for each model").with_default();
  flags.flag("--wipe-cache", args.options.wipe_cache,
             "Before anything else, zero and remove all that --cache-dir has kept so far, for other models too");
  flags.option("--memory-mb", args.memory_mb, "Use at most N MB for weights and caches of all models; 0: no bound")
      .with_default();
}

void add_http_flags(Flags flags, ServeArgs& args) {
  server::ServerOptions& options = args.options;
  flags = flags.group("Server").advanced();
  flags.option("--host", options.http.host, "Address to listen on; 0.0.0.0 for all").with_default().common();
  flags.option("--port", options.http.port, "Port; 0: any free one").with_default().common();
  flags.option("--tls-cert", options.http.tls_cert, "Certificate chain (PEM); with --tls-key: HTTPS").file().common();
  flags.option("--tls-key", options.http.tls_key, "Private key (PEM)").file().common();
  flags
      .option("--api-keys", options.api_keys_file,
              "File with one key, or sha256:HEX, a line; requests without one of them get 401")
      .file()
      .common();
  flags
      .option("--api-key", options.api_keys,
              "An API key; may be repeated. Other users of this machine can see it in the list of processes; "
              "--api-keys hides keys in a file")
      .shown_as("KEY");
  flags
      .option("--max-requests-per-key", options.max_requests_per_key,
              "Requests of one key (of one address, if there are no keys) that may run or wait at once; 0: no bound")
      .with_default();
  flags.option("--max-prompt-tokens", options.max_prompt_tokens, "Longer prompts are refused; 0: the context")
      .with_default();
  flags
      .option("--request-timeout-ms", options.request_timeout_ms,
              "Time from a request's arrival to its end; 0: no bound")
      .with_default();
  flags.option("--drain-timeout-ms", options.drain_timeout_ms, "Time that running requests have after SIGTERM")
      .with_default();
  flags
      .option("--stall-timeout-ms", options.stall_timeout_ms,
              "Time without progress, in a model that has requests, after which /readyz answers 503")
      .with_default();
  flags.option("--max-body-bytes", options.http.max_body_bytes, "Larger bodies are refused").with_default();
  flags
      .option("--max-bodies-bytes", options.http.max_bodies_bytes,
              "Bytes of all bodies together; beyond that: 503. The first 64 KB of each do not count")
      .with_default();
  flags.option("--max-header-bytes", options.http.max_header_bytes, "Larger headers are refused").with_default();
  flags.option("--max-connections", options.http.max_connections, "Connections at once; further ones are closed")
      .with_default();
  flags
      .option("--max-connections-per-address", options.http.max_connections_per_address,
              "Connections of one address at once; further ones are closed; 0: no bound")
      .with_default();
  flags.option("--header-timeout-ms", options.http.header_timeout_ms, "Time for a request's headers to arrive")
      .with_default();
  flags.option("--body-timeout-ms", options.http.body_timeout_ms, "Time for its body to arrive").with_default();
  flags.option("--idle-timeout-ms", options.http.idle_timeout_ms, "Time between the requests of a connection")
      .with_default();
  flags.option("--write-timeout-ms", options.http.write_timeout_ms, "Time for a client to take a byte").with_default();
  flags.option("--cors-origin", options.cors_origins,
               "Origin whose pages may call; may be repeated; chrome-extension://*: all of a scheme; *: any");
  flags.option(
      "--allowed-host", options.allowed_hosts,
      "Name by which clients may reach a server that asks for no key; may be repeated; *: any. On loopback only "
      "loopback's names and these are answered");
  flags.option("--access-log", options.access_log, "Write a JSON line for each request to this file; -: standard error")
      .file()
      .common();
  flags
      .option("--stored-responses-bytes", options.stored_responses_bytes,
              "Memory for responses that later ones may go on with, a quarter of it for each key; 0: none are kept")
      .with_default();
  flags.flag("--log-prompts", options.log_prompts, "Put prompts into the access log");
  flags.flag("--trace-operations", options.trace_operations,
             "Time every operation of requests with the header X-Trace: operations, for their answers' `trace`; their "
             "steps take longer, for others too");
  flags.flag_off("--no-page", options.page, "Do not serve the chat page");
  flags.flag_off("--no-metrics", options.metrics, "Do not serve /metrics");
}

}  // namespace

void add_serve(CommandLine& line) {
  auto args = std::make_shared<ServeArgs>();
  Flags flags = line.command("serve", "Serve models over HTTP: OpenAI's API, metrics, a chat page");
  flags
      .option("models", args->models,
              "Models: PATH or NAME, or ID=PATH or ID=NAME; the first is loaded at the start, the others when they are "
              "asked for. Without any, the models that were pulled are served, or, where none was, the bundled one")
      .shown_as("[[ID=]MODEL...]")
      .file();
  flags
      .option("--models-dir", args->folder,
              "Serve every model in this folder too: .gguf files, and folders that hold one model")
      .folder();
  flags
      .option("--alias", args->aliases,
              "Further names of the model, with commas between them; ID=NAME where several are served")
      .shown_as("[ID=]NAME[,NAME]");
  flags.flag("--strict-model-names", args->options.strict_model_names,
             "404 for names that no model has; otherwise a model that is served alone answers to any name");
  flags.flag("--pull", args->pull, "Download models that are named and not on this machine first");
  args->load.add_to(flags, ThreadsOption::kOne, StoreFlags::Network::kYes);
  add_engine_flags(flags, *args);
  add_http_flags(flags, *args);
  args->mcp.add_to(flags.group("Tools of the chat page"));
  flags.examples(
      {"realizar serve model.gguf", "realizar serve --models-dir models --host 0.0.0.0 --api-keys keys.txt"});
  flags.runs([args] { return serve(*args); });
}

}  // namespace realizar::cli
