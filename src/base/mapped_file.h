// A file mapped read-only. Owns the map; spans into it die with it. Any thread may read.
// The file may change or shrink, or its disk may fail, while it is mapped. Bytes that cannot be read are zeros, and
// check() reports that; a caller who copies from the map calls check() before using the copy.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "base/files.h"
#include "realizar/result.h"

namespace realizar {

struct GuardedMap;

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

  // FormatError if a read of bytes() failed, or if the file was written to since it was opened. A file that was
  // replaced or deleted stays readable through the map.
  Status check() const;
  // The value made from bytes(), or check()'s error, which then explains any other error too.
  template <class T>
  Result<T> checked(Result<T> made) const {
    if (Status status = check(); !status.ok()) return std::move(status).error();
    return made;
  }

  // Tells the kernel that the pages wholly inside `range` (a part of bytes()) are no longer needed, so that they stop
  // counting as resident. They may be read again, which reads the file again.
  void release(std::span<const std::byte> range) const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::string path_;
  FileVersion version_{};
  GuardedMap* guard_ = nullptr;
};

}  // namespace realizar
