// Rerankers: the prompt for a query and a document, and the meaning of the model's scores.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "api/loaded_model.h"
#include "realizar/result.h"

namespace realizar {

// Errors: Unsupported if the model is not a reranker.
Status check_ranks(const LoadedModel& model);
// Uses the file's template, or else joins two texts as the vocabulary defines; tokens of the second text have the
// second type if the model has types.
Result<std::vector<TokenId>> rank_prompt(const LoadedModel& model, std::string_view query, std::string_view document);
// The relevance of the document, from 0 to 1: the sigmoid of a single score, or the first one's share of two ("yes" and
// "no").
float relevance_of(std::span<const float> scores);

}  // namespace realizar
