// GGUF's keys with the architecture's prefix, and the factors of the rotation, which are tensors.
#pragma once

#include <vector>

#include "formats/model_file.h"
#include "model/arch/arch_spec.h"
#include "model/model_config.h"
#include "realizar/result.h"
#include "tools/conversion.h"

namespace realizar {

// `config` is the folder's, read by the row `spec`; the file will be read by the row `target`. Errors: those of the
// config's readers.
Status add_config_keys(const ModelFile& folder, const ArchSpec& spec, const ArchSpec& target, const ModelConfig& config,
                       GgufPlan& plan);

// Adds only the keys and the tensors of the rotation.
Status add_rope_keys(const ModelFile& folder, const ArchSpec& spec, const ArchSpec& target, const ModelConfig& config,
                     GgufPlan& plan);

// The sections of the rotation if the model also rotates for images (M-RoPE): GGUF then stores rotated rows in halves.
std::vector<int32_t> rope_sections(const Metadata& folder);

}  // namespace realizar
