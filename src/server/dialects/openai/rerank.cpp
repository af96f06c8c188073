// POST /v1/rerank, as in Jina's API, llama.cpp's server and Text Embeddings Inference, and /v2/rerank, as in Cohere's
// API: documents ordered by how well they answer a query, according to a reranking model. POST /v1/score, as in vLLM's
// server: how well texts answer others, in the order in which they were sent.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "api/ranking.h"
#include "base/try.h"
#include "server/call/pooled_plan.h"
#include "server/call/protocol.h"
#include "server/call/request_fields.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxDocuments = 2048;

enum class RankForm : uint8_t {
  kUsual,   // Jina's
  kPlain,   // of Text Embeddings Inference: a list
  kCohere,  // the second version of Cohere's API
};

// `documents`: returned next to their indices; empty: not returned.
WholeWriter::Whole ranks_writer(const std::string& model, size_t n_wanted, std::vector<std::string> documents,
                                RankForm form) {
  auto result_json = [form, documents = std::move(documents)](size_t i, float relevance) {
    const bool is_plain = form == RankForm::kPlain;
    Json result{{"index", i}, {is_plain ? "score" : "relevance_score", decimal(relevance)}};
    if (documents.empty()) return result;
    if (is_plain) result["text"] = documents[i];
    if (!is_plain) result["document"] = Json{{"text", documents[i]}};
    return result;
  };
  return [=, result_json = std::move(result_json)](const Choices& choices, const Usage& usage,
                                                   JsonPieces& pieces) -> Json {
    std::vector<float> relevance;
    for (const auto& choice : choices) relevance.push_back(relevance_of(choice->end().embedding));
    std::vector<size_t> order(choices.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return relevance[a] > relevance[b]; });
    order.resize(std::min(order.size(), n_wanted));
    const size_t n_results = order.size();
    Json results = pieces.list(n_results, [&result_json, order = std::move(order), relevance = std::move(relevance)](
                                              size_t at) { return result_json(order[at], relevance[order[at]]); });
    if (form == RankForm::kPlain) return results;
    if (form == RankForm::kCohere) {
      return {{"id", random_id("rerank-")},
              {"results", std::move(results)},
              {"meta", {{"api_version", {{"version", "2"}}}, {"tokens", {{"input_tokens", usage.n_prompt}}}}}};
    }
    return {{"object", "list"},
            {"results", std::move(results)},
            {"model", model},
            {"usage", {{"prompt_tokens", usage.n_prompt}, {"total_tokens", usage.n_prompt}}}};
  };
}

// Strings, or objects with a text, in the field of that name.
Result<std::vector<std::string>> read_documents(Fields& body, const char* field) {
  const Json* given = body.array(field);
  if (given == nullptr || given->empty() || given->size() > kMaxDocuments) {
    return wrong(field, "expected 1 to 2048 strings, or objects with a text");
  }
  std::vector<std::string> documents;
  for (const Json& document : *given) {
    const Json* text = document.is_object() && document.contains("text") ? &document["text"] : &document;
    if (!text->is_string()) {
      return of_item(invalid_argument("expected a string, or an object with a text"), field, documents.size());
    }
    documents.push_back(text->get<std::string>());
  }
  return documents;
}

Result<Prepared> read_ranking(Fields& body, const ServedModelPtr& model, const RequestContext& context, RankForm form) {
  RZ_CHECK_OK(check_ranks(*model->loaded));
  const auto query = body.text("query");
  if (!query) body.fail("query", "expected a string");
  const auto n_wanted = body.integer("top_n", 1, INT32_MAX);
  const bool returns_documents = body.boolean("return_documents").value_or(false);
  const bool returns_text = body.boolean("return_text").value_or(false);
  const bool is_plain = form == RankForm::kUsual && body.any("texts") != nullptr;
  const char* field = is_plain ? "texts" : "documents";
  if (!body.status().ok()) return body.status().error();
  RZ_TRY(auto documents, read_documents(body, field));

  std::vector<TextPair> pairs;
  for (const std::string& document : documents) pairs.push_back({*query, document});
  RZ_TRY(CompletionPlan plan, pair_plan(pairs, field, *model, context));
  const size_t n_results = n_wanted ? static_cast<size_t>(*n_wanted) : documents.size();
  if (!(is_plain ? returns_text : returns_documents)) documents.clear();
  plan.writer = std::make_unique<WholeWriter>(
      ranks_writer(told_name(context, *model), n_results, std::move(documents), is_plain ? RankForm::kPlain : form));
  return prepared(std::move(plan));
}

template <RankForm form>
Result<Prepared> read_rerank(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  return read_ranking(body, model, context, form);
}

constexpr const char* kRerankFields[] = {"model",      "query", "documents", "texts", "top_n", "return_documents",
                                         "return_text"};

constexpr size_t kMaxScores = 2048;

WholeWriter::Whole scores_writer(const std::string& model) {
  return [=](const Choices& choices, const Usage& usage, JsonPieces&) -> Json {
    Json data = Json::array();
    for (const auto& choice : choices) {
      const float score = relevance_of(choice->end().embedding);
      data.push_back({{"index", data.size()}, {"object", "score"}, {"score", decimal(score)}});
    }
    return {{"id", random_id("score-")},
            {"object", "list"},
            {"created", unix_now_s()},
            {"model", model},
            {"data", std::move(data)},
            {"usage",
             {{"prompt_tokens", usage.n_prompt},
              {"total_tokens", usage.n_prompt},
              {"completion_tokens", 0},
              {"prompt_tokens_details", nullptr}}}};
  };
}

// A string or a list of strings, under an old or a new name.
Result<std::vector<std::string>> read_side(const Fields& body, const char* older, const char* newer) {
  const Json* given = body.any(older) != nullptr ? body.any(older) : body.any(newer);
  if (given == nullptr) return wrong(older, "expected a string or an array of strings");
  auto texts = texts_of(given->is_array() ? *given : Json::array({*given}));
  if (!texts) return wrong(older, "expected a string or an array of strings");
  if (texts->empty() || texts->size() > kMaxScores) return wrong(older, "expected 1 to 2048 strings");
  return *std::move(texts);
}

Result<Prepared> read_score(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  RZ_CHECK_OK(check_ranks(*model->loaded));
  RZ_TRY(const auto first, read_side(body, "text_1", "queries"));
  RZ_TRY(const auto second, read_side(body, "text_2", "documents"));
  if (first.size() != 1 && first.size() != second.size()) {
    return wrong("text_1", "expected one text, or as many as in text_2");
  }
  std::vector<TextPair> pairs;
  for (size_t i = 0; i < second.size(); ++i) pairs.push_back({first.size() == 1 ? first[0] : first[i], second[i]});
  RZ_TRY(CompletionPlan plan, pair_plan(pairs, "text_2", *model, context));
  plan.writer = std::make_unique<WholeWriter>(scores_writer(told_name(context, *model)));
  return prepared(std::move(plan));
}

constexpr const char* kScoreFields[] = {"model", "text_1", "text_2", "queries", "documents"};

}  // namespace

const Protocol kRerank{.read = read_rerank<RankForm::kUsual>, .fields = fields_of<kRerankFields>};
const Protocol kCohereRerank{.read = read_rerank<RankForm::kCohere>, .fields = fields_of<kRerankFields>};

const Protocol kScore{.read = read_score, .fields = fields_of<kScoreFields>};

}  // namespace realizar::server
