// A file mapped read-only. Owns the map; spans into it die with it. Any thread may read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "realizar/result.h"

namespace realizar {

class MappedFile {
 public:
  // Maps the whole file; an empty file gives an empty span. Errors: NotFound, InvalidArgument (not a regular file).
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

  // Tells the kernel that the pages wholly inside `range` (a part of bytes()) are not needed any more, so that they
  // stop counting as resident. Reading them again is correct, and reads the file again.
  void release(std::span<const std::byte> range) const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::string path_;
};

}  // namespace realizar
