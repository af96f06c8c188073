// The one answer to "would this output replace something that is read?". Files are compared by device and inode, so
// that links and other spellings of a path are found too.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "formats/model_file.h"
#include "realizar/result.h"

namespace realizar {

// The files that are read where `input` is given: a file itself, all parts of a split model, the weights and side files
// of a folder. Empty where nothing is there. Reads headers only, and nothing from a pipe.
std::vector<std::filesystem::path> files_read_for(const std::filesystem::path& input);
// The same of a model that is open.
std::vector<std::filesystem::path> files_read_for(const ModelFile& model);

// The files below a folder that a server may read: weights, blobs of a store and caches by their names, and what stands
// beside SafeTensors. Other files there, a log for one, are nobody's.
std::vector<std::filesystem::path> files_read_below(const std::filesystem::path& folder);

// Errors: InvalidArgument, where the output is one of the files.
Status check_not_read(const std::filesystem::path& output, std::span<const std::filesystem::path> files);

}  // namespace realizar
