// The only functions that open, read and write files. No call waits for another process: a path that is not a regular
// file (a FIFO, a device) is refused before a byte of it is read. Messages include the system's reason.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar {

// An open file, closed on destruction.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();

  int get() const { return fd_; }

 private:
  int fd_;
};

// Detects whether a file has changed.
struct FileVersion {
  uint64_t device, inode, n_bytes;
  int64_t modified_ns;
  bool is_same_file(const FileVersion& other) const { return device == other.device && inode == other.inode; }
  bool operator==(const FileVersion&) const = default;
};

struct OpenFile {
  FileDescriptor fd;
  uint64_t n_bytes;
  FileVersion version;
};

// Opens a file to read it. Errors: NotFound, InvalidArgument (not a regular file, or the system's reason).
Result<OpenFile> open_regular_file(const std::filesystem::path& path);

// Nullopt if there is no readable file at the path.
std::optional<FileVersion> version_at(const std::filesystem::path& path);

// The whole content of a regular file. Errors: as open_regular_file; FormatError (more than max_bytes).
Result<std::string> read_file(const std::filesystem::path& path, uint64_t max_bytes);

// A text that the user supplies, without a byte order mark: a regular file, or the whole output of a pipe, such as the
// shell's <(command). Errors: as read_file; InvalidArgument for a pipe without a writer.
Result<std::string> read_file_or_pipe(const std::filesystem::path& path, uint64_t max_bytes);

// Reads the next bytes of a file. False if it ends before `bytes` are full, or cannot be read.
bool read_exactly(const FileDescriptor& fd, std::span<std::byte> bytes);

enum class Readers {
  kAsTheUserHasIt,  // by umask, or the mode of the existing file
  kOwnerAlone,      // mode 0600, whatever exists
};

// A file that appears complete or not at all. It is written without a name if the file system supports that, else under
// a random name in the same folder (unfinished.h), and gets its own name on commit. Any number of writers may write the
// same path; the last commit wins. Files that a killed writer left under a random name are removed when their path is
// written again. If the path is not a regular file (a pipe, /dev/null), the bytes go there directly, unless only the
// owner may read the file: then it replaces the path.
class NewFile {
 public:
  // Errors: InvalidArgument (the system's reason; a FIFO without a reader); for all calls: ResourceExhausted ("disk").
  static Result<NewFile> create(const std::filesystem::path& path, Readers readers = Readers::kAsTheUserHasIt);

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();  // removes the file unless it was committed

  // Reserves disk space, if the file system supports that, so that a disk that is too full is reported at once. Errors:
  // ResourceExhausted ("disk"), with the bytes needed and the bytes free.
  Status reserve(uint64_t n_bytes);
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  // Overwrites bytes that were written before.
  Status rewrite(uint64_t at, std::span<const std::byte> bytes);
  // Returns when the bytes are on the disk.
  Status sync();
  // Removes the file that the path names until the commit. Returns when the removal is on the disk.
  Status remove_old();
  // Returns when the bytes and the name are on the disk.
  Status commit();

 private:
  enum class Stage { kDirect, kUnfinished, kCommitted };

  static Result<NewFile> create_beside(std::string path, mode_t mode);
  NewFile(std::string path, std::string beside, FileDescriptor fd, Stage stage);
  Error failed(int error_number) const;

  std::string path_, beside_;  // `beside_`: the temporary name; empty while the file has none, and after commit
  FileDescriptor fd_;
  Stage stage_;
};

// A sentence if users other than the file's owner and group may change the file or, if it holds secrets, read it; else
// "". `what`: the file's content, as the sentence calls it.
std::string exposure_of(const std::string& path, std::string_view what, bool holds_secrets);

}  // namespace realizar
