// Assembles the quantized matrices of Hugging Face folders from their tensors: GPTQ, AWQ, HQQ, bitsandbytes,
// compressed-tensors, ModelOpt, MXFP4.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata.h"
#include "formats/model_file.h"
#include "formats/packed_matrix.h"
#include "realizar/result.h"

namespace realizar {

// Removes the tensors of packed matrices from both lists, and appends each matrix to `tensors` under the name that it
// would have without quantization. `notes` lists quantization that could not be kept exactly. `file` names config.json
// in errors: Unsupported (a method or setting, by name), FormatError (a tensor that is missing or of another shape or
// type).
Status bind_packed_matrices(const Metadata& config, std::string_view file, std::vector<TensorInfo>& tensors,
                            std::vector<RawTensor>& raws, std::vector<std::string>& notes);

}  // namespace realizar
