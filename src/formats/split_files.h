// A GGUF file that is split into parts NAME-00001-of-0000N.gguf (keys split.no, split.count, split.tensors.count).
// Parts that realizar writes say which set they are of (split.set_id), so that those of two models are never taken for
// one; other programs' parts do not.
#pragma once

#include <vector>

#include "base/mapped_file.h"
#include "formats/metadata.h"
#include "formats/model_file.h"
#include "realizar/result.h"

namespace realizar {

struct SplitGguf {
  std::vector<MappedFile> maps;
  Metadata metadata;               // of the first part
  std::vector<GgufEntry> entries;  // the same as it is stored
  std::vector<TensorInfo> tensors;
};

// Reads `part`, and the other parts where it is one of several. Errors: NotFound (a part), FormatError.
Result<SplitGguf> open_gguf_parts(MappedFile part);

}  // namespace realizar
