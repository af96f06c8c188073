// Writes a Hugging Face folder: SafeTensors files and what lies beside them, with memory for some rows of one tensor.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "realizar/result.h"
#include "tools/model_writer.h"

namespace realizar {

// `tensors` are of F32, F16 or BF16. With `most_bytes` not 0, and more bytes of tensors, the weights are in several
// files with an index, as transformers names them; those whose names begin with "2_Dense." and "3_Dense." are in
// folders of these names. The folder is written beside its place and takes its name when it is whole; there it must be
// empty, or not be. Gives the files. Errors: InvalidArgument (the place, a full disk), Cancelled.
Result<std::vector<std::filesystem::path>> write_hf_folder(const std::filesystem::path& folder,
                                                           const std::vector<OutTensor>& tensors,
                                                           const std::map<std::string, std::string>& side_files,
                                                           uint64_t most_bytes, const WriteRun& run);

}  // namespace realizar
