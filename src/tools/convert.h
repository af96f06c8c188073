// A model in the other format, or in other pieces: a Hugging Face folder as GGUF, a GGUF file as a folder, a GGUF file
// split or merged.
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
  std::optional<TypeId> type;  // of matrices; nothing: as they are
  uint64_t split_bytes = 0;    // of tensors in a file; 0: all are in one
  std::string pre_tokenizer;   // as GgufPlanOptions'
  EndSettings ends = {};
};

struct ConvertReport {
  std::vector<std::filesystem::path> files;
  uint64_t n_bytes = 0;               // of all tensors that were written
  std::vector<std::string> notes;     // in what the new model differs, a sentence each
  std::vector<std::string> left_out;  // tensors that have no part in the model, by name
};

// `from`: a model; `to`: a path that ends in ".gguf", or a folder, which must be empty or not be there. Errors:
// InvalidArgument (nothing to convert, the place), NotFound, FormatError, Unsupported (what the other format cannot
// say), Cancelled.
Result<ConvertReport> convert(const std::filesystem::path& from, const std::filesystem::path& to,
                              const ConvertOptions& options, const WriteRun& run);

}  // namespace realizar
