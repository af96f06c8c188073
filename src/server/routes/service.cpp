// POST /service/models: a model for another command of the server's own user, who may name any of their files.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sampling/parameters.h"
#include "server/call/context.h"
#include "server/models/model_card.h"
#include "server/models/model_registry.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

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

Json all_sampling(const SamplingParams& params) {
  Json json;
  for (const SamplingParameter& parameter : kSamplingParameters) {
    json[std::string(parameter.name)] = visit_parameter(parameter, params, [](auto value) -> Json { return value; });
  }
  return json;
}

Json model_json(const ServedModel& model) {
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
          {"sampling", all_sampling(config.sampling)},
          {"stop", config.stop}};
}

}  // namespace

Task<Status> post_service_models(Call& call, const Json& body) {
  Fields fields(body);
  const std::string given = fields.text("model").value_or("");
  if (!fields.status().ok()) co_return fields.status().error();
  if (given.empty()) co_return wrong("model", "expected a file, or the name of a model");
  if (!call.context.options.find_model) co_return Error{ErrorCode::kUnsupported, "no further model is served", "model"};
  OnWorker finding(call, 0, [&] { return call.context.options.find_model(given); });
  Result<ModelSource> source = co_await finding;
  if (!source.ok()) co_return source.error();
  ModelRegistry& models = call.context.models;
  const ModelEntry* served = find_same(models, *source);
  const std::string id = served == nullptr ? source->id : served->source.id;
  if (served == nullptr) {
    // A file that is not a model would stay in the list.
    OnWorker reading(call, 0, [&] { return read_model_card(source->path); });
    const Result<ModelCard> card = co_await reading;
    if (!card.ok()) co_return invalid_argument(card.error().message, "model");
    models.put(std::move(*source));
  }
  ModelWait wait(call, id);
  const Result<ServedModelPtr> model = co_await wait;
  if (!model.ok()) co_return model.error();
  call.send(json_response(model_json(**model)));
  co_return Status();
}

}  // namespace realizar::server
