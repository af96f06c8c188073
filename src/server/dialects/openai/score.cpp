// POST /v1/score, as in vLLM's server: how well texts answer others, in the order in which they were sent.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/ranking.h"
#include "base/try.h"
#include "server/call/adapter_fields.h"
#include "server/call/pooled_plan.h"
#include "server/call/protocol.h"
#include "server/call/request_fields.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxScores = 2048;

class ScoreWriter final : public ResponseWriter {
 public:
  explicit ScoreWriter(std::string model) : model_(std::move(model)) {}

  Json whole(const std::vector<std::unique_ptr<Choice>>& choices, const Usage& usage, JsonPieces&) override {
    Json data = Json::array();
    for (const auto& choice : choices) {
      const float score = relevance_of(choice->end().embedding);
      data.push_back({{"index", data.size()}, {"object", "score"}, {"score", decimal(score)}});
    }
    return {{"id", random_id("score-")},
            {"object", "list"},
            {"created", unix_now_s()},
            {"model", model_},
            {"data", std::move(data)},
            {"usage",
             {{"prompt_tokens", usage.n_prompt},
              {"total_tokens", usage.n_prompt},
              {"completion_tokens", 0},
              {"prompt_tokens_details", nullptr}}}};
  }

 private:
  std::string model_;
};

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
  plan.writer = std::make_unique<ScoreWriter>(told_name(context, *model));
  return prepared(std::move(plan));
}

constexpr const char* kScoreFields[] = {"model", "text_1", "text_2", "queries", "documents"};

}  // namespace

const Protocol kScore{.read = read_score, .fields = fields_of<kScoreFields>};

}  // namespace realizar::server
