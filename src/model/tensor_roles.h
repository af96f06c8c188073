// How the tensors of a model file are named, and how large they are, by the rows of the architecture's table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "formats/model_file.h"
#include "model/arch/arch_spec.h"
#include "model/model_config.h"

namespace realizar {

// Replaces the first "{}" of a name by the layer, the second by the expert; outside layers the first by the latter.
std::string filled_name(std::string_view pattern, uint32_t layer, uint32_t expert);
// Number of "{}" in a name.
size_t n_placeholders(std::string_view pattern);

// What a file has as one stack of matrices: of how many. kNone: it has none.
Dim stack_dim(Role role);
bool is_expert_role(Role role);
// One tensor holds all matrices, of experts for instance: its name has a place for the layer alone.
bool is_stack(Role role, std::string_view pattern);
// The role has one tensor an expert, or the like, in files of that name; or one a row of a matrix.
bool is_listed(const TensorSpec& spec, std::string_view pattern);
bool is_by_row(const TensorSpec& spec, std::string_view pattern);

// A size of the model, or of one of its layers; the first one's where `layer` is below 0. Positions are those that the
// model counts.
uint64_t size_of(const ModelConfig& config, int32_t layer, Dim dim);

// What a file carries and the model does not need: parts for images and sounds, buffers of other programs, factors of
// quantized activations.
bool has_no_part(const ModelFile& file, const ArchSpec& spec, const TensorInfo& tensor);

}  // namespace realizar
