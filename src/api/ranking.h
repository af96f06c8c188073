// Rerankers: the prompt of a query and a document, and what the model's scores of it say.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "api/loaded_model.h"
#include "realizar/result.h"

namespace realizar {

// Errors: Unsupported where the model is no reranker.
Status check_ranks(const LoadedModel& model);
// By the file's template for it, or as the vocabulary joins two texts; the second one's tokens are of the second type
// where the model has types.
Result<std::vector<TokenId>> rank_prompt(const LoadedModel& model, std::string_view query, std::string_view document);
// How well the document answers, from 0 to 1: of one score its sigmoid, of two ("yes" and "no") the share of the first.
float relevance_of(std::span<const float> scores);

}  // namespace realizar
