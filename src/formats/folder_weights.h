// The tensors of a Hugging Face folder, read from its SafeTensors files: the headers only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "formats/model_file.h"
#include "formats/packed_matrix.h"
#include "realizar/result.h"

namespace realizar {

struct FolderWeights {
  std::vector<MappedFile> maps = {};
  std::vector<TensorInfo> tensors = {};
  std::vector<RawTensor> raws = {};
  std::vector<std::string> notes = {};
};

// Adds the tensors of one file; their names get the prefix.
Status add_safetensors(FolderWeights& weights, const std::filesystem::path& file, const std::string& prefix = "");

// Adds what the folder's parts hold, whether or not its index names it: a tensor that two parts have is the one that
// the index means. What the index names and no part has is a note, since only the model knows which tensors it needs.
Status add_folder_parts(FolderWeights& weights, const std::filesystem::path& folder);

}  // namespace realizar
