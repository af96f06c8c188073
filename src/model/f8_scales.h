// What the elements of an F8_E4M3 matrix in a SafeTensors file are multiplied by. With a tensor "x.weight" comes
// "x.weight_scale_inv", one for each block of 128 x 128 (transformers' quant_method "fp8"), or "x.weight_scale", one
// for the whole matrix or one a row (compressed-tensors, ModelOpt). All are factors, whatever the name says.
#pragma once

#include <vector>

#include "backend/backend.h"  // kF8ScaleCols
#include "formats/model_file.h"

namespace realizar {

// Null where there is none: the elements are then the values themselves.
const TensorInfo* find_f8_scales(const ModelFile& file, const TensorInfo& matrix);

// As MatrixSource.scales wants those of the rows [first_row, first_row + n_rows) of `matrix`, appended to `out`; 1
// where `scales` is null. Errors: Unsupported (another shape), FormatError (a scale is not finite).
Status append_f8_scales(const TensorInfo& matrix, const TensorInfo* scales, uint32_t first_row, uint32_t n_rows,
                        std::vector<float>& out);

// A factor of quantized activations or caches, which this program computes otherwise.
bool is_unused_f8_scale(std::string_view name);

}  // namespace realizar
