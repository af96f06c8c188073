// What a model's makers recommend for generating with it: end tokens and sampling parameters.
#pragma once

#include <vector>

#include "formats/model_file.h"
#include "realizar/request.h"
#include "realizar/result.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar {

struct GenerationConfig {
  std::vector<TokenId> end_tokens;  // the tokenizer's and those that the file adds
  SamplingParams sampling;          // the defaults, changed where the file says so
};

// Reads generation_config.json, or GGUF's general.sampling.* keys. Errors: FormatError.
Result<GenerationConfig> read_generation_config(const ModelFile& file, const text::Tokenizer& tokenizer);

}  // namespace realizar
