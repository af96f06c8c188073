// Writes a GGUF file whose tensors come one after the other, in pieces of any size: the header first, with the final
// offsets, then the bytes in the order of the header. Memory is that of the pieces. The file is written beside its
// place, on disk room that is reserved before the first tensor is made, and takes its name on commit(); destroyed
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
  // Writes the header of `writer`, whose tensors are only announced. Errors: InvalidArgument (the place, a full disk).
  static Result<GgufStream> create(const std::filesystem::path& path, const GgufWriter& writer);

  // The next bytes of the tensors, whose padding is added here. A piece may not go past its tensor's end.
  Status write(std::span<const std::byte> bytes);
  // Other bytes in the place of some of the header.
  Status rewrite(uint64_t at, std::span<const std::byte> bytes) { return out_.rewrite(at, bytes); }
  // Returns when the bytes are on the disk, without a name yet. All tensors must be complete.
  Status sync();
  // Removes the file that has the name until commit().
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
  size_t tensor_ = 0;     // the one that is being written
  uint64_t written_ = 0;  // bytes of it
};

}  // namespace realizar
