// Parses the JSON of manifests and of hubs' answers, and checks each member.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::hub {

using Json = nlohmann::json;

// `where` appears in every error. Errors: FormatError.
Result<Json> parse_json_object(std::string_view text, const std::string& where);
Result<Json> parse_json_list(std::string_view text, const std::string& where);
// A required member.
Result<std::string> text_member(const Json& object, const char* name, const std::string& where);
// At most 2^62, so that sums of several do not overflow.
Result<uint64_t> size_member(const Json& object, const char* name, const std::string& where);
Result<Json> list_member(const Json& object, const char* name, const std::string& where);

}  // namespace realizar::hub
