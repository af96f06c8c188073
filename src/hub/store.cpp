#include "hub/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/printable.h"
#include "base/try.h"
#include "hub/hash.h"
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
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
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

// The target of a view's link to a blob, relative to the link's folder.
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

constexpr const char* kFolders[] = {"blobs", "manifests", "views", "partial"};

// Everything in a text that may be the hash of a file.
std::vector<std::string> hashes_in(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::vector<std::string> hashes;
  for (size_t at = 0; (at = text.find_first_of(kDigits, at)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (is_hex_digest(word, Digest::Kind::kSha256)) hashes.emplace_back(word);
    at = end;
  }
  return hashes;
}

}  // namespace

Status Store::check_no_link(const fs::path& path) const {
  fs::path at = root_;
  for (const fs::path& name : path.lexically_relative(root_)) {
    at /= name;
    std::error_code ignored;
    if (fs::symlink_status(at, ignored).type() != fs::file_type::symlink) continue;
    return invalid_argument(
        fmt::format("{} is a symbolic link: a store's files must be inside it", printable(at.string())), "store");
  }
  return {};
}

Status Store::check_folders() const {
  for (const char* folder : kFolders) RZ_CHECK_OK(check_no_link(root_ / folder));
  return {};
}

fs::path Store::blob_path(const std::string& sha256) const {
  return root_ / "blobs" / (kBlobBeginning + sha256);
}

bool Store::has_blob(const std::string& sha256, uint64_t n_bytes) const {
  const fs::path path = blob_path(sha256);
  const auto version = version_at(path);
  return version && version->n_bytes == n_bytes && check_no_link(path).ok();
}

Result<std::string> Store::read_blob(const StoredFile& file, uint64_t max_bytes) const {
  const fs::path path = blob_path(file.sha256);
  RZ_CHECK_OK(check_no_link(path));
  return read_file(path, max_bytes);
}

Result<Manifest> Store::read_manifest(const ModelName& name) const {
  const fs::path path = manifest_file(name);
  RZ_CHECK_OK(check_no_link(path));
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

// The folder's name identifies its content. A link to another target is replaced.
Status Store::make_view(const Manifest& manifest) const {
  const fs::path folder = view_folder(manifest);
  for (const StoredFile& file : manifest.files) {
    if (!belongs_into_view(file)) continue;
    const fs::path link = folder / file.name;
    if (leads_to_its_blob(file, link)) continue;
    RZ_CHECK_OK(check_no_link(link.parent_path()));
    RZ_CHECK_OK(make_folder(link.parent_path()));
    std::error_code error;
    fs::create_symlink(link_target(file), link, error);
    // Another process that creates the same view may have been faster.
    if (!error || leads_to_its_blob(file, link)) continue;
    fs::remove(link, error);
    fs::create_symlink(link_target(file), link, error);
    if (error && !leads_to_its_blob(file, link)) return cannot("make the link", link, error);
  }
  return {};
}

bool Store::leads_to_its_blob(const StoredFile& file, const fs::path& link) const {
  std::error_code error;
  return fs::read_symlink(link, error) == link_target(file) && !error && check_no_link(link.parent_path()).ok();
}

Result<StoredModel> Store::lay_out(Manifest manifest) const {
  RZ_CHECK_OK(check_folders());
  for (const StoredFile& file : manifest.files) {
    if (has_blob(file.sha256, file.n_bytes)) continue;
    return not_found(fmt::format("the file {} of '{}' is missing in the store {}; pulling the model again brings it",
                                 file.name, to_string(manifest.name), root_.string()),
                     "blob");
  }
  const StoredFile* gguf = manifest.gguf();
  const fs::path folder = view_folder(manifest);
  fs::path path = gguf != nullptr ? folder / gguf->name : folder;
  RZ_CHECK_OK(make_view(manifest));
  return StoredModel{std::move(manifest), std::move(path)};
}

Result<StoredModel> Store::find(const ModelName& name) const {
  RZ_TRY(Manifest manifest, read_manifest(name));
  return lay_out(std::move(manifest));
}

bool Store::has_name(const ModelName& name) const {
  return version_at(manifest_file(name)).has_value();
}

Status Store::check_readable() const {
  const fs::path folder = root_ / "manifests";
  std::error_code error;
  const fs::directory_iterator entry(folder, error);
  if (!error || error == std::errc::no_such_file_or_directory) return {};
  return cannot("read", folder, error);
}

namespace {

// Calls f(path below `folder`) for each manifest file, and for each link, which is not a manifest. Returns why some may
// be missing.
template <class F>
std::error_code for_each_manifest(const fs::path& folder, F f) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    const fs::file_type type = entry->symlink_status(ignored).type();
    const bool is_file = type == fs::file_type::regular && entry->path().extension() == ".json";
    if (is_file || type == fs::file_type::symlink) f(entry->path().lexically_relative(folder));
  }
  return error == std::errc::no_such_file_or_directory ? std::error_code() : error;
}

