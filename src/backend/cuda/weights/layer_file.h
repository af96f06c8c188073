// Bytes of layers that find no place in memory, on the disk. The file has no name: nobody else finds it, and it is gone
// when the process is. What is read is what was written, or an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/files.h"
#include "realizar/result.h"

namespace realizar::cuda {

class LayerFile {
 public:
  // Makes the folder where there is none. Errors: ResourceExhausted (no file can be made there, with the system's
  // reason).
  static Result<LayerFile> create(const std::string& folder);

  // The place of n_bytes more. Errors: ResourceExhausted.
  Result<uint64_t> add(size_t n_bytes);
  uint64_t n_bytes() const { return n_bytes_; }
  // Each byte once. Errors: ResourceExhausted (the disk is full, or fails).
  Status write(uint64_t at, std::span<const std::byte> bytes);
  // All that was written from `at` on. Errors: Internal (it cannot be read, or is not what was written).
  Status read(uint64_t at, std::span<std::byte> bytes) const;

 private:
  struct Piece {
    size_t n_bytes;
    uint64_t sum;
  };

  LayerFile(FileDescriptor fd, std::string folder) : fd_(std::move(fd)), folder_(std::move(folder)) {}
  Error not_written() const;
  Error damaged(const std::string& why) const;

  FileDescriptor fd_;
  std::string folder_;
  uint64_t n_bytes_ = 0;
  std::map<uint64_t, Piece> pieces_;  // as they were written, by their places
};

}  // namespace realizar::cuda
