// Writes a model's tensors into GGUF files, one tensor after the other, with memory for some rows of one.
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
  MatrixRows rows;              // in the type that is written

  uint64_t n_bytes() const { return rows->n_rows() * rows->row_size(); }
};

struct WriteRun {
  const std::atomic<bool>* stop = nullptr;                        // set: writing ends, and leaves nothing
  std::function<void(uint64_t n_done, uint64_t n_all)> progress;  // of the bytes; may be empty
  // Asked after each tensor: an error where what is read is no longer what it was. May be empty.
  std::function<Status()> check;
};

// Adds the metadata to the header of the first, or only, file.
using AddMetadata = std::function<void(GgufWriter&)>;

// As llama.cpp names the parts of a file: "model-00001-of-00003.gguf" for "model.gguf".
std::filesystem::path part_path(const std::filesystem::path& path, size_t part, size_t n_parts);

// The files of those tensors: one, or as many as it takes so that each has `most_bytes` of tensors at the most, or one
// larger tensor. 0: one.
std::vector<std::filesystem::path> gguf_paths(const std::filesystem::path& path, const std::vector<OutTensor>& tensors,
                                              uint64_t most_bytes);

// Into `path`, or, where `most_bytes` is not 0 and the tensors are more, into parts of so many bytes of tensors at the
// most, or of one larger tensor. All are there whole or none is: the parts share an id, a hash of them all, that tells
// them from another set's, and the first one, without which no reader takes the others, is the last to get its name. A
// set of the same names loses its first part before. Gives the paths. Errors: InvalidArgument (the place, a full disk,
// more parts than the format has numbers for), Cancelled.
Result<std::vector<std::filesystem::path>> write_gguf(const std::filesystem::path& path,
                                                      const std::vector<OutTensor>& tensors,
                                                      const AddMetadata& add_metadata, uint64_t most_bytes,
                                                      const WriteRun& run);

// Calls `write` with the tensors' bytes in turn. Errors: those of `write` and of the rows, Cancelled.
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
