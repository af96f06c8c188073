// What a model's makers recommend for generating with it: end tokens, sampling parameters, texts that end an answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_file.h"
#include "realizar/request.h"
#include "realizar/result.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar {

struct GenerationConfig {
  std::vector<TokenId> end_tokens;  // the tokenizer's and those that the file adds
  SamplingParams sampling;          // the defaults, changed where the file says so
  std::vector<std::string> stop;    // texts that end an answer, where settings beside the file name some
};

// Reads generation_config.json, or GGUF's general.sampling.* keys. Errors: FormatError.
Result<GenerationConfig> read_generation_config(const ModelFile& file, const text::Tokenizer& tokenizer);

// Ollama's parameters, a JSON object, over a config. Gives num_ctx, 0 where it is not there. Errors: FormatError.
Result<uint32_t> apply_ollama_params(std::string_view params, GenerationConfig& config);

}  // namespace realizar
