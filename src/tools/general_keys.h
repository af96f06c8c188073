// GGUF's general.* keys for a folder: the model's name and origin, from its folder and its card.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/model_file.h"
#include "tools/conversion.h"

namespace realizar {

// Adds all keys except the size if no name contains it.
void add_general_keys(const ModelFile& folder, std::string_view arch, GgufKeys& keys);

// llama.cpp's number for a file whose large tensors mostly have this type.
uint32_t file_type_of(TypeId type);
// "1.2B", "630M", "8x7.2B": the size of a file with these tensors, counted and rounded like in llama.cpp's converter.
std::string size_label(const std::vector<PlannedTensor>& tensors);

}  // namespace realizar
