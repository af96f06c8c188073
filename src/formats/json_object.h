// JSON of Hugging Face's side files. Real ones hold integers above 64 bits (model_max_length: 10^30), which become
// doubles here; therefore nlohmann's parser and not simdjson's, which refuses them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar {

// FormatError where `text` is not JSON, not an object, or nested deeper than 32. `file` names it in errors.
Result<nlohmann::json> parse_json_object(std::string_view text, std::string_view file);

// Python writes numbers that are not finite as words, which JSON does not have: in the text that comes of it they are
// strings.
std::string with_quoted_numbers(std::string_view text);

}  // namespace realizar
