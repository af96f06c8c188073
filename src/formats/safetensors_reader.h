// Reads one SafeTensors file in memory: only its JSON header (github.com/huggingface/safetensors, "Format").
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/model_file.h"
#include "formats/packed_matrix.h"
#include "realizar/result.h"

namespace realizar {

struct SafeTensors {
  std::vector<TensorInfo> tensors;   // in file order; data are spans of the bytes
  std::vector<RawTensor> raws;       // with element types that only occur in parts of quantized matrices
  std::vector<std::string> buffers;  // names of integer tables that exporters store with the weights
};

// The error for a tensor whose element type is not one of weights.
Error unsupported_element_type(std::string_view file, std::string_view name, std::string_view dtype);

// Tensors in file order; data are spans of the bytes. FormatError (header, shape, range, gap, overlap, duplicate) and
// Unsupported (element type) name the tensor.
Result<SafeTensors> parse_safetensors(std::span<const std::byte> bytes, std::string_view file);

// model.safetensors.index.json: tensor name -> file of its part, relative to the folder. FormatError on names that
// leave the folder.
using ShardMap = std::unordered_map<std::string, std::string>;
Result<ShardMap> parse_safetensors_index(std::string_view json, std::string_view file);

}  // namespace realizar
