// A file that is being downloaded in pieces, by several threads, and goes on after any break, a killed process
// included: a journal beside it says how much of each piece is there. Who has it open holds a lock, so that a file is
// downloaded once, whatever number of processes want it.
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
    std::atomic<uint64_t> n_done{0};  // bytes from the beginning on
    Piece(uint64_t first, uint64_t n) : begin(first), n_bytes(n) {}
  };

  // Waits for whoever else downloads the file; `on_wait` is called about ten times a second then, and an error of it
  // ends the wait. Nullopt where `is_done` says, after a wait, that there is nothing left to download. Errors:
  // InvalidArgument (the system's reason).
  static Result<std::optional<PartialFile>> open(const std::filesystem::path& folder, const std::string& key,
                                                 const std::function<Status()>& on_wait,
                                                 const std::function<bool()>& is_done);
  PartialFile(PartialFile&&) = default;

  // Goes on with what is there, where it was begun for a file of that length and validator (an ETag; may be empty), or
  // begins anew; takes the space on the disk. Errors: ResourceExhausted where the disk has no room.
  Status begin(uint64_t n_bytes, const std::string& validator);
  // Forgets what is there.
  Status restart();

  std::vector<std::unique_ptr<Piece>>& pieces() { return pieces_; }
  uint64_t n_bytes() const { return n_bytes_; }
  uint64_t n_done() const;
  // Something was there already when it was begun.
  bool was_resumed() const { return was_resumed_; }

  // The next bytes of a piece. One thread a piece. Errors: ResourceExhausted where the disk is full; InvalidArgument.
  Status write(size_t piece_idx, std::string_view bytes);
  // Has the journal know of all bytes of a piece, which write() does not at once.
  Status keep(size_t piece_idx) { return write_row(piece_idx); }
  // Bytes that were written. Errors: InvalidArgument.
  Status read(uint64_t at, std::span<std::byte> bytes) const;

  // Gives the whole file its name, on the disk, readable and not writable, and removes the journal.
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

// Bytes that a user may still write on the disk of that folder; nullopt where that is not known.
std::optional<uint64_t> free_disk_bytes(const std::filesystem::path& folder);
// What a file takes of the disk, which may be more or less than its length; 0 where there is none.
uint64_t taken_disk_bytes(const std::filesystem::path& path);

}  // namespace realizar::hub
