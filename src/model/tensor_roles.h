// Names and sizes of a model file's tensors, by the architecture's table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "formats/model_file.h"
#include "model/arch/arch_spec.h"
#include "model/model_config.h"

namespace realizar {

// Replaces the first "{}" of a name with `layer` and the second with `expert`.
std::string filled_name(std::string_view pattern, uint32_t layer, uint32_t expert);
// Number of "{}" in a name.
size_t n_placeholders(std::string_view pattern);

// The number of matrices in a role's stack; kNone: the role is not a stack.
Dim stack_dim(Role role);
bool is_expert_role(Role role);
// Whether one tensor holds all matrices of a stack: its name has no placeholder for them.
bool is_stack(Role role, std::string_view pattern);
// Whether files with that name have one tensor per matrix of a stack, or one per row of a matrix.
bool is_listed(const TensorSpec& spec, std::string_view pattern);
bool is_by_row(const TensorSpec& spec, std::string_view pattern);

// A size of the model or of a layer; below 0, `layer` means the first one. kCtx does not include skipped positions.
uint64_t size_of(const ModelConfig& config, int32_t layer, Dim dim);

// Whether the model does not use a tensor: parts for images and sounds, buffers of other programs, scales of quantized
// activations.
bool is_unused(const ModelFile& file, const ArchSpec& spec, const TensorInfo& tensor);

}  // namespace realizar
