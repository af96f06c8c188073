// Layers that do not fit in memory, on disk. The file has no name: no other process can find it, and it is gone when
// this one exits. Reads return what was written, or an error.
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
  // Creates the folder if necessary. Errors: ResourceExhausted (no file can be created there).
  static Result<LayerFile> create(const std::string& folder);

  // The position of n_bytes more. Errors: ResourceExhausted.
  Result<uint64_t> add(size_t n_bytes);
  uint64_t n_bytes() const { return n_bytes_; }
  // Writes each byte once. Errors: ResourceExhausted (the disk is full or fails).
  Status write(uint64_t at, std::span<const std::byte> bytes);
  // Reads from `at`. Errors: Internal (a read fails, or the data has changed).
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
  std::map<uint64_t, Piece> pieces_;  // as written, by position
};

}  // namespace realizar::cuda
