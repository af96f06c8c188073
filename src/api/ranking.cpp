#include "api/ranking.h"

#include <fmt/format.h>

#include <cmath>

#include "base/try.h"
#include "model/model.h"

namespace realizar {
namespace {

// The text of a pair for a decoder whose file does not define it: the one in the model card of Qwen3-Reranker, the only
// such family.
constexpr std::string_view kDecoderTemplate =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    "provided. "
    "Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a web search "
    "query, retrieve relevant passages that answer the query\n<Query>: {query}\n<Document>: {document}<|im_end|>\n"
    "<|im_start|>assistant\n<think>\n\n</think>\n\n";

// Replaces {query} and {document}; these names within the inserted texts stay as they are.
std::vector<text::PromptPiece> fill_template(std::string_view pattern, std::string_view query,
                                             std::string_view document) {
  constexpr std::string_view kQuery = "{query}", kDocument = "{document}";
  std::vector<text::PromptPiece> pieces;
  while (!pattern.empty()) {
    const size_t at = std::min(pattern.find(kQuery), pattern.find(kDocument));
    pieces.push_back({std::string(pattern.substr(0, at)), false});
    if (at == std::string_view::npos) break;
    const bool is_query = pattern.substr(at).starts_with(kQuery);
    pieces.push_back({std::string(is_query ? query : document), true});
    pattern.remove_prefix(at + (is_query ? kQuery : kDocument).size());
  }
  return pieces;
}

}  // namespace

Status check_ranks(const LoadedModel& model) {
  const ModelConfig& config = model.model->config();
  if (config.n_labels == 1 || config.n_labels == 2) return {};
  if (config.n_labels == 0) {
    return unsupported("the model is not a reranker: it has no layer that scores a text", "model");
  }
  return unsupported(fmt::format("the model is not a reranker: it sorts texts into {} classes", config.n_labels),
                     "model");
}

Result<std::vector<TokenId>> rank_prompt(const LoadedModel& model, std::string_view query, std::string_view document) {
  RZ_TRY(const text::Tokenizer* tokenizer, model.require_tokenizer());
  RZ_TRY(const auto pattern, model.file.metadata().get_string("tokenizer.chat_template.rerank"));
  const ModelConfig& config = model.model->config();
  if (pattern || !config.is_bidirectional) {
    const std::string_view own = pattern ? std::string_view(*pattern) : kDecoderTemplate;
    return tokenizer->encode(fill_template(own, query, document), {.add_special = false, .parse_special = true});
  }
  text::TokenPair pair = tokenizer->encode_pair(query, document);
  if (config.n_types < 2) return std::move(pair.ids);
  const auto n_vocab = static_cast<int32_t>(config.n_vocab);
  for (size_t i = pair.n_first; i < pair.ids.size(); ++i) pair.ids[i] = TokenId{to_index(pair.ids[i]) + n_vocab};
  return std::move(pair.ids);
}

float relevance_of(std::span<const float> scores) {
  const float other = scores.size() > 1 ? scores[1] : 0.0f;
  return 1.0f / (1.0f + std::exp(other - scores[0]));
}

}  // namespace realizar
