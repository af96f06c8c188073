// Writes a model's tensors to GGUF files, one tensor after the other, with memory for a few rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "formats/gguf_writer.h"
#include "realizar/result.h"
#include "tools/row_source.h"

namespace realizar {

struct OutTensor {
  std::string name;
  std::vector<uint64_t> shape;  // outermost first
  MatrixRows rows;              // in the output type

  uint64_t n_bytes() const { return rows->n_rows() * rows->row_size(); }
};

struct WriteRun {
  const std::atomic<bool>* stop = nullptr;                        // if set, writing ends without leaving files
  std::function<void(uint64_t n_done, uint64_t n_all)> progress;  // in bytes; may be empty
  // Called after each tensor: an error if the source has changed. May be empty.
  std::function<Status()> check;
};

// Adds the metadata to the header of the first or only file.
using AddMetadata = std::function<void(GgufWriter&)>;

// llama.cpp's name for a part of a file: "model-00001-of-00003.gguf" for "model.gguf".
std::filesystem::path part_path(const std::filesystem::path& path, size_t part, size_t n_parts);

// The files for these tensors: one, or as many as needed so that each has at most `most_bytes` of tensors, or a single
// larger tensor. 0: one.
std::vector<std::filesystem::path> gguf_paths(const std::filesystem::path& path, const std::vector<OutTensor>& tensors,
                                              uint64_t most_bytes);

// Writes to `path`, or, if `most_bytes` is not 0 and the tensors exceed it, to parts with at most that many bytes of
// tensors, or with a single larger tensor. Either all files appear complete or none: the parts share an id, a hash of
// them all, that distinguishes them from other sets; the first part, without which no reader accepts the others, gets
// its name last. An older set with the same names loses its first part before that. Returns the paths. Errors:
// InvalidArgument (the path, a full disk, more parts than the format allows), FormatError (a weight that is not finite
// in its type), Cancelled.
Result<std::vector<std::filesystem::path>> write_gguf(const std::filesystem::path& path,
                                                      const std::vector<OutTensor>& tensors,
                                                      const AddMetadata& add_metadata, uint64_t most_bytes,
                                                      const WriteRun& run);

// Calls `write` with the tensors' bytes in order. Errors: those of `write` and of the rows, FormatError
// (a weight that is not finite in its type), Cancelled.
class TensorPump {
 public:
  TensorPump(const WriteRun& run, uint64_t n_all) : run_(run), n_all_(n_all) {}
  Status write(const OutTensor& tensor, const std::function<Status(std::span<const std::byte>)>& write);

 private:
  const WriteRun& run_;
  const uint64_t n_all_;
  uint64_t n_done_ = 0;
  std::vector<std::byte> piece_;
};

}  // namespace realizar
