// An importance matrix: for each matrix of a model, the mean square of what each of its columns was multiplied by while
// the model read a text. A quantizer weighs errors by it. Files are those of llama.cpp: GGUF with a tensor NAME.in_sum2
// of sums [n_mats, n_cols] and one NAME.counts of how many rows each sum is of, [n_mats, 1]; the older .dat files are
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
  std::vector<float> sums;    // [counts.size(), n_cols], of squares
  std::vector<float> counts;  // rows that were added up; of a stack one for each matrix, else one

  size_t n_cols() const { return counts.empty() ? 0 : sums.size() / counts.size(); }
};

struct Imatrix {
  std::map<std::string, ImatrixEntry, std::less<>> entries;  // by the tensor's name, "blk.0.attn_q.weight"
  std::vector<std::string> datasets;                         // files of text
  uint64_t n_chunks = 0;
  uint32_t chunk_size = 0;  // tokens

  // Errors: NotFound; FormatError (no importance matrix, sums without counts, a value that is negative or no number).
  static Result<Imatrix> read(const std::filesystem::path& path);
  // The same of bytes that lie in memory; `name` names them in errors.
  static Result<Imatrix> parse(std::span<const std::byte> bytes, std::string_view name);
  // Errors: InvalidArgument (the place; a tensor's name of more than 55 bytes, for which the format has no room).
  Status write(const std::filesystem::path& path) const;

  // Adds another one's sums. Errors: InvalidArgument (a matrix of another shape, chunks of another size).
  Status add(const Imatrix& other);

  // What an error in each column of a tensor costs, [n_mats, n_cols]; empty where the tensor is not in here. A matrix
  // that no row came to (an expert that was never chosen) has the mean of the others, or ones. Errors: FormatError
  // (entries of another shape than the tensor's).
  Result<std::vector<float>> weights(std::string_view tensor_name, uint64_t n_mats, uint64_t n_cols) const;
};

}  // namespace realizar
