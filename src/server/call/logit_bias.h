// The field logit_bias, in the spellings of OpenAI's and llama.cpp's clients.
#pragma once

#include <utility>
#include <vector>

#include "server/http/json.h"
#include "server/models/served_model.h"

namespace realizar::server {

struct LogitBias {
  std::vector<std::pair<TokenId, float>> added;
  std::vector<TokenId> never;  // tokens that must not come
};

// Reads {"ID or TEXT": BIAS} or [[ID or TEXT, BIAS]]. BIAS is a number from -100 to 100, or `false`, which is never; a
// text's tokens are biased each. A key that is a whole number is an id. Errors: InvalidArgument for logit_bias.
Result<LogitBias> read_logit_bias(const Json& given, const ServedModel& model);

}  // namespace realizar::server