// A URL's manifest is named by a hash, and contains the URL.
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
  if (const Status status = check_folders(); !status.ok()) {
    notes.push_back(status.error().message);
    return models;
  }
  const std::error_code unread = for_each_manifest(folder, [&](const fs::path& path) {
    const auto model = [&]() -> Result<StoredModel> {
      RZ_CHECK_OK(check_no_link(folder / path));
      RZ_TRY(const ModelName name, name_at(folder, path));
      return find(name);
    }();
    if (model.ok()) {
      models.push_back(*model);
    } else {
      notes.push_back(model.error().message);
    }
  });
  if (unread) notes.push_back(cannot("read", folder, unread).message);
  std::ranges::sort(models, {}, [](const StoredModel& model) { return to_string(model.manifest.name); });
  return models;
}

Store::Used Store::find_used() const {
  Used used;
  const fs::path folder = root_ / "manifests";
  const std::error_code unread = for_each_manifest(folder, [&](const fs::path& path) {
    const auto manifest = [&]() -> Result<Manifest> {
      RZ_CHECK_OK(check_no_link(folder / path));
      RZ_TRY(const ModelName name, name_at(folder, path));
      return read_manifest(name);
    }();
    if (manifest.ok()) {
      for (const StoredFile& file : manifest->files) used.hashes.insert(file.sha256);
      used.manifests.push_back(*manifest);
      return;
    }
    used.notes.push_back(manifest.error().message);
    if (!check_no_link(folder / path).ok()) {
      // The link may lead to a folder of manifests.
      used.are_all_known &= path.extension() == ".json";
      return;
    }
    const auto text = read_file(folder / path, kMaxManifestBytes);
    used.are_all_known &= text.ok();
    if (!text.ok()) return;
    for (std::string& hash : hashes_in(*text)) used.hashes.insert(std::move(hash));
  });
  if (unread) used.notes.push_back(cannot("read", folder, unread).message);
  used.are_all_known &= !unread;
  return used;
}

Status Store::prepare() const {
  RZ_CHECK_OK(check_folders());
  for (const char* folder : kFolders) RZ_CHECK_OK(make_folder(root_ / folder));
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

Status Store::put(const Manifest& manifest) const {
  RZ_CHECK_OK(check_folders());
  RZ_CHECK_OK(make_view(manifest));
  const fs::path path = manifest_file(manifest.name);
  RZ_CHECK_OK(check_no_link(path));
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
  RZ_CHECK_OK(check_folders());
  RZ_CHECK_OK(check_no_link(manifest_file(name).parent_path()));
  RZ_TRY(const auto lock, try_lock_alone());
  std::vector<std::string> candidates;
  if (const auto manifest = read_manifest(name); manifest.ok()) {
    for (const StoredFile& file : manifest->files) candidates.push_back(file.sha256);
  }
  const fs::path path = manifest_file(name);
  if (::unlink(path.c_str()) != 0) return cannot("remove", path, std::error_code(errno, std::generic_category()));
  // Removes folders that are now empty.
  for (fs::path folder = path.parent_path(); folder != root_ / "manifests"; folder = folder.parent_path()) {
    if (::rmdir(folder.c_str()) != 0) break;
  }
  if (!lock) return Removed{0, true};
  return sweep(candidates, find_used());
}

Result<Store::Removed> Store::prune() const {
  std::error_code error;
  if (!fs::exists(root_, error)) return Removed{};
  RZ_CHECK_OK(check_folders());
  RZ_TRY(const auto lock, try_lock_alone());
  if (!lock) return Removed{0, true};
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(root_ / "blobs", error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kBlobBeginning)) all.push_back(name.substr(std::string_view(kBlobBeginning).size()));
  }
  Removed removed = sweep(all, find_used());
  for (const auto& entry : fs::directory_iterator(partial_folder(), error)) {
    const uint64_t n_taken = taken_disk_bytes(entry.path());
    if (::unlink(entry.path().c_str()) == 0) removed.n_bytes += n_taken;
  }
  return removed;
}

// Removes those of `candidates` that no manifest uses, and views without a manifest.
Store::Removed Store::sweep(const std::vector<std::string>& candidates, Used used) const {
  std::set<std::string> used_views;
  for (const Manifest& manifest : used.manifests) used_views.insert(view_folder(manifest).filename().string());
  std::error_code error;
  for (const auto& view : fs::directory_iterator(root_ / "views", error)) {
    std::error_code ignored;
    if (!used_views.contains(view.path().filename().string())) fs::remove_all(view.path(), ignored);
  }
  Removed removed{0, false, std::move(used.notes)};
  if (!used.are_all_known) return removed;
  for (const std::string& sha256 : candidates) {
    const fs::path path = blob_path(sha256);
    struct stat info {};
    if (used.hashes.contains(sha256) || ::lstat(path.c_str(), &info) != 0) continue;
    if (::unlink(path.c_str()) == 0) removed.n_bytes += static_cast<uint64_t>(info.st_size);
  }
  return removed;
}

}  // namespace realizar::hub
