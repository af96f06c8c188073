// The one way in which files are opened, read and written. No call waits for another process: what is not a regular
// file (a FIFO, a device) is refused before a byte of it is read. A message says the system's reason.
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

// An open file; closes it.
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

// Tells whether a file is still what it was.
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

// Nothing where no file can be seen at the path.
std::optional<FileVersion> version_at(const std::filesystem::path& path);

// All of a regular file. Errors: as open_regular_file; FormatError (more than max_bytes).
Result<std::string> read_file(const std::filesystem::path& path, uint64_t max_bytes);

// A text that a person gives, without a byte order mark: a regular file, or a pipe that somebody writes to, to its end,
// which is what a shell gives for <(command). Errors: as read_file; InvalidArgument too for a pipe without a writer.
Result<std::string> read_file_or_pipe(const std::filesystem::path& path, uint64_t max_bytes);

// The next bytes of a file. False where it ends before `bytes` are full, or cannot be read.
bool read_exactly(const FileDescriptor& fd, std::span<std::byte> bytes);

enum class Readers {
  kAsTheUserHasIt,  // by umask, or as the file that is there
  kOwnerAlone,      // mode 0600, whatever is there
};

// A file that is there whole or not at all: it is written without a name, where the file system can do that, else under
// a random one in the same folder (unfinished.h), and takes its own name on commit. Any number of writers may have the
// same name; the last commit stays. What a killed writer left under a random name goes when its path is written again.
// Where the name belongs to something that is not a regular file (a pipe, /dev/null), the bytes go there directly,
// unless the file is for its owner alone, which replaces it.
class NewFile {
 public:
  // Errors: InvalidArgument (the system's reason; a FIFO that nobody reads); of all calls: ResourceExhausted ("disk").
  static Result<NewFile> create(const std::filesystem::path& path, Readers readers = Readers::kAsTheUserHasIt);

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();  // removes what was not committed

  // Takes the disk's room for so many bytes, where the file system can, so that a disk that is too full shows at once.
  // Errors: ResourceExhausted ("disk"), with what is needed and what is free.
  Status reserve(uint64_t n_bytes);
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  // Other bytes in the place of some that were written.
  Status rewrite(uint64_t at, std::span<const std::byte> bytes);
  // Returns when the bytes are on the disk.
  Status sync();
  // Removes the file that has the name until the commit. Returns when that is on the disk.
  Status remove_old();
  // Returns when the bytes and the name are on the disk.
  Status commit();

 private:
  enum class Stage { kDirect, kUnfinished, kCommitted };

  static Result<NewFile> create_beside(std::string path, mode_t mode);
  NewFile(std::string path, std::string beside, FileDescriptor fd, Stage stage);
  Error failed(int error_number) const;

  std::string path_, beside_;  // `beside_` is empty while the file has no name, and after commit
  FileDescriptor fd_;
  Stage stage_;
};

}  // namespace realizar
