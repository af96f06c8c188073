// POST /api/embed and the older /api/embeddings (https://docs.ollama.com/api/embed): vectors of length 1.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/pooled_plan.h"
#include "server/dialects/ollama/ollama.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxEmbedInputs = 2048;

WholeWriter::Whole embed_writer(const std::string& model, uint32_t n_values, bool is_old,
                                const RequestContext& context) {
  return [=, start = context.start, load_ms = context.load_ms](const Choices& choices, const Usage& usage,
                                                               JsonPieces& pieces) -> Json {
    const auto vector_at = [=, &choices, &pieces](size_t i) {
      return vector_json(shortened(choices[i]->end().embedding, n_values), pieces);
    };
    if (is_old) return {{"embedding", vector_at(0)}};
    return {{"model", model},
            {"embeddings", pieces.list(choices.size(), vector_at)},
            {"total_duration", std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count()},
            {"load_duration", static_cast<int64_t>(load_ms * 1e6)},
            {"prompt_eval_count", usage.n_prompt}};
  };
}

struct EmbedRequest {
  std::string model;
  bool truncates = true;
  std::optional<KeepAlive> keep_alive;
  uint32_t n_values = 0;
};

Result<std::vector<TokenId>> embed_tokens(const std::string& text, const EmbedRequest& request,
                                          const ServedModel& model) {
  if (!request.truncates) RZ_CHECK_OK(check_text_length({text}, "input", model));
  const size_t most = request.truncates ? model.loaded->info.n_ctx : SIZE_MAX;
  auto tokens = first_tokens(text, most, model);
  if (tokens.empty()) return invalid_argument("input: expected text, actual nothing", "input");
  return tokens;
}

Result<EmbedRequest> read_embed_request(Fields& body, const ServedModel& model) {
  if (model.loaded->pooling() == Pooling::kRank) {
    return invalid_argument("model: a reranker cannot make vectors: use /v1/rerank", "model");
  }
  EmbedRequest request;
  request.model = body.text("model").value_or("");
  if (request.model.empty()) return invalid_argument("model is required", "model");
  request.truncates = body.boolean("truncate").value_or(true);
  request.keep_alive = read_keep_alive(body);
  static_cast<void>(body.object("options"));
  const uint32_t d_model = model.loaded->info.d_model;
  const auto n_values = body.integer("dimensions", INT32_MIN, d_model);
  request.n_values = n_values && *n_values > 0 ? static_cast<uint32_t>(*n_values) : d_model;
  if (!body.status().ok()) return body.status().error();
  return request;
}

Result<Prepared> plan_embeddings(const std::vector<std::string>& texts, const EmbedRequest& embed, bool is_old,
                                 const ServedModelPtr& model, const RequestContext& context) {
  const auto read = [&](size_t i) { return embed_tokens(texts[i], embed, *model); };
  RZ_TRY(CompletionPlan plan,
         pooled_plan(texts.size(), "input", texts.size() > 1, model->loaded->pooling(), *model, context, read));
  plan.writer = std::make_unique<WholeWriter>(embed_writer(embed.model, embed.n_values, is_old, context));
  return prepared(std::move(plan));
}

Prepared no_vectors(const EmbedRequest& embed, bool is_old) {
  const Json json =
      is_old ? Json{{"embedding", Json::array()}} : Json{{"model", embed.model}, {"embeddings", Json::array()}};
  return prepared(json, kOllamaJson);
}

Result<Prepared> read_embed(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  RZ_TRY(const EmbedRequest embed, read_embed_request(body, *model));
  const Json* given = body.any("input");
  const Json nothing = Json::array();
  const Json& input = given == nullptr || is_empty_text(*given) ? nothing : *given;
  const bool is_one = input.is_string();
  if (!is_one && !input.is_array()) return wrong("input", "expected a string or an array of strings");
  const auto texts = texts_of(is_one ? Json::array({input}) : input);
  if (!texts) return wrong("input", "expected a string or an array of strings");
  if (texts->size() > kMaxEmbedInputs)
    return wrong("input", fmt::format("expected at most {} strings", kMaxEmbedInputs));
  apply_keep_alive(embed.keep_alive, *model, context);
  if (texts->empty()) return no_vectors(embed, false);
  return plan_embeddings(*texts, embed, false, model, context);
}

Result<Prepared> read_old_embeddings(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  RZ_TRY(const EmbedRequest embed, read_embed_request(body, *model));
  const std::string prompt = body.text("prompt").value_or("");
  if (!body.status().ok()) return body.status().error();
  apply_keep_alive(embed.keep_alive, *model, context);
  if (prompt.empty()) return no_vectors(embed, true);
  return plan_embeddings({prompt}, embed, true, model, context);
}

constexpr const char* kEmbedFields[] = {"model", "input", "truncate", "keep_alive", "options", "dimensions"};
constexpr const char* kOldEmbeddingFields[] = {"model", "prompt", "keep_alive", "options"};

}  // namespace

const Protocol kOllamaEmbed{
    .read = read_embed, .fields = fields_of<kEmbedFields>, .model_id = ollama_model_id, .spell_error = ollama_error};
const Protocol kOllamaEmbeddings{.read = read_old_embeddings,
                                 .fields = fields_of<kOldEmbeddingFields>,
                                 .model_id = ollama_model_id,
                                 .spell_error = ollama_error};

}  // namespace realizar::server
