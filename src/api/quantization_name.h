// A short name for a model file's weight format.
#pragma once

#include <string>

#include "formats/model_file.h"

namespace realizar {

// "Q4_K_M" if the file names its mixture of types; else the type of most of its bytes, preceded by another program's
// method if one was used ("awq as Q4_1").
std::string quantization_name(const ModelFile& file);

}  // namespace realizar
