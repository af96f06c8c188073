// What GGUF's keys below the architecture's name say of a model, and the factors of its rotation, which are tensors.
#pragma once

#include <vector>

#include "formats/model_file.h"
#include "model/arch/arch_spec.h"
#include "model/model_config.h"
#include "realizar/result.h"
#include "tools/conversion.h"

namespace realizar {

// `config` is the folder's, read by the row `spec`; the file is to be read by the row `target`. Errors: as the config's
// readers give them.
Status add_config_keys(const ModelFile& folder, const ArchSpec& spec, const ArchSpec& target, const ModelConfig& config,
                       GgufPlan& plan);

// The keys and the tensors of the rotation alone.
Status add_rope_keys(const ModelFile& folder, const ArchSpec& spec, const ArchSpec& target, const ModelConfig& config,
                     GgufPlan& plan);

// Whether the model rotates by sections for images too (M-RoPE): GGUF then has rotated rows in halves.
std::vector<int32_t> rope_sections(const Metadata& folder);

}  // namespace realizar
