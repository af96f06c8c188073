// POST /v1/rerank and /rerank, as Jina's API, llama.cpp's server and Text Embeddings Inference have it: documents in
// the order of how well they answer a query, by a model that was trained to tell.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "api/ranking.h"
#include "base/try.h"
#include "server/chat_prompt.h"
#include "server/context.h"
#include "server/protocol.h"
#include "server/request_fields.h"
#include "server/tenant.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxDocuments = 2048;

class RankSpeller final : public Speller {
 public:
  // `documents`: what is given back with their places; empty: nothing. `is_plain`: in the form of Text Embeddings
  // Inference, a list.
  RankSpeller(std::string model, size_t n_wanted, std::vector<std::string> documents, bool is_plain)
      : model_(std::move(model)), n_wanted_(n_wanted), documents_(std::move(documents)), is_plain_(is_plain) {}

  std::string stream_news(size_t, const ChoiceNews&) override { return {}; }
  std::string stream_choice_end(size_t, const Choice&) override { return {}; }
  std::string stream_end(const Usage&, const Json*) override { return {}; }
  void collect(size_t, ChoiceNews) override {}

  Json whole(const std::vector<std::unique_ptr<Choice>>& choices, const Usage&) override {
    std::vector<float> relevance;
    size_t n_tokens = 0;
    for (const auto& choice : choices) {
      relevance.push_back(relevance_of(choice->end().embedding));
      n_tokens += choice->request().prompt.size();
    }
    std::vector<size_t> order(choices.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return relevance[a] > relevance[b]; });
    order.resize(std::min(order.size(), n_wanted_));
    Json results = Json::array();
    for (const size_t i : order) {
      const char* score = is_plain_ ? "score" : "relevance_score";
      Json& result = results.emplace_back(Json{{"index", i}, {score, decimal(relevance[i])}});
      if (documents_.empty()) continue;
      if (is_plain_) result["text"] = documents_[i];
      if (!is_plain_) result["document"] = Json{{"text", documents_[i]}};
    }
    if (is_plain_) return results;
    return {{"object", "list"},
            {"results", std::move(results)},
            {"model", model_},
            {"usage", {{"prompt_tokens", n_tokens}, {"total_tokens", n_tokens}}}};
  }

 private:
  std::string model_;
  size_t n_wanted_;
  std::vector<std::string> documents_;
  bool is_plain_;
};

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

Result<std::vector<TokenId>> read_pair(const ServedModel& model, const Call& call, const std::string& query,
                                       const std::string& document) {
  RZ_CHECK_OK(check_text_length(query.size() + document.size(), "documents", model));
  RZ_TRY(auto tokens, rank_prompt(*model.loaded, query, document));
  RZ_CHECK_OK(check_prompt_length(tokens.size(), "documents", model, call));
  return tokens;
}

Result<Prepared> read_rerank(Fields& body, const ServedModelPtr& model, const Call& call) {
  RZ_CHECK_OK(check_ranks(*model->loaded));
  const auto query = body.text("query");
  if (!query) body.fail("query", "expected a string");
  const auto n_wanted = body.integer("top_n", 1, INT32_MAX);
  const bool returns_documents = body.boolean("return_documents").value_or(false);
  const bool returns_text = body.boolean("return_text").value_or(false);
  const bool is_plain = body.any("texts") != nullptr;
  const char* field = is_plain ? "texts" : "documents";
  if (!body.status().ok()) return body.status().error();
  RZ_TRY(auto documents, read_documents(body, field));

  CompletionPlan plan;
  plan.n_per_prompt = 1;
  plan.prompt_field = field;
  for (size_t i = 0; i < documents.size(); ++i) {
    auto tokens = read_pair(*model, call, *query, documents[i]);
    if (!tokens.ok()) return of_item(tokens.error(), field, i);
    Request request;
    request.prompt = std::move(*tokens);
    request.pooling = Pooling::kRank;
    request.tenant = call.tenant;
    request.cache_salt = cache_salt_of(call, *model);
    if (call.context.options.request_timeout_ms > 0) request.timeout_ms = call.context.options.request_timeout_ms;
    plan.requests.push_back(std::move(request));
  }
  const size_t n_results = n_wanted ? static_cast<size_t>(*n_wanted) : documents.size();
  if (!(is_plain ? returns_text : returns_documents)) documents.clear();
  plan.speller = std::make_unique<RankSpeller>(model->id, n_results, std::move(documents), is_plain);
  return prepared(std::move(plan));
}

}  // namespace

const Protocol kRerank{.read = read_rerank};

}  // namespace realizar::server
