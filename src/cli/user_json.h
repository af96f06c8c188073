// Parses JSON written by a user: errors include their position.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "realizar/result.h"

namespace realizar::cli {

// The name of a file in messages: "-" is "standard input".
std::string source_name(const std::string& path);

// Errors: FormatError "WHERE, line 2, column 5: this is not JSON: ...".
Result<nlohmann::ordered_json> parse_json_text(const std::string& text, const std::string& where);

}  // namespace realizar::cli
