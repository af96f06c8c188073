// Reads one GGUF file (version 2 or 3, little-endian) in memory: only its header, no tensor byte is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "formats/metadata.h"
#include "formats/model_file.h"
#include "realizar/result.h"

namespace realizar {

struct GgufFile {
  Metadata metadata;                // strings in arrays are views into the bytes
  std::vector<GgufEntry> entries;   // the same entries as stored, in file order
  std::vector<TensorInfo> tensors;  // in the order of the directory; data are spans of the bytes
};

// `file` names the bytes in errors. FormatError or Unsupported as in ModelFile::open. Tensor names are not checked for
// duplicates yet: the parts of a split file share one name space (index_tensors).
Result<GgufFile> parse_gguf(std::span<const std::byte> bytes, std::string_view file);

}  // namespace realizar
