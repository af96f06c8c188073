// The folders of cached prefixes on the disk. Any thread; calls take as long as the disk.
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

// The folder of --cache-dir: the prefixes of a server's models from one run to the next, one file per model.
class PrefixKeeper {
 public:
  // Creates the folder if needed, accessible only to its owner, and erases partial files of killed servers. Errors:
  // InvalidArgument if it cannot be created or written to.
  static Result<std::unique_ptr<PrefixKeeper>> open(const std::string& folder, uint64_t max_bytes_per_model);

  // The file of a model: inside the folder whatever the id, and different for each id.
  std::string file_of(const std::string& id) const;

  // Restores the kept prefixes into an idle engine, before its cache is used otherwise.
  void restore(const std::string& id, LoadedModel& model) const;
  // Keeps the cached prefixes of an engine that has ended.
  void keep(const std::string& id, const LoadedModel& model);

  // Overwrites a model's kept prefixes and partial files of killed servers with zeroes, and removes them. A file that
  // does not begin like one of cached prefixes is left unchanged, with a warning. Errors: InvalidArgument (not
  // writable, or has a second name, whose owner may need the bytes).
  Status erase(const std::string& id) const;
  // Does so for all prefixes in the folder, including other models' and earlier runs'.
  Status erase_all() const;

  // The first error in keeping prefixes.
  Status status() const;

 private:
  PrefixKeeper(std::string folder, uint64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // Erases the files in the folder whose names fulfil `is_meant`. Continues after an error, and returns the first one.
  Status erase_where(const std::function<bool(std::string_view name)>& is_meant) const;
  Status erase_abandoned() const;

  std::string folder_;
  uint64_t max_bytes_;
  mutable std::mutex mutex_;
  Status status_;
};

// A name for a file in a folder: 1 to 128 letters, digits, dots, dashes and underscores, no leading dot. Errors:
// InvalidArgument.
Status check_slot_file_name(std::string_view name);

// The folder of --slot-save-path: a file for each prefix that a client has saved, in a separate folder for each key.
class SlotFolder {
 public:
  // Creates the folder if needed, accessible only to its owner, and removes partial files of killed servers. Errors:
  // InvalidArgument if it cannot be created or written to.
  static Result<std::unique_ptr<SlotFolder>> open(const std::string& folder, uint64_t max_bytes_per_key);

  // The path of the key's file of that name. Without keys it is directly in the folder. Precondition:
  // check_slot_file_name.
  std::string path_of(const KeyDigest& key, std::string_view name) const;
  // Creates the key's folder if needed, and checks that a file of n_bytes at `path` fits in addition to the complete
  // files. Errors: InvalidArgument, ResourceExhausted.
  Status make_room(const std::string& path, uint64_t n_bytes) const;

 private:
  SlotFolder(std::string folder, uint64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  std::string folder_;
  uint64_t max_bytes_;
};

}  // namespace realizar::server
