// Writes a Hugging Face folder: SafeTensors files and side files, with memory for some rows of one tensor.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "realizar/result.h"
#include "tools/model_writer.h"

namespace realizar {

// `tensors` have the type F32, F16 or BF16. If `most_bytes` is not 0 and the tensors exceed it, the weights are split
// into several files with an index, named as in transformers; tensors whose names begin with "2_Dense." or "3_Dense."
// go to folders of these names. The folder is written next to its destination and renamed when it is complete; the
// destination must be empty or not exist. Returns the files. Errors: InvalidArgument (the path, a full disk),
// Cancelled.
Result<std::vector<std::filesystem::path>> write_hf_folder(const std::filesystem::path& folder,
                                                           const std::vector<OutTensor>& tensors,
                                                           const std::map<std::string, std::string>& side_files,
                                                           uint64_t most_bytes, const WriteRun& run);

}  // namespace realizar
