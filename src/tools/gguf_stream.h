// Writes a GGUF file tensor by tensor, in pieces of any size: the header first, with the final offsets, then the bytes
// in the order of the header. It uses memory only for the pieces. The file is written under a temporary name in the
// same folder, on disk space that is reserved before the first tensor is made, and gets its name on commit(); destroyed
// before that, it leaves nothing. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/files.h"
#include "formats/gguf_writer.h"
#include "realizar/result.h"

namespace realizar {

class GgufStream {
 public:
  // Writes the header of `writer`, whose tensors are only announced. Errors: InvalidArgument (the path, a full disk).
  static Result<GgufStream> create(const std::filesystem::path& path, const GgufWriter& writer);

  // Writes the next bytes of the tensors; padding is added here. A piece may not extend past its tensor's end.
  Status write(std::span<const std::byte> bytes);
  // Overwrites bytes of the header.
  Status rewrite(uint64_t at, std::span<const std::byte> bytes) { return out_.rewrite(at, bytes); }
  // Returns when the bytes are on the disk, still without the final name. All tensors must be complete.
  Status sync();
  // Removes the file that the path names until commit().
  Status remove_old() { return out_.remove_old(); }
  // All tensors must be complete. Returns when the file is on the disk.
  Status commit();

  uint64_t n_bytes() const { return n_bytes_; }  // of the whole file

 private:
  GgufStream(NewFile out, std::vector<uint64_t> sizes, uint64_t n_bytes);
  Status end_tensors();

  NewFile out_;
  std::vector<uint64_t> sizes_;
  uint64_t n_bytes_;
  size_t tensor_ = 0;     // index of the current one
  uint64_t written_ = 0;  // bytes of it
};

}  // namespace realizar
