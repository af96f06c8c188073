// Whether the devices of this machine can run a model, told by its config before any weight is loaded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/engine_options.h"
#include "formats/model_file.h"
#include "model/model_config.h"
#include "realizar/result.h"

namespace realizar {

// Errors: as Backend::check.
Status check_on_cpu(const ModelConfig& config);

struct GpuFit {
  size_t n_gpus = 0;
  uint32_t n_layers = 0;  // of the file's that find room on them; the others would come over in each step
};
// Errors: those of cuda::list_devices; as Backend::check.
Result<GpuFit> fit_on_gpus(const ModelFile& file, const ModelConfig& config, const engine::EngineOptions& options);

}  // namespace realizar
