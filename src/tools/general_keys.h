// GGUF's general.* keys of a folder: what the model is called, by its folder and its card.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/model_file.h"
#include "tools/conversion.h"

namespace realizar {

// All but the size, where no name tells it.
void add_general_keys(const ModelFile& folder, std::string_view arch, GgufKeys& keys);

// llama.cpp's number for a file whose large tensors are mostly of the type.
uint32_t file_type_of(TypeId type);
// "1.2B", "630M", "8x7.2B": of a file with these tensors, as llama.cpp's converter counts and rounds the weights.
std::string size_label(const std::vector<PlannedTensor>& tensors);

}  // namespace realizar
