// The sections of Hugging Face's tokenizer.json, each read by one function into the parts that it describes. A section
// that is absent or null gives an empty part; an unsupported component is refused by its name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"
#include "text/tokenizer/tokenizer_parts.h"

namespace simdjson::dom {
class element;
}

namespace realizar::text {

using JsonElement = simdjson::dom::element;

Result<Normalizer> read_normalizer(const JsonElement& section);

struct HfPreTokenizer {
  PreTokenizer part;
  // The last step is ByteLevel, and it was left to the model: a BPE model takes raw bytes.
  bool byte_level = false;
};
// `raw_bytes`: the model can take raw bytes, so a final ByteLevel step need not spell them.
Result<HfPreTokenizer> read_pre_tokenizer(const JsonElement& section, bool raw_bytes);

Result<PostProcessor> read_post_processor(const JsonElement& section, const Vocabulary& vocab);

struct HfDecoder {
  StringTable decoded;
  bool strips_leading_space = false;
};
Result<HfDecoder> read_decoder(const JsonElement& section, const Vocabulary& vocab);

}  // namespace realizar::text
