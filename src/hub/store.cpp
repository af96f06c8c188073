#include "hub/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>

#include "base/printable.h"
#include "base/try.h"
#include "hub/digest.h"
#include "hub/partial_file.h"

namespace realizar::hub {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBlobBeginning = "sha256-";

Error cannot(const char* what, const fs::path& path, const std::error_code& error) {
  return invalid_argument(fmt::format("cannot {} {}: {}", what, path.string(), error.message()), path.string());
}

Status make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? cannot("make the folder", path, error) : Status();
}

Result<FileDescriptor> open_lock(const fs::path& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (fd.get() < 0) return cannot("lock", path, std::error_code(errno, std::generic_category()));
  return fd;
}

bool take_lock(const FileDescriptor& fd, int kind) {
  int result = -1;
  do {
    result = ::flock(fd.get(), kind);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// The link of a view to a blob, from its own folder up to the store's.
fs::path link_target(const StoredFile& file) {
  fs::path target = "../..";
  for (const char c : file.name) {
    if (c == '/') target /= "..";
  }
  return target / "blobs" / (kBlobBeginning + file.sha256);
}

bool belongs_into_view(const StoredFile& file) {
  return file.role == FileRole::kModel || file.role == FileRole::kFile;
}

}  // namespace

fs::path Store::blob_path(const std::string& sha256) const {
  return root_ / "blobs" / (kBlobBeginning + sha256);
}

bool Store::has_blob(const std::string& sha256, uint64_t n_bytes) const {
  const auto version = version_at(blob_path(sha256));
  return version && version->n_bytes == n_bytes;
}

Result<std::string> Store::read_blob(const StoredFile& file, uint64_t max_bytes) const {
  return read_file(blob_path(file.sha256), max_bytes);
}

Result<Manifest> Store::read_manifest(const ModelName& name) const {
  const fs::path path = manifest_file(name);
  auto text = read_file(path, kMaxManifestBytes);
  if (!text.ok() && text.error().code == ErrorCode::kNotFound) {
    return not_found(fmt::format("there is no model '{}' in the store {}", to_string(name), root_.string()), "model");
  }
  if (!text.ok()) return text.error();
  RZ_TRY(Manifest manifest, parse_manifest(*text, path.string()));
  manifest.name = name;
  return manifest;
}

fs::path Store::view_folder(const Manifest& manifest) const {
  std::vector<std::string> lines;
  for (const StoredFile& file : manifest.files) {
    if (belongs_into_view(file)) lines.push_back(fmt::format("{} {}\n", file.sha256, file.name));
  }
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += line;
  constexpr size_t kDigits = 32;
  return root_ / "views" / sha256_text(text).substr(0, kDigits);
}

// Links that are there already are as they must be: the folder's name says what is in it.
Status Store::make_view(const Manifest& manifest) const {
  const fs::path folder = view_folder(manifest);
  for (const StoredFile& file : manifest.files) {
    if (!belongs_into_view(file)) continue;
    const fs::path link = folder / file.name;
    RZ_CHECK_OK(make_folder(link.parent_path()));
    std::error_code error;
    fs::create_symlink(link_target(file), link, error);
    if (error && error != std::errc::file_exists) return cannot("make the link", link, error);
  }
  return {};
}

Result<StoredModel> Store::lay_out(Manifest manifest) const {
  for (const StoredFile& file : manifest.files) {
    if (has_blob(file.sha256, file.n_bytes)) continue;
    return not_found(fmt::format("the file {} of '{}' is missing in the store {}; pulling the model again brings it",
                                 file.name, to_string(manifest.name), root_.string()),
                     "blob");
  }
  const StoredFile* gguf = manifest.gguf();
  const fs::path folder = view_folder(manifest);
  fs::path path = gguf != nullptr ? folder / gguf->name : folder;
  std::error_code error;
  if (!fs::exists(path, error)) RZ_CHECK_OK(make_view(manifest));
  return StoredModel{std::move(manifest), std::move(path)};
}

Result<StoredModel> Store::find(const ModelName& name) const {
  RZ_TRY(Manifest manifest, read_manifest(name));
  return lay_out(std::move(manifest));
}

bool Store::has_name(const ModelName& name) const {
  return version_at(manifest_file(name)).has_value();
}

namespace {

// Calls f(path below `folder`) for each manifest's file.
template <class F>
void for_each_manifest(const fs::path& folder, F f) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored) && entry->path().extension() == ".json") {
      f(entry->path().lexically_relative(folder));
    }
  }
}

// A URL's manifest has a hash for a name, and the URL inside.
Result<ModelName> name_at(const fs::path& folder, const fs::path& path) {
  std::string url;
  if (path.begin()->string() == "url") {
    RZ_TRY(const std::string text, read_file(folder / path, kMaxManifestBytes));
    RZ_TRY(const Manifest manifest, parse_manifest(text, (folder / path).string()));
    url = manifest.source;
  }
  return name_of_manifest(path, url);
}

}  // namespace

std::vector<StoredModel> Store::list(std::vector<std::string>& notes) const {
  std::vector<StoredModel> models;
  const fs::path folder = root_ / "manifests";
  for_each_manifest(folder, [&](const fs::path& path) {
    const auto model = [&]() -> Result<StoredModel> {
      RZ_TRY(const ModelName name, name_at(folder, path));
      return find(name);
    }();
    if (model.ok()) {
      models.push_back(*model);
    } else {
      notes.push_back(model.error().message);
    }
  });
  std::ranges::sort(models, {}, [](const StoredModel& model) { return to_string(model.manifest.name); });
  return models;
}

