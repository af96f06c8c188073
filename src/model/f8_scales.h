// Scales of F8_E4M3 matrices in SafeTensors files. A tensor "x.weight" has "x.weight_scale_inv" with one scale for each
// block of 128 x 128 (transformers' quant_method "fp8"), or "x.weight_scale" with one for the whole matrix or one per
// row (compressed-tensors, ModelOpt). Elements are multiplied by all of them, whatever the name says.
#pragma once

#include <vector>

#include "backend/backend.h"  // kF8ScaleCols
#include "formats/model_file.h"

namespace realizar {

// Null if the matrix has no scales: its elements are the values.
const TensorInfo* find_f8_scales(const ModelFile& file, const TensorInfo& matrix);

// Appends the scales of rows [first_row, first_row + n_rows) of `matrix` to `out` in the layout of
// MatrixSource::scales, or ones if `scales` is null. Errors: Unsupported (another shape), FormatError (a scale is not
// finite).
Status append_f8_scales(const TensorInfo& matrix, const TensorInfo* scales, uint32_t first_row, uint32_t n_rows,
                        std::vector<float>& out);

// Whether a tensor is a scale of quantized activations or caches, which is not used.
bool is_unused_f8_scale(std::string_view name);

}  // namespace realizar
