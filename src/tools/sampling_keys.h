// The recommended sampling parameters: generation_config.json in a folder, general.sampling.* in a GGUF file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "formats/metadata.h"
#include "realizar/result.h"
#include "tools/gguf_keys.h"

namespace realizar {

// `generation_config`: the file's text. Errors: FormatError.
Status add_sampling_keys(const std::string& generation_config, GgufKeys& keys);

// Adds a GGUF file's recommendations to a folder's generation_config.json.
void add_recommended_sampling(const Metadata& gguf, nlohmann::ordered_json& generation_config);

bool is_sampling_key(std::string_view key);

}  // namespace realizar
