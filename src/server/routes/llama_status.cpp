// GET /props and GET /slots, as in llama.cpp's server: a model's settings, and its load.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/engine.h"
#include "server/call/context.h"
#include "server/call/request_fields.h"
#include "server/models/model_registry.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

std::string text_of_token(const ServedModel& model, std::optional<TokenId> id) {
  return id ? model.tokenizer().token_bytes(*id, {.skip_special = false}) : std::string();
}

Json default_settings(const ServedModel& model) {
  GenerationFields fields;
  fields.request.sampling = model.loaded->generation_config.sampling;
  fields.request.max_tokens = model.defaults->max_tokens;
  Json params = generation_settings(fields);
  if (model.defaults->seed) params["seed"] = *model.defaults->seed;
  if (!model.defaults->seed) params["seed"] = -1;
  return {{"n_ctx", model.loaded->info.n_ctx}, {"params", std::move(params)}};
}

// The folder of the file is not disclosed.
Json loaded_props(const ServedModel& model) {
  const LoadedModel& loaded = *model.loaded;
  const auto& ends = loaded.generation_config.end_tokens;
  Json props = {{"default_generation_settings", default_settings(model)},
                {"total_slots", loaded.engine->max_seqs()},
                {"model_path", std::filesystem::path(loaded.info.path).filename().string()},
                {"chat_template", loaded.template_source.source},
                {"bos_token", text_of_token(model, model.tokenizer().bos())},
                {"eos_token", text_of_token(model, ends.empty() ? std::nullopt : std::optional(ends.front()))}};
  const std::string& for_tools = loaded.template_source.tool_source;
  if (!for_tools.empty()) props["chat_template_tool_use"] = for_tools;
  return props;
}

}  // namespace

// The properties of the model that the query names; with several models and no name, the server's.
HttpResponse get_props(const Call& call) {
  const ServerOptions& options = call.context.options;
  const ModelRegistry& models = call.context.models;
  const std::string name = query_value(call.request.query, "model");
  const auto* entry = models.find(name);
  if (entry == nullptr) return llama_error_response(to_api_error(models.no_such_model(name)));
  const bool is_router = name.empty() && (models.entries().size() > 1 || !options.autoload || !options.preload);
  // The next request wakes a sleeping model, whether it was unloaded for being idle or to make room for another. This
  // one does not.
  const bool is_sleeping =
      entry->has_served && entry->model == nullptr && entry->state != ModelRegistry::State::kFailed;
  Json json = entry->model != nullptr
                  ? loaded_props(*entry->model)
                  : Json{{"default_generation_settings", {{"n_ctx", 0}, {"params", Json::object()}}},
                         {"model_path", std::filesystem::path(entry->source.path).filename().string()},
                         {"chat_template", ""}};
  json.update(Json{{"role", is_router ? "router" : "model"},
                   {"max_instances", options.max_loaded},
                   {"models_autoload", options.autoload},
                   {"model_alias", entry->source.id},
                   {"modalities", {{"vision", false}, {"audio", false}}},
                   {"endpoint_slots", options.slots},
                   {"endpoint_props", false},
                   {"endpoint_metrics", options.metrics},
                   {"build_info", system_fingerprint()},
                   {"is_sleeping", is_sleeping}});
  return json_response(json);
}

// Sequences have no fixed slots: the first slots show the active ones.
HttpResponse get_slots(const Call& call) {
  if (!call.context.options.slots) {
    return llama_error_response({501, "this server was started with --no-slots", "", "not_supported"});
  }
  const auto model = loaded_model(call, query_value(call.request.query, "model"));
  if (!model.ok()) return llama_error_response(to_api_error(model.error()));
  const LoadedModel& loaded = *(*model)->loaded;
  const uint32_t n_running = loaded.engine->counters().n_running.load();
  const uint32_t n_slots = loaded.engine->max_seqs();
  if (n_running >= n_slots && query_value(call.request.query, "fail_on_no_slot") == "1") {
    return llama_error_response({503, "no slot is free", "", "no_slot"});
  }
  Json slots = Json::array();
  for (uint32_t i = 0; i < n_slots; ++i) {
    slots.push_back({{"id", i},
                     {"n_ctx", loaded.info.n_ctx},
                     {"speculative", loaded.draft.model != nullptr},
                     {"is_processing", i < n_running}});
  }
  return json_response(slots);
}

}  // namespace realizar::server
