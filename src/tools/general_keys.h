// GGUF's general.* keys of a folder: what the model is called, by its folder and its card.
#pragma once

#include <string_view>

#include "formats/model_file.h"
#include "tools/gguf_keys.h"

namespace realizar {

void add_general_keys(const ModelFile& folder, std::string_view arch, GgufKeys& keys);

// llama.cpp's number for a file whose large tensors are mostly of the type.
uint32_t file_type_of(TypeId type);
// "1.2B", "350M": of so many weights, as llama.cpp's converter rounds them.
std::string size_label(uint64_t n_weights);

}  // namespace realizar
