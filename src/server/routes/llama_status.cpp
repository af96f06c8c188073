// GET /props and GET /slots, as llama.cpp's server has them: what a model is served with, and how busy it is. POST
// /props and POST /slots/ID are refused.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "server/context.h"
#include "server/generation_settings.h"
#include "server/llama_error.h"
#include "server/routes.h"

namespace realizar::server {
namespace {

constexpr std::string_view kModel = "model=";

// The value of a query's field "NAME="; "" where there is none.
std::string_view query_value(std::string_view query, std::string_view field) {
  while (!query.empty()) {
    const size_t end = query.find('&');
    if (query.starts_with(field)) return query.substr(field.size(), end - field.size());
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
  }
  return {};
}

// The model that the query names, or the first; where it is not loaded, an answer that says so.
Result<ServedModelPtr> model_of(const Call& call) {
  const std::string name = percent_decoded(query_value(call.request.query, kModel));
  const auto* entry = call.context.models.find(name);
  if (entry == nullptr) return call.context.models.no_such_model(name);
  if (entry->model == nullptr) {
    return Error{ErrorCode::kResourceExhausted, "the model is not loaded", std::string(kOutOfResources)};
  }
  return entry->model;
}

std::string text_of_token(const ServedModel& model, std::optional<TokenId> id) {
  return id ? model.tokenizer().token_bytes(*id, {.skip_special = false}) : std::string();
}

Json default_settings(const ServedModel& model) {
  GenerationFields fields;
  fields.request.sampling = model.loaded->generation_config.sampling;
  Json params = generation_settings(fields);
  params["seed"] = -1;
  return {{"n_ctx", model.loaded->info.n_ctx}, {"params", std::move(params)}};
}

HttpResponse respond_json(const Json& json) {
  return {200, "application/json", dump(json), {}};
}

}  // namespace

// A file's folders are nobody's business.
HttpResponse get_props(const Call& call) {
  const auto model = model_of(call);
  if (!model.ok()) return llama_error_response(to_api_error(model.error()));
  const LoadedModel& loaded = *(*model)->loaded;
  const auto& ends = loaded.generation_config.end_tokens;
  return respond_json({{"default_generation_settings", default_settings(**model)},
                       {"total_slots", loaded.engine->max_seqs()},
                       {"model_alias", (*model)->id},
                       {"model_path", std::filesystem::path(loaded.info.path).filename().string()},
                       {"chat_template", loaded.template_source.source},
                       {"bos_token", text_of_token(**model, (*model)->tokenizer().bos())},
                       {"eos_token", text_of_token(**model, ends.empty() ? std::nullopt : std::optional(ends.front()))},
                       {"modalities", {{"vision", false}, {"audio", false}}},
                       {"endpoint_slots", true},
                       {"endpoint_props", false},
                       {"endpoint_metrics", call.context.options.metrics},
                       {"build_info", system_fingerprint()},
                       {"is_sleeping", false}});
}

// Sequences have no fixed places: the first slots are those at work.
HttpResponse get_slots(const Call& call) {
  const auto model = model_of(call);
  if (!model.ok()) return llama_error_response(to_api_error(model.error()));
  const LoadedModel& loaded = *(*model)->loaded;
  const uint32_t n_running = loaded.engine->counters().n_running.load();
  const uint32_t n_slots = loaded.engine->max_seqs();
  if (n_running >= n_slots && query_value(call.request.query, "fail_on_no_slot=") == "1") {
    return llama_error_response({503, "no slot is free", "", "no_slot"});
  }
  Json slots = Json::array();
  for (uint32_t i = 0; i < n_slots; ++i) {
    slots.push_back({{"id", i},
                     {"n_ctx", loaded.info.n_ctx},
                     {"speculative", loaded.draft.model != nullptr},
                     {"is_processing", i < n_running}});
  }
  return respond_json(slots);
}

HttpResponse post_slot(const Call&) {
  return llama_error_response({501,
                               "slots cannot be saved, restored or erased: every request finds the prefixes of earlier "
                               "ones, --cache-dir keeps them over restarts, DELETE /cache forgets them",
                               "", "not_supported"});
}

}  // namespace realizar::server
