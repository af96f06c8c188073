// config.json as metadata: nested objects flattened by dots, null left out. What a model that also sees images has in
// "text_config" counts as the file's own, but for the name of the model.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "formats/metadata.h"
#include "realizar/result.h"

namespace realizar {

struct HfConfig {
  Metadata metadata;
  std::deque<std::string> array_strings;  // what the string arrays of `metadata` view
};

// Arrays of one kind of scalar become MetaArrays; other arrays are kept as their JSON text. `file` names the JSON in
// errors: FormatError where it is not an object, too deep, or not JSON.
Result<HfConfig> parse_hf_config(std::string_view json, std::string_view file);

}  // namespace realizar
