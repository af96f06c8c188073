// The store of models on this machine:
//
//   blobs/sha256-HEX      complete files by content, each once however many models use it
//   manifests/KIND/...    one for each name (name.h, manifest.h)
//   views/HEX/FILE        a model's files by name: links to the blobs, which a loader opens
//   partial/KEY           downloads in progress or waiting to be resumed
//   lock                  held shared while adding files, exclusively while removing them
//
// A manifest is renamed into place last, in one step: whatever is visible is complete. Reading needs no lock and no
// write permission. Any number of processes may use one store. The store itself may be a symbolic link, but nothing in
// it is followed out of it: a folder, a manifest or a blob that is a link is refused by name, and a view's links lead
// to its own blobs.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "hub/manifest.h"
#include "hub/name.h"
#include "realizar/result.h"

namespace realizar::hub {

// A model in the store.
struct StoredModel {
  Manifest manifest;
  std::filesystem::path path;  // a file or a folder, for a loader
};

// While it exists, nobody removes files of the store, or, if it is exclusive, nobody adds any.
class StoreLock {
 public:
  explicit StoreLock(FileDescriptor fd) : fd_(std::move(fd)) {}

 private:
  FileDescriptor fd_;
};

class Store {
 public:
  // Creates nothing: a store whose folder does not exist is empty.
  explicit Store(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path blob_path(const std::string& sha256) const;
  std::filesystem::path partial_folder() const { return root_ / "partial"; }
  // Whether there is a complete blob of that size.
  bool has_blob(const std::string& sha256, uint64_t n_bytes) const;
  // A text file of the model. Errors: as read_file.
  Result<std::string> read_blob(const StoredFile& file, uint64_t max_bytes) const;

  // Another user's store may be private. Errors: InvalidArgument.
  Status check_readable() const;
  // Every name, in alphabetical order. Unreadable ones are left out, with a reason in `notes`.
  std::vector<StoredModel> list(std::vector<std::string>& notes) const;
  // A model made of existing files, which has no name yet. The caller holds a shared lock. Errors: NotFound, subject
  // "blob".
  Result<StoredModel> lay_out(Manifest manifest) const;
  // Errors: NotFound; FormatError (its manifest); NotFound, subject "blob" (one of its files is missing).
  Result<StoredModel> find(const ModelName& name) const;
  bool has_name(const ModelName& name) const;

  // Creates the folders. Errors: InvalidArgument with the system's reason, for example if the store is not writable.
  Status prepare() const;
  // Waits while files are being removed. Call after prepare().
  Result<StoreLock> lock_shared() const;
  // Nullopt while others add files.
  Result<std::optional<StoreLock>> try_lock_alone() const;

  // Makes the model visible, replacing one with the same name. The caller holds a shared lock and has checked that the
  // blobs exist.
  Status put(const Manifest& manifest) const;
  // Makes `to` another name for the model of `from`. Errors: as find(), put(); InvalidArgument if `to` is not local.
  Status copy(const ModelName& from, const ModelName& to) const;

  struct Removed {
    uint64_t n_bytes = 0;   // freed
    bool are_busy = false;  // unused files stay because others are adding files; prune() removes them later
    std::vector<std::string> notes = {};  // unreadable manifests, and why
  };
  // Removes the name, and those of its files that no other name uses. Files that a damaged manifest seems to use are
  // kept, and if one cannot be read, all files are. Errors: NotFound, InvalidArgument (the system's reason; a link).
  Result<Removed> remove(const ModelName& name) const;
  // Removes files that no name uses, and partial downloads; damaged manifests are treated as in remove().
  Result<Removed> prune() const;

 private:
  // The files that the names of the store use.
  struct Used {
    std::vector<Manifest> manifests;
    std::set<std::string> hashes;         // including those that a damaged manifest seems to use
    bool are_all_known = true;            // false: a manifest was unreadable
    std::vector<std::string> notes = {};  // problems with manifests
  };

  std::filesystem::path manifest_file(const ModelName& name) const { return root_ / "manifests" / manifest_path(name); }
  Result<Manifest> read_manifest(const ModelName& name) const;
  std::filesystem::path view_folder(const Manifest& manifest) const;
  Status make_view(const Manifest& manifest) const;
  bool leads_to_its_blob(const StoredFile& file, const std::filesystem::path& link) const;
  Removed sweep(const std::vector<std::string>& candidates, Used used) const;
  Used find_used() const;
  // Errors: InvalidArgument if any component from the store's root to the end of `path` is a link.
  Status check_no_link(const std::filesystem::path& path) const;
  Status check_folders() const;

  std::filesystem::path root_;
};

}  // namespace realizar::hub
