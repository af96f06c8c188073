// How a model file's weights are stored, in a word.
#pragma once

#include <string>

#include "formats/model_file.h"

namespace realizar {

// "Q4_K_M" where the file names its mixture of types; else the type that most of its bytes have, with the method of
// another program before it ("awq as Q4_1").
std::string quantization_name(const ModelFile& file);

}  // namespace realizar
