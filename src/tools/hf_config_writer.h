// Writes config.json for the model in a GGUF file, in the form of one of transformers' classes.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "formats/model_file.h"
#include "model/arch/arch_spec.h"
#include "model/model_config.h"
#include "realizar/result.h"

namespace realizar {

// `config` is the file's, read by the row `source`; the folder will be read by the row `spec`. Errors: those of the
// config's readers.
Result<nlohmann::ordered_json> hf_config_of(const ModelFile& gguf, const ArchSpec& source, const ArchSpec& spec,
                                            std::string_view hf_class, const ModelConfig& config);

// transformers' model type for a class: "qwen3_moe" for "Qwen3MoeForCausalLM".
std::string model_type_of(std::string_view hf_class);

// Sets a member by its path, "a.b.c"; an empty path sets nothing.
void set_member(nlohmann::ordered_json& root, std::string_view path, nlohmann::ordered_json value);

// The members for the rotation.
Status add_hf_rope(const ModelFile& gguf, const ArchSpec& source, const ArchSpec& spec, const ModelConfig& config,
                   nlohmann::ordered_json& root);

}  // namespace realizar
