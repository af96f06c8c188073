// Ollama's routes that generate nothing (https://docs.ollama.com/api): lists of models, and bodies of /api/chat and
// /api/generate that only unload a model, which are served without loading it first.
#include "server/routes/ollama_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/hex_digit.h"
#include "base/try.h"
#include "server/call/context.h"
#include "server/dialects/ollama/ollama.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

// An unlimited time, as reported to clients.
constexpr auto kForEver = std::chrono::hours(24 * 365 * 100);

std::string parent_of(const NamedFile& file) {
  if (file.made != nullptr) return file.made->parent;
  if (!file.adapter.empty()) return with_tag(file.id);
  return file.texts == nullptr ? "" : file.texts->parent;
}

// A digest that distinguishes the file from others: the SHA-256 of its description, not of its bytes, which would take
// too long to read.
std::string digest_of_file(const NamedFile& file, const ModelCard& card) {
  std::string identity =
      fmt::format("{} {} {} {}", file.id, card.n_bytes, file.modified.time_since_epoch().count(), file.adapter);
  identity += fmt::format(" {} {}", file.beside.chat_template, file.beside.params);
  if (file.texts != nullptr) identity += fmt::format(" {} {}", file.texts->system, file.texts->messages);
  if (file.made != nullptr) {
    identity += fmt::format(" {} {} {} {}", file.made->template_source, file.made->system, file.made->parameters,
                            file.made->messages);
  }
  return hex_of(digest_of(identity));
}

