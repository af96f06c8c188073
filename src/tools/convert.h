// Converts a model to the other format, or to other pieces: a Hugging Face folder to GGUF, a GGUF file to a folder;
// splits or merges GGUF files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quant/types.h"
#include "realizar/options.h"
#include "realizar/result.h"
#include "tools/model_writer.h"

namespace realizar {

struct ConvertOptions {
  std::optional<TypeId> type;  // for matrices; nullopt: unchanged
  uint64_t split_bytes = 0;    // maximum size of the tensors in a file; 0: a single file
  std::string pre_tokenizer;   // as in GgufPlanOptions
  EndSettings ends = {};
};

struct ConvertReport {
  std::vector<std::filesystem::path> files;
  uint64_t n_bytes = 0;               // of all tensors written
  std::vector<std::string> notes;     // differences of the new model, a sentence each
  std::vector<std::string> left_out;  // names of tensors that are not part of the model
};

// `from`: a model; `to`: a path that ends in ".gguf", or a folder, which must be empty or not exist. Errors:
// InvalidArgument (nothing to convert, a bad destination), NotFound, FormatError, Unsupported (not expressible in the
// other format), Cancelled.
Result<ConvertReport> convert(const std::filesystem::path& from, const std::filesystem::path& to,
                              const ConvertOptions& options, const WriteRun& run);

}  // namespace realizar
