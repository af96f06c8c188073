// An importance matrix: for each matrix of a model, the mean square of the inputs of each of its columns while the
// model read a text. A quantizer weighs errors by it. Files have llama.cpp's format: GGUF with a tensor NAME.in_sum2 of
// sums [n_mats, n_cols] and one NAME.counts with the number of rows in each sum, [n_mats, 1]; the older .dat files are
// read as well.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar {

struct ImatrixEntry {
  std::vector<float> sums;    // of squares, [counts.size(), n_cols]
  std::vector<float> counts;  // rows in each sum; for a stack one count per matrix, else one

  size_t n_cols() const { return counts.empty() ? 0 : sums.size() / counts.size(); }
};

struct Imatrix {
  std::map<std::string, ImatrixEntry, std::less<>> entries;  // indexed by the tensor's name, "blk.0.attn_q.weight"
  std::vector<std::string> datasets;                         // text files
  uint64_t n_chunks = 0;
  uint32_t chunk_size = 0;  // tokens

  // Errors: NotFound; FormatError (not an importance matrix, sums without counts, a value that is negative or NaN).
  static Result<Imatrix> read(const std::filesystem::path& path);
  // Reads from bytes in memory; `name` is used in errors.
  static Result<Imatrix> parse(std::span<const std::byte> bytes, std::string_view name);
  // Errors: InvalidArgument (the path; a tensor's name of more than 55 bytes, which does not fit in the format).
  Status write(const std::filesystem::path& path) const;

  // Adds another one's sums. Errors: InvalidArgument (a matrix of another shape, chunks of another size).
  Status add(const Imatrix& other);

  // Weights of errors in each column of a tensor, [n_mats, n_cols]; empty if the tensor is not included. A matrix
  // without any rows (an expert that was never chosen) gets the mean of the others, or ones. Errors: FormatError
  // (entries whose shape differs from the tensor's).
  Result<std::vector<float>> weights(std::string_view tensor_name, uint64_t n_mats, uint64_t n_cols) const;
};

}  // namespace realizar