Json details_of(const NamedFile& file, const ModelCard& card) {
  Json families = Json::array();
  if (!card.arch.empty()) families.push_back(card.arch);
  return {{"parent_model", parent_of(file)},
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

// For a ready model.
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
  // The time begins at the end of the last use.
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

// A model's texts besides its weights: those of the made model, if the name is one, in preference to the store's.
struct ShownTexts {
  std::string chat_template, system, license, messages;
  std::optional<std::string> parameters;  // JSON; nullopt: those that the file recommends
};

Result<ShownTexts> texts_of(const NamedFile& file) {
  ShownTexts texts;
  texts.chat_template = file.beside.chat_template;
  if (file.texts != nullptr) {
    texts.system = file.texts->system;
    texts.license = file.texts->license;
    texts.messages = file.texts->messages;
  }
  if (!file.beside.params.empty()) texts.parameters = file.beside.params;
  if (file.made == nullptr) return texts;
  const ModelAlias& made = *file.made;
  if (!made.template_source.empty()) texts.chat_template = made.template_source;
  if (!made.system.empty()) texts.system = made.system;
  if (!made.license.empty()) texts.license = made.license;
  if (made.messages != "[]") texts.messages = made.messages;
  RZ_TRY(Json all, parse_json(texts.parameters.value_or("{}")));
  RZ_TRY(const Json own, parse_json(made.parameters));
  all.update(own);
  texts.parameters = dump(all);
  return texts;
}

// Lines of a name and a value, one line for each value of a list.
Result<std::string> parameter_lines(const ModelCard& card, const ShownTexts& texts, const char* before) {
  std::string lines;
  if (!texts.parameters) return card.parameters;
  RZ_TRY(const Json parameters, parse_json(*texts.parameters));
  for (const auto& [name, value] : parameters.items()) {
    const Json list = value.is_array() ? value : Json::array({value});
    for (const Json& one : list) lines += fmt::format("{}{} {}\n", before, name, dump(one));
  }
  return lines;
}

std::string modelfile_of(const NamedFile& file, const ModelCard& card, const ShownTexts& texts,
                         const std::string& parameters) {
  const std::string parent = parent_of(file);
  std::string text = fmt::format("FROM {}\n", parent.empty() ? file.name : parent);
  if (!file.adapter.empty()) text += fmt::format("ADAPTER {}\n", file.adapter);
  const bool has_own = file.made != nullptr || !texts.chat_template.empty();
  const std::string& own = has_own ? texts.chat_template : card.template_source;
  if (!own.empty()) text += fmt::format("TEMPLATE \"\"\"{}\"\"\"\n", own);
  if (!texts.system.empty()) text += fmt::format("SYSTEM \"\"\"{}\"\"\"\n", texts.system);
  return text + parameters;
}

Result<HttpResponse> show_answer(const NamedFile& file, const ModelCard& card, bool verbose) {
  RZ_TRY(const ShownTexts texts, texts_of(file));
  RZ_TRY(const std::string parameters, parameter_lines(card, texts, ""));
  RZ_TRY(const std::string instructions, parameter_lines(card, texts, "PARAMETER "));
  RZ_TRY(Json info, read_model_info(file.path, card, verbose));
  RZ_TRY(Json tensors, read_tensor_list(file.path));
  Json json{{"modelfile", modelfile_of(file, card, texts, instructions)},
            {"parameters", parameters},
            {"template", texts.chat_template.empty() ? card.template_source : texts.chat_template},
            {"system", texts.system},
            {"license", texts.license.empty() ? card.license : texts.license},
            {"details", details_of(file, card)},
            {"model_info", std::move(info)},
            {"tensors", std::move(tensors)},
            {"capabilities", card.capabilities},
            {"modified_at", rfc3339(file.modified)}};
  if (!texts.messages.empty() && texts.messages != "[]") {
    RZ_TRY(json["messages"], parse_json(texts.messages));
  }
  return ollama_json(json);
}

constexpr size_t kMaxUnloadBytes = 1024;  // of a body that does only that

bool holds_something(const Json& body, const char* field) {
  const Json value = body.value(field, Json());
  return !value.is_null() && !is_empty_text(value) && !(value.is_array() && value.empty());
}

// The model's name; "": the body requests something else, or is invalid.
std::string model_to_unload(const Call& call) {
  if (call.body.bytes.size() > kMaxUnloadBytes || call.request.count("content-encoding") > 0) return {};
  const auto body = parse_json(call.body.bytes);
  if (!body.ok() || !body->is_object()) return {};
  for (const char* field : {"messages", "prompt", "suffix"}) {
    if (holds_something(*body, field)) return {};
  }
  Fields fields(*body);
  const auto keep_alive = read_keep_alive(fields);
  const auto model = fields.text("model");
  const bool unloads = keep_alive && keep_alive->duration && keep_alive->duration->count() == 0;
  return fields.status().ok() && unloads ? model.value_or("") : std::string();
}

Task<Status> unload(Call& call, std::string name) {
  RZ_CO_TRY(const std::string id, ollama_model_id(request_context(call), name));
  call.context.models.keep_alive(id, std::chrono::milliseconds(0));
  call.context.models.unload_idle();
  const bool is_chat = call.protocol == &kOllamaChat;
  Json unloaded = empty_ollama_answer(name, is_chat, "assistant");
  unloaded.update(Json{{"done", true}, {"done_reason", "unload"}});
  co_return call.finish(ollama_json(unloaded));
}

NamedFile adapted_file_of(const ModelRegistry::Entry& entry, std::string adapter) {
  NamedFile file = file_of(entry, adapted_name(entry.source.id, adapter));
  file.adapter = std::move(adapter);
  file.store_name = std::nullopt;  // only the model without the adapter is in the store
  return file;
}

}  // namespace

Task<Status> with_ollama_model(Call& call) {
  std::string name = model_to_unload(call);
  if (name.empty() || !request_context(call).may_set_keep_alive) return with_model(call);
  return unload(call, std::move(name));
}

HttpResponse get_ollama_version(const Call&) {
  // Clients require the features of some version of Ollama: Copilot at least 0.6.4.
  constexpr const char* kOllamaLevel = "0.13.0";
  return ollama_json({{"version", kOllamaLevel}, {"realizar", version()}});
}

Task<Status> get_ollama_tags(Call& call) {
  const std::vector<NamedFile> files = all_files(call);
  OnWorker reading(call, 0, [&files, state = call.context.client_models.get()]() -> Result<HttpResponse> {
    Json models = Json::array();
    for (const NamedFile& file : files) models.push_back(tag_of(file, *state->cards.of(file.path)));
    return ollama_json({{"models", std::move(models)}});
  });
  RZ_CO_TRY(HttpResponse response, co_await reading);
  co_return call.finish(std::move(response));
}

// Cards are read on a worker, models are examined here.
Task<Status> get_ollama_ps(Call& call) {
  std::vector<std::string> paths;
  for (const auto& entry : call.context.models.entries()) {
    if (entry.model != nullptr) paths.push_back(entry.source.path);
  }
  OnWorker reading(call, 0, [&paths, state = call.context.client_models.get()] {
    for (const std::string& path : paths) static_cast<void>(state->cards.of(path));
    return Status();
  });
  RZ_CO_CHECK_OK(co_await reading);
  Json models = Json::array();
  for (const auto& entry : call.context.models.entries()) {
    const bool was_read = std::ranges::find(paths, entry.source.path) != paths.end();
    if (entry.model == nullptr || !was_read) continue;
    const NamedFile file = file_of(entry, with_tag(entry.source.id));
    models.push_back(running_json(entry, file, *call.context.client_models->cards.of(entry.source.path)));
  }
  co_return call.finish(ollama_json({{"models", std::move(models)}}));
}

Task<Status> post_ollama_show(Call& call, const Json& body) {
  RZ_CO_TRY(const std::string name, required_name(body));
  Fields fields(body);
  const bool verbose = fields.boolean("verbose").value_or(false);
  RZ_CO_CHECK_OK(fields.status());
  RZ_CO_TRY(const NamedFile file, find_file(call, name));
  OnWorker reading(call, 0, [&, state = call.context.client_models.get()] {
    return show_answer(file, *state->cards.of(file.path), verbose);
  });
  RZ_CO_TRY(HttpResponse response, co_await reading);
  co_return call.finish(std::move(response));
}

NamedFile file_of(const ModelRegistry::Entry& entry, std::string name, ModelAliasPtr made) {
  const auto modified = made == nullptr ? entry.created : made->modified;
  const ModelSource& source = entry.source;
  return {std::move(name), source.id,    source.path,       modified,
          source.beside,   source.texts, source.store_name, std::move(made)};
}

std::vector<NamedFile> all_files(const Call& call) {
  std::vector<NamedFile> files;
  for (const auto& entry : call.context.models.entries()) {
    files.push_back(file_of(entry, with_tag(entry.source.id)));
    for (const std::string& alias : entry.source.aliases) files.push_back(file_of(entry, with_tag(alias)));
    for (std::string& adapter : call.context.models.adapters_of(entry)) {
      files.push_back(adapted_file_of(entry, std::move(adapter)));
    }
  }
  for (const auto& made : call.context.client_models->made.list(tenant_of(call.key))) {
    if (const auto* entry = call.context.models.find_named(made->base)) {
      files.push_back(file_of(*entry, with_tag(made->name), made));
    }
  }
  return files;
}

Result<NamedFile> find_file(const Call& call, const std::string& name) {
  const auto made = call.context.client_models->made.find(tenant_of(call.key), name);
  const ModelRegistry& models = call.context.models;
  if (const auto* entry = models.find_named(made == nullptr ? name : made->base)) return file_of(*entry, name, made);
  std::string adapter = made == nullptr ? models.adapter_of(name) : "";
  if (adapter.empty()) return no_ollama_model(name);
  return adapted_file_of(*models.find(name), std::move(adapter));
}

Result<NamedFile> find_file_to_make_of(const Call& call, const std::string& name, const char* field) {
  RZ_TRY(NamedFile file, find_file(call, name));
  if (file.adapter.empty()) return file;
  return invalid_argument(fmt::format("{}: expected the name of a model without an adapter", field), field);
}

HttpResponse ollama_json(const Json& json) {
  return {200, kOllamaJson, dump(json), {}};
}

HttpResponse told_steps(bool is_stream, std::initializer_list<const char*> steps) {
  if (!is_stream) return ollama_json({{"status", "success"}});
  HttpResponse response{200, kOllamaLines, "", {}};
  for (const char* step : steps) response.body += dump({{"status", step}}) + "\n";
  response.body += dump({{"status", "success"}}) + "\n";
  return response;
}

Result<std::string> required_name(const Json& body) {
  Fields fields(body);
  const auto model = fields.text("model"), name = fields.text("name");
  if (!fields.status().ok()) return fields.status().error();
  const std::string given = model && !model->empty() ? *model : name.value_or("");
  if (given.empty()) return invalid_argument("model is required", "model");
  return given;
}

}  // namespace realizar::server
