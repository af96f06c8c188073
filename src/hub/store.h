// The store of models on this machine:
//
//   blobs/sha256-HEX      files by their content, whole, each once whatever number of models have it
//   manifests/KIND/...    a name each (name.h, manifest.h)
//   views/HEX/FILE        a model's files by their names: links to the blobs, which a loader opens
//   partial/KEY           what is being downloaded, or waits to be resumed
//   lock                  held shared by whoever adds files, alone by whoever removes them
//
// A manifest takes its name last, in one step: what can be seen is whole. Reading needs no lock and no rights to write.
// Any number of processes may use one store. The store itself may be a symbolic link, but nothing in it is followed out
// of it: a folder, a manifest or a blob that is a link is refused by name, and a view's links lead to its own blobs.
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

// A model that is there.
struct StoredModel {
  Manifest manifest;
  std::filesystem::path path;  // what a loader opens: a file or a folder
};

// While it lives nobody removes files of the store, or, where it was taken alone, nobody uses it to add any.
class StoreLock {
 public:
  explicit StoreLock(FileDescriptor fd) : fd_(std::move(fd)) {}

 private:
  FileDescriptor fd_;
};

class Store {
 public:
  // Creates nothing: a store that is not there is an empty one.
  explicit Store(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path blob_path(const std::string& sha256) const;
  std::filesystem::path partial_folder() const { return root_ / "partial"; }
  // A whole blob of that size is there.
  bool has_blob(const std::string& sha256, uint64_t n_bytes) const;
  // Of a file of the model that is a text. Errors: as read_file.
  Result<std::string> read_blob(const StoredFile& file, uint64_t max_bytes) const;

  // Another user's store may be private. Errors: InvalidArgument.
  Status check_readable() const;
  // Every name, in alphabetical order. What cannot be read is left out, and `notes` says why.
  std::vector<StoredModel> list(std::vector<std::string>& notes) const;
  // A model of files that are there, which has no name yet. The caller holds a shared lock. Errors: NotFound, subject
  // "blob".
  Result<StoredModel> lay_out(Manifest manifest) const;
  // Errors: NotFound; FormatError (its manifest); NotFound, subject "blob" (one of its files is gone).
  Result<StoredModel> find(const ModelName& name) const;
  bool has_name(const ModelName& name) const;

  // Makes the folders. Errors: InvalidArgument with the system's reason, as of a store that may not be written to.
  Status prepare() const;
  // Waits for whoever removes files. After prepare().
  Result<StoreLock> lock_shared() const;
  // Nullopt where others add files.
  Result<std::optional<StoreLock>> try_lock_alone() const;

  // Makes the model visible, in the place of one of the same name. The caller holds a shared lock and has seen that the
  // blobs are there.
  Status put(const Manifest& manifest) const;
  // `to` is then another name of what `from` names. Errors: as find(), put(); InvalidArgument where `to` is not local.
  Status copy(const ModelName& from, const ModelName& to) const;

  struct Removed {
    uint64_t n_bytes = 0;   // that are free now
    bool are_busy = false;  // files that nothing names stay, since others add files just now: prune() removes them
    std::vector<std::string> notes = {};  // manifests that cannot be understood, and why
  };
  // The name, and those of its files that no other name has. What a damaged manifest seems to name stays, and where one
  // cannot be read, all files stay. Errors: NotFound, InvalidArgument (the system's reason; a link).
  Result<Removed> remove(const ModelName& name) const;
  // Files that no name has, and what was downloaded in part; with damaged manifests as remove().
  Result<Removed> prune() const;

 private:
  // What the names of the store need.
  struct Used {
    std::vector<Manifest> manifests;
    std::set<std::string> hashes;         // also those that a damaged manifest seems to name
    bool are_all_known = true;            // false: a manifest could not even be read
    std::vector<std::string> notes = {};  // what was not understood
  };

  std::filesystem::path manifest_file(const ModelName& name) const { return root_ / "manifests" / manifest_path(name); }
  Result<Manifest> read_manifest(const ModelName& name) const;
  std::filesystem::path view_folder(const Manifest& manifest) const;
  Status make_view(const Manifest& manifest) const;
  bool leads_to_its_blob(const StoredFile& file, const std::filesystem::path& link) const;
  Removed sweep(const std::vector<std::string>& candidates, Used used) const;
  Used find_used() const;
  // Errors: InvalidArgument where a name between the store's root and `path`, the last one included, is a link.
  Status check_no_link(const std::filesystem::path& path) const;
  Status check_folders() const;

  std::filesystem::path root_;
};

}  // namespace realizar::hub