Result<std::vector<Manifest>> Store::all_manifests() const {
  std::vector<Manifest> manifests;
  Status status;
  const fs::path folder = root_ / "manifests";
  for_each_manifest(folder, [&](const fs::path& path) {
    if (!status.ok()) return;
    const auto manifest = [&]() -> Result<Manifest> {
      RZ_TRY(const ModelName name, name_at(folder, path));
      return read_manifest(name);
    }();
    if (manifest.ok()) {
      manifests.push_back(*manifest);
    } else {
      status = manifest.error();
    }
  });
  if (!status.ok()) return status.error();
  return manifests;
}

Status Store::prepare() const {
  for (const char* folder : {"blobs", "manifests", "views", "partial"}) RZ_CHECK_OK(make_folder(root_ / folder));
  RZ_TRY([[maybe_unused]] const FileDescriptor fd, open_lock(root_ / "lock"));
  return {};
}

Result<StoreLock> Store::lock_shared() const {
  RZ_TRY(FileDescriptor fd, open_lock(root_ / "lock"));
  if (!take_lock(fd, LOCK_SH)) return cannot("lock", root_, std::error_code(errno, std::generic_category()));
  return StoreLock(std::move(fd));
}

Result<std::optional<StoreLock>> Store::try_lock_alone() const {
  RZ_TRY(FileDescriptor fd, open_lock(root_ / "lock"));
  if (take_lock(fd, LOCK_EX | LOCK_NB)) return std::optional(StoreLock(std::move(fd)));
  if (errno == EWOULDBLOCK) return std::optional<StoreLock>();
  return cannot("lock", root_, std::error_code(errno, std::generic_category()));
}

// One thread of a process at a time: each would write the new file under the same name.
Status Store::put(const Manifest& manifest) const {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  RZ_CHECK_OK(make_view(manifest));
  const fs::path path = manifest_file(manifest.name);
  RZ_CHECK_OK(make_folder(path.parent_path()));
  RZ_TRY(NewFile file, NewFile::create(path));
  RZ_CHECK_OK(file.write(to_json(manifest)));
  return file.commit();
}

Status Store::copy(const ModelName& from, const ModelName& to) const {
  if (to.kind != NameKind::kLocal) {
    return invalid_argument(fmt::format("{}: a copy is named NAME[:TAG]", to_string(to)), "destination");
  }
  RZ_CHECK_OK(prepare());
  RZ_TRY(const StoreLock lock, lock_shared());
  RZ_TRY(StoredModel model, find(from));
  model.manifest.name = to;
  return put(model.manifest);
}

Result<Store::Removed> Store::remove(const ModelName& name) const {
  if (!has_name(name)) {
    return not_found(fmt::format("there is no model '{}' in the store {}", to_string(name), root_.string()), "model");
  }
  RZ_TRY(const auto lock, try_lock_alone());
  std::vector<std::string> candidates;
  if (const auto manifest = read_manifest(name); manifest.ok()) {
    for (const StoredFile& file : manifest->files) candidates.push_back(file.sha256);
  }
  const fs::path path = manifest_file(name);
  if (::unlink(path.c_str()) != 0) return cannot("remove", path, std::error_code(errno, std::generic_category()));
  // Folders that are empty now go too.
  for (fs::path folder = path.parent_path(); folder != root_ / "manifests"; folder = folder.parent_path()) {
    if (::rmdir(folder.c_str()) != 0) break;
  }
  const auto kept = all_manifests();
  if (!lock || !kept.ok()) return Removed{0, true};
  return sweep(candidates, *kept);
}

Result<Store::Removed> Store::prune() const {
  std::error_code error;
  if (!fs::exists(root_, error)) return Removed{};
  RZ_TRY(const auto lock, try_lock_alone());
  if (!lock) return Removed{0, true};
  RZ_TRY(const std::vector<Manifest> kept, all_manifests());
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(root_ / "blobs", error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kBlobBeginning)) all.push_back(name.substr(std::string_view(kBlobBeginning).size()));
  }
  Removed removed = sweep(all, kept);
  for (const auto& entry : fs::directory_iterator(partial_folder(), error)) {
    const uint64_t n_taken = taken_disk_bytes(entry.path());
    if (::unlink(entry.path().c_str()) == 0) removed.n_bytes += n_taken;
  }
  return removed;
}

// Removes those of `candidates` that no manifest has, and views of no manifest.
Store::Removed Store::sweep(const std::vector<std::string>& candidates, const std::vector<Manifest>& kept) const {
  std::set<std::string> used, used_views;
  for (const Manifest& manifest : kept) {
    for (const StoredFile& file : manifest.files) used.insert(file.sha256);
    used_views.insert(view_folder(manifest).filename().string());
  }
  std::error_code error;
  for (const auto& view : fs::directory_iterator(root_ / "views", error)) {
    std::error_code ignored;
    if (!used_views.contains(view.path().filename().string())) fs::remove_all(view.path(), ignored);
  }
  Removed removed;
  for (const std::string& sha256 : candidates) {
    const fs::path path = blob_path(sha256);
    const auto version = version_at(path);
    if (used.contains(sha256) || !version) continue;
    if (::unlink(path.c_str()) == 0) removed.n_bytes += version->n_bytes;
  }
  return removed;
}

}  // namespace realizar::hub
