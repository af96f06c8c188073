// The folder of --slot-save-path: a file for each prefix that a client has saved, in a folder of its own for each key.
// Any thread may call; all of it takes as long as the disk does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "realizar/result.h"
#include "server/http/auth.h"

namespace realizar::server {

// A name that is a file of one folder: 1 to 128 letters, digits, dots, dashes and underscores, no dot in front. Errors:
// InvalidArgument.
Status check_slot_file_name(std::string_view name);

class SlotFolder {
 public:
  // Makes the folder, for its owner alone, where there is none, and removes what killed servers left half written.
  // Errors: InvalidArgument where it cannot be made or written to.
  static Result<std::unique_ptr<SlotFolder>> open(const std::string& folder, uint64_t max_bytes_per_key);

  // Where the key's file of that name lies. Without keys that is the folder itself. Precondition: check_slot_file_name.
  std::string path_of(const KeyDigest& key, std::string_view name) const;
  // The key's folder is there, and has room for a file of n_bytes at `path`, beside its whole files. Errors:
  // InvalidArgument, ResourceExhausted.
  Status make_room(const std::string& path, uint64_t n_bytes) const;

 private:
  SlotFolder(std::string folder, uint64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  std::string folder_;
  uint64_t max_bytes_;
};

}  // namespace realizar::server
