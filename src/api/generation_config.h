// Recommendations of a model's makers for generation: end tokens, sampling parameters, stop strings.
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
  std::vector<text::EndToken> ends;  // with the file and key that define them
  std::vector<TokenId> end_tokens;   // ids of `ends`
  SamplingParams sampling;           // the defaults, with the file's changes
  std::vector<std::string> stop;     // stop strings, if settings stored with the file name some
  std::vector<std::string> notes;    // the recommendations and special tokens that are ignored, and why
};

// Reads the end tokens (formats/end_claims.h) and the recommendations: generation_config.json, or GGUF's
// general.sampling.* keys. A recommendation that no request could set is skipped with a note. Errors: FormatError;
// InvalidArgument for a change that names no token.
Result<GenerationConfig> read_generation_config(const ModelFile& file, const text::Tokenizer& tokenizer,
                                                const EndSettings& changes = {});

// The source of a parameter out of range: a request, which fails, or a model's recommendation, which is skipped with a
// note.
enum class WrongParams : uint8_t { kError, kNote };

// Applies Ollama's parameters, a JSON object, to a config. Returns num_ctx, 0 if it is not set. Errors: FormatError.
Result<uint32_t> apply_ollama_params(std::string_view params, GenerationConfig& config,
                                     WrongParams wrong = WrongParams::kNote);

}  // namespace realizar
