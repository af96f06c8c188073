// Decides whether an output would replace a file that is being read. Files are compared by device and inode, so that
// links and other spellings of a path are detected too.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "formats/model_file.h"
#include "realizar/result.h"

namespace realizar {

// The files that are read for `input`: a file itself, all parts of a split model, the weights and side files of a
// folder. Empty if it does not exist. Reads headers only, and nothing from a pipe.
std::vector<std::filesystem::path> files_read_for(const std::filesystem::path& input);
// The files of an open model.
std::vector<std::filesystem::path> files_read_for(const ModelFile& model);

// The files below a folder that a server may read: weights, blobs of a store and caches by their names, and the files
// in folders with SafeTensors. Other files there, such as a log, are not included.
std::vector<std::filesystem::path> files_read_below(const std::filesystem::path& folder);

// Errors: InvalidArgument if the output is one of the files.
Status check_not_read(const std::filesystem::path& output, std::span<const std::filesystem::path> files);

}  // namespace realizar
