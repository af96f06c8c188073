// Parses JSON from Hugging Face's side files, including Python's variants (base/plain_json.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar {

// FormatError if `text` is not JSON, not an object, or nested deeper than 32. `file` names it in errors.
Result<nlohmann::json> parse_json_object(std::string_view text, std::string_view file);

}  // namespace realizar
