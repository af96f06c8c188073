// Ollama's routes that generate nothing (https://docs.ollama.com/api): what models there are, and names for them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "server/context.h"
#include "server/ollama.h"
#include "server/routes.h"
#include "text/ollama_template.h"

namespace realizar::server {
namespace {

constexpr const char* kOllamaJson = "application/json; charset=utf-8";
// For ever, as clients are told it.
constexpr auto kForEver = std::chrono::hours(24 * 365 * 100);

HttpResponse ollama_json(const Json& json) {
  return {200, kOllamaJson, dump(json), {}};
}

// A model's file as the registry has it: what a worker may read while the I/O thread goes on.
struct NamedFile {
  std::string name, id, path;
  std::chrono::system_clock::time_point modified;
  MadeModelPtr made;  // null: the name is the model's own
};

NamedFile file_of(const ModelRegistry::Entry& entry, std::string name, MadeModelPtr made = nullptr) {
  const auto modified = made == nullptr ? entry.created : made->modified;
  return {std::move(name), entry.source.id, entry.source.path, modified, std::move(made)};
}

// Under every name that clients may use.
std::vector<NamedFile> all_files(const Call& call) {
  std::vector<NamedFile> files;
  for (const auto& entry : call.context.models.entries()) {
    files.push_back(file_of(entry, with_tag(entry.source.id)));
    for (const std::string& alias : entry.source.aliases) files.push_back(file_of(entry, with_tag(alias)));
  }
  for (const auto& made : call.context.ollama->made.list(made_owner_of(call))) {
    if (const auto* entry = call.context.models.find_named(made->base)) {
      files.push_back(file_of(*entry, with_tag(made->name), made));
    }
  }
  return files;
}

Result<NamedFile> find_file(const Call& call, const std::string& name) {
  const auto made = call.context.ollama->made.find(made_owner_of(call), name);
  const auto* entry = call.context.models.find_named(made == nullptr ? name : made->base);
  if (entry == nullptr) return no_ollama_model(name);
  return file_of(*entry, name, made);
}

std::string digest_of_file(const NamedFile& file, const ModelCard& card) {
  std::string identity = fmt::format("{} {} {}", file.id, card.n_bytes, file.modified.time_since_epoch().count());
  if (file.made != nullptr) {
    identity += fmt::format(" {} {} {} {}", file.made->template_source, file.made->system, file.made->parameters,
                            file.made->messages);
  }
  return digest_text(identity);
}

Json details_of(const NamedFile& file, const ModelCard& card) {
  Json families = Json::array();
  if (!card.arch.empty()) families.push_back(card.arch);
  return {{"parent_model", file.made == nullptr ? "" : file.made->parent},
          {"format", card.is_gguf ? "gguf" : "safetensors"},
          {"family", card.arch},
          {"families", std::move(families)},
          {"parameter_size", parameter_size(card.n_params)},
          {"quantization_level", card.quantization},
          {"context_length", card.n_ctx},
          {"embedding_length", card.d_model}};
}

Json tag_of(const NamedFile& file, const ModelCard& card) {
  return {{"name", file.name},
          {"model", file.name},
          {"modified_at", rfc3339(file.modified)},
          {"size", card.n_bytes},
          {"digest", digest_of_file(file, card)},
          {"details", details_of(file, card)},
          {"capabilities", card.capabilities}};
}

// Of a model that is ready.
Json running_json(const ModelRegistry::Entry& entry, const NamedFile& file, const ModelCard& card) {
  Json json = tag_of(file, card);
  json.erase("modified_at");
  json.erase("capabilities");
  const ModelInfo& info = entry.model->loaded->info;
  uint64_t n_gpu_bytes = 0;
  for (const DeviceInfo& device : info.devices) {
    if (device.name.starts_with("cuda")) n_gpu_bytes += device.weight_bytes + device.kv_bytes;
  }
  json["size"] = entry.model->n_bytes();
  // The time runs from the end of the last use.
  const bool is_used = entry.model->thread->n_open() > 0;
  const auto idle =
      is_used ? std::chrono::steady_clock::duration(0) : std::chrono::steady_clock::now() - entry.last_used;
  const std::chrono::system_clock::duration left =
      entry.keep_alive ? std::chrono::duration_cast<std::chrono::system_clock::duration>(*entry.keep_alive - idle)
                       : kForEver;
  json["expires_at"] = rfc3339(std::chrono::system_clock::now() + left);
  json["size_vram"] = n_gpu_bytes;
  json["context_length"] = info.n_ctx;
  return json;
}

// Lines of a name and a value, a line for each value of a list.
Result<std::string> parameter_lines(const ModelCard& card, const MadeModelPtr& made, const char* before) {
  std::string lines;
  if (made == nullptr) return card.parameters;
  RZ_TRY(const Json parameters, parse_json(made->parameters));
  for (const auto& [name, value] : parameters.items()) {
    const Json list = value.is_array() ? value : Json::array({value});
    for (const Json& one : list) lines += fmt::format("{}{} {}\n", before, name, dump(one));
  }
  return lines;
}

std::string modelfile_of(const NamedFile& file, const ModelCard& card, const std::string& parameters) {
  std::string text = fmt::format("FROM {}\n", file.made == nullptr ? file.name : file.made->parent);
  const std::string& own = file.made == nullptr ? card.template_source : file.made->template_source;
  if (!own.empty()) text += fmt::format("TEMPLATE \"\"\"{}\"\"\"\n", own);
  if (file.made != nullptr && !file.made->system.empty()) {
    text += fmt::format("SYSTEM \"\"\"{}\"\"\"\n", file.made->system);
  }
  return text + parameters;
}

Result<HttpResponse> show_answer(const NamedFile& file, const ModelCard& card, bool verbose) {
  RZ_TRY(const std::string parameters, parameter_lines(card, file.made, ""));
  RZ_TRY(const std::string instructions, parameter_lines(card, file.made, "PARAMETER "));
  RZ_TRY(Json info, read_model_info(file.path, card, verbose));
  RZ_TRY(Json tensors, read_tensor_list(file.path));
  const bool has_template = file.made != nullptr && !file.made->template_source.empty();
  const std::string& license = file.made != nullptr && !file.made->license.empty() ? file.made->license : card.license;
  Json json{{"modelfile", modelfile_of(file, card, instructions)},
            {"parameters", parameters},
            {"template", has_template ? file.made->template_source : card.template_source},
            {"system", file.made == nullptr ? "" : file.made->system},
            {"license", license},
            {"details", details_of(file, card)},
            {"model_info", std::move(info)},
            {"tensors", std::move(tensors)},
            {"capabilities", card.capabilities},
            {"modified_at", rfc3339(file.modified)}};
  if (file.made != nullptr && file.made->messages != "[]") {
    RZ_TRY(json["messages"], parse_json(file.made->messages));
  }
  return ollama_json(json);
}

// The JSON object of a call's body.
Task<Result<Json>> ollama_body(Call& call) {
  const Status decoded = co_await decode(call);
  if (!decoded.ok()) co_return decoded.error();
  if (call.is_over()) co_return Json::object();
  if (call.body.bytes.empty()) co_return invalid_argument("missing request body");
  OnWorker parsing(call, call.body.bytes.size(), [&] { return parse_json(std::exchange(call.body, {}).bytes); });
  Result<Json> body = co_await parsing;
  if (body.ok() && !body->is_object()) co_return invalid_argument("the body is not a JSON object");
  co_return body;
}

// The name under "model", or under "name" as older clients have it.
Result<std::string> required_name(Fields& body) {
  const auto model = body.text("model"), name = body.text("name");
  if (!body.status().ok()) return body.status().error();
  const std::string given = model && !model->empty() ? *model : name.value_or("");
  if (given.empty()) return invalid_argument("model is required", "model");
  return given;
}

// What was done, as the lines of a stream or as its last line alone.
HttpResponse told_steps(Fields& body, std::initializer_list<const char*> steps) {
  if (!body.boolean("stream").value_or(true)) return ollama_json({{"status", "success"}});
  HttpResponse response{200, kOllamaLines, "", {}};
  for (const char* step : steps) response.body += dump({{"status", step}}) + "\n";
  response.body += dump({{"status", "success"}}) + "\n";
  return response;
}

// A made model takes no name of a model that the server was started with.
Status check_name_is_free(const Call& call, const std::string& name) {
  constexpr size_t kMaxNameBytes = 350;
  if (name.size() > kMaxNameBytes || name.find_first_of(" \t\r\n\"\\") != std::string::npos) {
    return invalid_argument(fmt::format("invalid model name '{}'", shown(name)), "model");
  }
  if (call.context.models.find_named(name) == nullptr) return {};
  return invalid_argument(fmt::format("the server was started with the model '{}', which keeps its name", shown(name)),
                          "model");
}

Result<HttpResponse> delete_model(const Call& call, Fields& body) {
  RZ_TRY(const std::string name, required_name(body));
  if (call.context.ollama->made.erase(made_owner_of(call), name)) return HttpResponse{200, "", "", {}};
  if (call.context.models.find_named(name) == nullptr) return no_ollama_model(name);
  return invalid_argument(
      fmt::format("the server was started with the model '{}', which stays until it ends", shown(name)), "model");
}

Result<HttpResponse> copy_model(const Call& call, Fields& body) {
  const std::string source = body.text("source").value_or(""), destination = body.text("destination").value_or("");
  if (!body.status().ok()) return body.status().error();
  if (source.empty()) return invalid_argument("source is required", "source");
  if (destination.empty()) return invalid_argument("destination is required", "destination");
  RZ_TRY(const NamedFile file, find_file(call, source));
  RZ_CHECK_OK(check_name_is_free(call, destination));
  MadeModel copy = file.made == nullptr ? MadeModel{} : *file.made;
  copy.name = destination;
  copy.base = file.id;
  if (file.made == nullptr) copy.parent = source;
  copy.modified = std::chrono::system_clock::now();
  RZ_CHECK_OK(call.context.ollama->made.put(made_owner_of(call), std::move(copy)));
  return HttpResponse{200, "", "", {}};
}

// What of a body would need a store of models, or work on weights.
Status refuse_unbuilt(const Json& body) {
  for (const char* field : {"files", "adapters", "quantize", "draft"}) {
    const Json value = body.value(field, Json());
    if (value.is_null() || is_empty_text(value) || (value.is_structured() && value.empty())) continue;
    return unsupported(fmt::format("{}: not built; models are made here of those that the server was started with, "
                                   "named by from",
                                   field),
                       field);
  }
  return {};
}

std::string license_text(const Json& license) {
  if (license.is_string()) return license.get<std::string>();
  std::string text;
  for (const Json& one : license.is_array() ? license : Json::array()) {
    if (one.is_string()) text += (text.empty() ? "" : "\n") + one.get<std::string>();
  }
  return text;
}

Result<MadeModel> made_model(Fields& body, const NamedFile& parent) {
  MadeModel model = parent.made == nullptr ? MadeModel{} : *parent.made;
  model.base = parent.id;
  model.parent = parent.name;
  model.modified = std::chrono::system_clock::now();
  if (const auto system = body.text("system")) model.system = *system;
  if (const Json* license = body.any("license")) model.license = license_text(*license);
  if (const auto source = body.text("template"); source && !source->empty()) {
    model.template_source = *source;
    RZ_TRY(model.chat_template, text::compile_ollama_template(*source));
  }
  if (const Json* parameters = body.object("parameters")) {
    RZ_TRY(Json all, parse_json(model.parameters));
    all.update(*parameters);
    model.parameters = dump(all);
  }
  if (const Json* messages = body.array("messages")) {
    RZ_TRY(const Json read, read_ollama_messages(*messages));
    model.messages = dump(read);
  }
  if (!body.status().ok()) return body.status().error();
  return model;
}

Result<HttpResponse> create_model(Call& call, Fields& body) {
  RZ_TRY(const std::string name, required_name(body));
  RZ_CHECK_OK(refuse_unbuilt(body.json()));
  const std::string from = body.text("from").value_or("");
  if (!body.status().ok()) return body.status().error();
  if (from.empty()) return invalid_argument("from: expected the name of a model", "from");
  RZ_TRY(const NamedFile parent, find_file(call, from));
  RZ_CHECK_OK(check_name_is_free(call, name));
  RZ_TRY(MadeModel model, made_model(body, parent));
  model.name = name;
  RZ_CHECK_OK(call.context.ollama->made.put(made_owner_of(call), std::move(model)));
  return told_steps(body, {"using existing layer", "writing manifest"});
}

Result<HttpResponse> pull_model(const Call& call, Fields& body) {
  RZ_TRY(const std::string name, required_name(body));
  static_cast<void>(body.boolean("insecure"));
  if (!body.status().ok()) return body.status().error();
  if (find_file(call, name).ok()) return told_steps(body, {"pulling manifest", "verifying digest", "writing manifest"});
  return not_found(fmt::format("model '{}' not found: this server has no store of models to pull into; start it with "
                               "the model's file",
                               shown(name)),
                   "model");
}

Result<HttpResponse> push_model(const Call& call, Fields& body) {
  RZ_TRY(const std::string name, required_name(body));
  RZ_TRY([[maybe_unused]] const NamedFile file, find_file(call, name));
  return Error{unsupported("pushing models is not built: this server has no store of models", "model")};
}

// A route whose answer is there once its body is read.
template <auto answer>
Task<Status> from_body(Call& call) {
  Result<Json> body = co_await ollama_body(call);
  if (!body.ok()) co_return body.error();
  if (call.is_over()) co_return Status();
  const TakenApartAtEnd end{*body};
  Fields fields(*body);
  Result<HttpResponse> response = answer(call, fields);
  if (!response.ok()) co_return response.error();
  call.send(std::move(*response));
  co_return Status();
}

}  // namespace

HttpResponse get_ollama_version(const Call&) {
  return ollama_json({{"version", version()}});
}

HttpResponse get_blob(const Call& call) {
  return ollama_error({404, "blob " + shown(call.path_id) + " not found", "", ""});
}

HttpResponse post_blob(const Call&) {
  return ollama_error({400, "this server has no store of models to put a blob into", "", ""});
}

Task<Status> get_ollama_tags(Call& call) {
  const std::vector<NamedFile> files = all_files(call);
  OnWorker reading(call, 0, [&files, state = call.context.ollama.get()]() -> Result<HttpResponse> {
    Json models = Json::array();
    for (const NamedFile& file : files) models.push_back(tag_of(file, *state->cards.of(file.path)));
    return ollama_json({{"models", std::move(models)}});
  });
  Result<HttpResponse> response = co_await reading;
  if (!response.ok()) co_return response.error();
  call.send(std::move(*response));
  co_return Status();
}

// Cards are read on a worker, models looked at here.
Task<Status> get_ollama_ps(Call& call) {
  std::vector<std::string> paths;
  for (const auto& entry : call.context.models.entries()) {
    if (entry.model != nullptr) paths.push_back(entry.source.path);
  }
  OnWorker reading(call, 0, [&paths, state = call.context.ollama.get()]() -> Result<bool> {
    for (const std::string& path : paths) static_cast<void>(state->cards.of(path));
    return true;
  });
  const Result<bool> is_read = co_await reading;
  if (!is_read.ok()) co_return is_read.error();
  Json models = Json::array();
  for (const auto& entry : call.context.models.entries()) {
    const bool was_read = std::ranges::find(paths, entry.source.path) != paths.end();
    if (entry.model == nullptr || !was_read) continue;
    const NamedFile file = file_of(entry, with_tag(entry.source.id));
    models.push_back(running_json(entry, file, *call.context.ollama->cards.of(entry.source.path)));
  }
  call.send(ollama_json({{"models", std::move(models)}}));
  co_return Status();
}

Task<Status> post_ollama_show(Call& call) {
  Result<Json> body = co_await ollama_body(call);
  if (!body.ok()) co_return body.error();
  if (call.is_over()) co_return Status();
  const TakenApartAtEnd end{*body};
  Fields fields(*body);
  const Result<std::string> name = required_name(fields);
  if (!name.ok()) co_return name.error();
  const bool verbose = fields.boolean("verbose").value_or(false);
  if (!fields.status().ok()) co_return fields.status().error();
  const Result<NamedFile> file = find_file(call, *name);
  if (!file.ok()) co_return file.error();
  OnWorker reading(call, 0, [&, state = call.context.ollama.get()]() -> Result<HttpResponse> {
    return show_answer(*file, *state->cards.of(file->path), verbose);
  });
  Result<HttpResponse> response = co_await reading;
  if (!response.ok()) co_return response.error();
  call.send(std::move(*response));
  co_return Status();
}

Task<Status> post_ollama_copy(Call& call) {
  return from_body<copy_model>(call);
}
Task<Status> post_ollama_create(Call& call) {
  return from_body<create_model>(call);
}
Task<Status> post_ollama_pull(Call& call) {
  return from_body<pull_model>(call);
}
Task<Status> post_ollama_push(Call& call) {
  return from_body<push_model>(call);
}
Task<Status> delete_ollama_model(Call& call) {
  return from_body<delete_model>(call);
}

}  // namespace realizar::server
