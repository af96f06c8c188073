// Reads the parts of a serialized sentencepiece ModelProto (tokenizer.model) that a tokenizer needs. Parsed by hand
// from the protocol buffer wire format (protobuf.dev, "Encoding"; fields as in sentencepiece_model.proto).
#pragma once

#include <string_view>

#include "realizar/result.h"
#include "text/tokenizer/spm_parts.h"

namespace realizar::text {

// Errors: FormatError naming the message and field; Unsupported (a model of whole words or characters, white space as a
// suffix).
Result<SpmDescription> read_model_proto(std::string_view bytes);

}  // namespace realizar::text
