// A new file in the store, written in one go, with a known SHA-256. It appears complete or not at all.
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
  // `n_bytes`: the expected size; 0: unknown. Creates the store's folders, and nobody removes files of the store while
  // this exists. Errors: ResourceExhausted, subject "disk", if the disk is full; InvalidArgument with the system's
  // reason; those of Hasher.
  static Result<NewBlob> create(const Store& store, std::string sha256, uint64_t n_bytes);
  NewBlob(NewBlob&& other) noexcept;
  NewBlob& operator=(NewBlob&&) = delete;
  ~NewBlob();  // removes the file unless it was committed

  // Errors: as create().
  Status write(std::string_view bytes);
  // Errors: FormatError if the bytes have another hash; as create().
  Status commit();
  uint64_t n_bytes() const { return n_bytes_; }

 private:
  NewBlob(StoreLock lock, FileDescriptor fd, std::filesystem::path path, std::filesystem::path place,
          std::string sha256, Hasher hasher);
  Error failed(int error_number) const;

  StoreLock lock_;
  FileDescriptor fd_;
  std::filesystem::path path_, place_;  // current path, "" once renamed; and final path
  std::string sha256_;
  Hasher hasher_;
  uint64_t n_bytes_ = 0;
};

// Adds a text to the store. Errors: as NewBlob.
Result<StoredFile> add_text(const Store& store, FileRole role, std::string name, std::string_view text);

// Copies a file to the store, unless the store has it. Returns its SHA-256. Errors: those of open_regular_file;
// FormatError if the file changes in the meantime; as NewBlob.
Result<std::string> add_file(const Store& store, const std::filesystem::path& path);

}  // namespace realizar::hub
