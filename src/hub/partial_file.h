// A file that several threads download in pieces, and that can be resumed after any break, even of a killed process: a
// journal next to it records how much of each piece has arrived. The holder of an open file has a lock, so that a file
// is downloaded once, however many processes want it.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "realizar/result.h"

namespace realizar::hub {

class PartialFile {
 public:
  struct Piece {
    uint64_t begin, n_bytes;
    std::atomic<uint64_t> n_done{0};  // contiguous bytes from its beginning
    Piece(uint64_t first, uint64_t n) : begin(first), n_bytes(n) {}
  };

  // Waits while another process downloads the file; then `on_wait` is called about ten times a second, and an error
  // from it ends the wait. Nullopt if `is_done` reports, after a wait, that nothing is left to download. Errors:
  // InvalidArgument (the system's reason).
  static Result<std::optional<PartialFile>> open(const std::filesystem::path& folder, const std::string& key,
                                                 const std::function<Status()>& on_wait,
                                                 const std::function<bool()>& is_done);
  PartialFile(PartialFile&&) = default;

  // Resumes a part that was begun for a file of that length and validator (an ETag; may be empty), or starts over;
  // reserves disk space. Errors: ResourceExhausted if the disk is full.
  Status begin(uint64_t n_bytes, const std::string& validator);
  // Discards the downloaded part.
  Status restart();

  std::vector<std::unique_ptr<Piece>>& pieces() { return pieces_; }
  uint64_t n_bytes() const { return n_bytes_; }
  uint64_t n_done() const;
  // Whether a part existed when it was begun.
  bool was_resumed() const { return was_resumed_; }

  // Writes the next bytes of a piece. One thread per piece. Errors: ResourceExhausted if the disk is full;
  // InvalidArgument.
  Status write(size_t piece_idx, std::string_view bytes);
  // Records all bytes of a piece in the journal, which write() does with a delay.
  Status keep(size_t piece_idx) { return write_row(piece_idx); }
  // Reads written bytes. Errors: InvalidArgument.
  Status read(uint64_t at, std::span<std::byte> bytes) const;

  // Renames the complete file, durably, makes it read-only, and removes the journal.
  Status publish(const std::filesystem::path& path);
  // Removes the file and its journal.
  void discard();

 private:
  PartialFile(std::filesystem::path path, FileDescriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::filesystem::path journal_path() const { return path_.string() + ".journal"; }
  Status begin_anew();
  bool read_journal();
  Status write_header();
  Status write_row(size_t piece_idx);
  Status take_space();
  Error failed(const char* what, int error_number) const;

  std::filesystem::path path_;
  FileDescriptor fd_, journal_;
  std::string header_;
  std::vector<std::unique_ptr<Piece>> pieces_;
  uint64_t n_bytes_ = 0;
  bool was_resumed_ = false;
};

// Bytes that a user may still write in that folder; nullopt if unknown.
std::optional<uint64_t> free_disk_bytes(const std::filesystem::path& folder);
// Disk space taken by a file, which may differ from its length; 0 if there is none.
uint64_t taken_disk_bytes(const std::filesystem::path& path);

}  // namespace realizar::hub
