// The folders that keep cached prefixes on the disk. Any thread may call; all of it takes as long as the disk does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "api/loaded_model.h"
#include "realizar/result.h"
#include "server/http/auth.h"

namespace realizar::server {

// The folder of --cache-dir: the prefixes of a server's models from one run to the next, one file a model.
class PrefixKeeper {
 public:
  // Makes the folder, for its owner alone, where there is none, and erases what killed servers left half written.
  // Errors: InvalidArgument where it cannot be made or written to.
  static Result<std::unique_ptr<PrefixKeeper>> open(const std::string& folder, uint64_t max_bytes_per_model);

  // The file of a model: inside the folder whatever the id is, and no other id's.
  std::string file_of(const std::string& id) const;

  // Gives an idle engine what was kept of its model. Before any other use of its cache.
  void restore(const std::string& id, LoadedModel& model) const;
  // Keeps what an engine that has ended has cached.
  void keep(const std::string& id, const LoadedModel& model);

  // Zeroes what was kept of a model, and what killed servers left half written, and removes it. A file that does not
  // begin as one of cached prefixes stays as it is, with a warning. Errors: InvalidArgument (cannot be written, or has
  // another name too, whose owner may need the bytes).
  Status erase(const std::string& id) const;
  // The same for all that the folder keeps, of other models and of runs before.
  Status erase_all() const;

  // The first thing that could not be kept.
  Status status() const;

 private:
  PrefixKeeper(std::string folder, uint64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // Of the names in the folder for which `is_meant` holds. Goes on after an error, which is the first one's.
  Status erase_where(const std::function<bool(std::string_view name)>& is_meant) const;
  Status erase_abandoned() const;

  std::string folder_;
  uint64_t max_bytes_;
  mutable std::mutex mutex_;
  Status status_;
};

// A name that is a file of one folder: 1 to 128 letters, digits, dots, dashes and underscores, no dot in front. Errors:
// InvalidArgument.
Status check_slot_file_name(std::string_view name);

// The folder of --slot-save-path: a file for each prefix that a client has saved, in a folder of its own for each key.
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
