// Reads the JSON of Hugging Face's side files, and config.json as metadata: nested objects are flattened with dots,
// null is dropped. The content of "text_config" in a model for images counts as the file's own, except the model's
// name.
#pragma once

#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "formats/metadata.h"
#include "realizar/result.h"

namespace realizar {

struct HfConfig {
  Metadata metadata;
  std::deque<std::string> array_strings;  // owns the strings that arrays in `metadata` view
};

// Arrays of one kind of scalar become MetaArrays; other arrays are kept as their JSON text. `file` names the JSON in
// errors: FormatError if it is not an object, too deep, or not JSON.
Result<HfConfig> parse_hf_config(std::string_view json, std::string_view file);

// Parses JSON from Hugging Face's side files, including Python's variants (base/plain_json.h). FormatError if `text` is
// not JSON, not an object, or nested deeper than 32. `file` names it in errors.
Result<nlohmann::json> parse_json_object(std::string_view text, std::string_view file);

}  // namespace realizar
