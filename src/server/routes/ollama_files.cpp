#include "server/routes/ollama_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"
#include "server/call/context.h"
#include "server/dialects/ollama/ollama.h"

namespace realizar::server {
namespace {

constexpr const char* kOllamaJson = "application/json; charset=utf-8";

NamedFile adapted_file_of(const ModelRegistry::Entry& entry, std::string adapter) {
  NamedFile file = file_of(entry, adapted_name(entry.source.id, adapter));
  file.adapter = std::move(adapter);
  file.store_name = std::nullopt;  // only the model without the adapter is in the store
  return file;
}

}  // namespace

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
