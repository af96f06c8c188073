// A file of the store that arrives in one go under the SHA-256 that it must have. It is there whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/files.h"
#include "hub/hash.h"
#include "hub/store.h"
#include "realizar/result.h"

namespace realizar::hub {

class NewBlob {
 public:
  // `n_bytes`: what will come, as far as is known; 0: that is not known. The store's folders are made, and nobody
  // removes files of the store while this lives. Errors: ResourceExhausted, subject "disk", where the disk has no room;
  // InvalidArgument with the system's reason; those of Hasher.
  static Result<NewBlob> create(const Store& store, std::string sha256, uint64_t n_bytes);
  NewBlob(NewBlob&& other) noexcept;
  NewBlob& operator=(NewBlob&&) = delete;
  ~NewBlob();  // removes what was not committed

  // Errors: as create().
  Status write(std::string_view bytes);
  // Errors: FormatError where the bytes have another hash; as create().
  Status commit();
  uint64_t n_bytes() const { return n_bytes_; }

 private:
  NewBlob(StoreLock lock, FileDescriptor fd, std::filesystem::path path, std::filesystem::path place,
          std::string sha256, Hasher hasher);
  Error failed(int error_number) const;

  StoreLock lock_;
  FileDescriptor fd_;
  std::filesystem::path path_, place_;  // where it is written, "" once it has its place
  std::string sha256_;
  Hasher hasher_;
  uint64_t n_bytes_ = 0;
};

// A text as a file of the store. Errors: as NewBlob.
Result<StoredFile> add_text(const Store& store, FileRole role, std::string name, std::string_view text);

// The copy of a file as a file of the store; nothing is copied where the store has it. Gives its SHA-256. Errors: those
// of open_regular_file; FormatError where the file changes meanwhile; as NewBlob.
Result<std::string> add_file(const Store& store, const std::filesystem::path& path);

}  // namespace realizar::hub
