// What a model's makers recommend for generating with it: end tokens, sampling parameters, texts that end an answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_file.h"
#include "realizar/options.h"
#include "realizar/request.h"
#include "realizar/result.h"
#include "text/tokenizer/end_tokens.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar {

struct GenerationConfig {
  std::vector<text::EndToken> ends;  // with the places that name them
  std::vector<TokenId> end_tokens;   // the ids of `ends`
  SamplingParams sampling;           // the defaults, changed where the file says so
  std::vector<std::string> stop;     // texts that end an answer, where settings beside the file name some
  std::vector<std::string> notes;    // what of the files' recommendations and special tokens is left out, and why
};

// Reads where answers end (formats/end_claims.h), and what is recommended: generation_config.json, or GGUF's
// general.sampling.* keys. A recommendation that no request could make is left out with a note. Errors: FormatError;
// InvalidArgument for a change that names no token.
Result<GenerationConfig> read_generation_config(const ModelFile& file, const text::Tokenizer& tokenizer,
                                                const EndSettings& changes = {});

// Who is at fault for a parameter out of its range: the request that gives it, or a model's recommendation, which is
// left out with a note.
enum class WrongParams : uint8_t { kError, kNote };

// Ollama's parameters, a JSON object, over a config. Gives num_ctx, 0 where it is not there. Errors: FormatError.
Result<uint32_t> apply_ollama_params(std::string_view params, GenerationConfig& config,
                                     WrongParams wrong = WrongParams::kNote);

}  // namespace realizar
