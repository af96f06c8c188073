#include "tools/safetensors_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/try.h"
#include "base/unfinished.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kModules[] = {"2_Dense.", "3_Dense."};
constexpr uint64_t kHeaderAlignment = 8;

Error cannot_make(const fs::path& folder, const std::string& reason) {
  return invalid_argument(fmt::format("cannot make the folder {}: {}", folder.string(), reason), folder.string());
}

FileDescriptor open_folder(const fs::path& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Makes the names in a folder durable. Some file systems do that in another way (EINVAL).
Status sync_names(const fs::path& path) {
  const FileDescriptor folder = open_folder(path);
  const bool is_kept = folder.get() < 0 || ::fsync(folder.get()) == 0 || errno == EINVAL;
  return is_kept ? Status() : cannot_make(path, std::strerror(errno));
}

// A folder with a random name next to its destination, removed unless it is renamed to that. Folders left by a killed
// process are removed first.
class NewFolder {
 public:
  static Result<NewFolder> create(const fs::path& place) {
    remove_abandoned_of(place);
    constexpr int kMaxTries = 100;  // a sweep may take the folder before it is locked
    for (int n_tries = 0; n_tries < kMaxTries; ++n_tries) {
      std::error_code error;
      fs::path path = unfinished_path(place);
      if (!fs::create_directory(path, error) || error) return cannot_make(place, error.message());
      NewFolder folder(std::move(path));
      if (hold_unfinished(folder.lock_)) return folder;
    }
    return cannot_make(place, "another process removes what is not finished there");
  }
  NewFolder(NewFolder&& other) noexcept : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  NewFolder& operator=(NewFolder&&) = delete;
  ~NewFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }

  const fs::path& path() const { return path_; }
  // Call after everything in it is written. Returns when the folder is on the disk.
  Status take(const fs::path& place) {
    RZ_CHECK_OK(sync_names(path_));
    std::error_code error;
    fs::rename(path_, place, error);
    if (error) return cannot_make(place, error.message());
    path_.clear();
    return sync_names(place.parent_path());
  }

 private:
  explicit NewFolder(fs::path path) : path_(std::move(path)), lock_(open_folder(path_)) {}

  fs::path path_;
  FileDescriptor lock_;
};

// The length of the header, followed by the header; the tensors come after it.
std::string header_of(std::span<const OutTensor* const> tensors, size_t n_prefix) {
  Json root = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t at = 0;
  for (const OutTensor* tensor : tensors) {
    const uint64_t end = at + tensor->n_bytes();
    root[tensor->name.substr(n_prefix)] = {
        {"dtype", traits(tensor->rows->type()).name}, {"shape", tensor->shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = root.dump();
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  const uint64_t n_bytes = text.size();
  std::string header(sizeof n_bytes, '\0');
  std::memcpy(header.data(), &n_bytes, sizeof n_bytes);
  return header + text;
}

class FolderWriter {
 public:
  FolderWriter(const fs::path& root, TensorPump& pump) : root_(root), pump_(pump) {}

  // `n_prefix`: leading bytes of the names that the file leaves out.
  Status write(const std::string& name, std::span<const OutTensor* const> tensors, size_t n_prefix = 0) {
    const std::string header = header_of(tensors, n_prefix);
    uint64_t n_bytes = header.size();
    for (const OutTensor* tensor : tensors) n_bytes += tensor->n_bytes();
    RZ_TRY(NewFile out, NewFile::create(root_ / name));
    RZ_CHECK_OK(out.reserve(n_bytes));
    RZ_CHECK_OK(out.write(header));
    for (const OutTensor* tensor : tensors) {
      RZ_CHECK_OK(pump_.write(*tensor, [&](std::span<const std::byte> bytes) { return out.write(bytes); }));
    }
    names_.push_back(name);
    return out.commit();
  }

  Status write_text(const std::string& name, const std::string& text) {
    std::error_code error;
    fs::create_directories((root_ / name).parent_path(), error);
    RZ_TRY(NewFile out, NewFile::create(root_ / name));
    RZ_CHECK_OK(out.write(text));
    names_.push_back(name);
    return out.commit();
  }

  // Several files, and the index of the tensors in them.
  Status write_shards(std::span<const OutTensor* const> tensors, uint64_t most_bytes) {
    std::vector<std::span<const OutTensor* const>> shards;
    uint64_t n_bytes = 0, n_all = 0;
    size_t first = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (most_bytes > 0 && i > first && n_bytes + tensors[i]->n_bytes() > most_bytes) {
        shards.push_back(tensors.subspan(first, i - first));
        first = i, n_bytes = 0;
      }
      n_bytes += tensors[i]->n_bytes();
      n_all += tensors[i]->n_bytes();
    }
    shards.push_back(tensors.subspan(first));
    if (shards.size() == 1) return write("model.safetensors", shards.front());
    Json index = {{"metadata", {{"total_size", n_all}}}, {"weight_map", Json::object()}};
    for (size_t i = 0; i < shards.size(); ++i) {
      const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
      for (const OutTensor* tensor : shards[i]) index["weight_map"][tensor->name] = name;
      RZ_CHECK_OK(write(name, shards[i]));
    }
    return write_text("model.safetensors.index.json", index.dump(2) + "\n");
  }

  const std::vector<std::string>& names() const { return names_; }

 private:
  const fs::path root_;
  TensorPump& pump_;
  std::vector<std::string> names_;
};

Status write_modules(const std::vector<OutTensor>& tensors, FolderWriter& writer, const fs::path& root) {
  for (const std::string_view module : kModules) {
    std::vector<const OutTensor*> own;
    for (const OutTensor& tensor : tensors) {
      if (tensor.name.starts_with(module)) own.push_back(&tensor);
    }
    if (own.empty()) continue;
    const std::string folder(module.substr(0, module.size() - 1));
    std::error_code error;
    fs::create_directories(root / folder, error);
    RZ_CHECK_OK(writer.write(folder + "/model.safetensors", own, module.size()));
  }
  return {};
}

}  // namespace

Result<std::vector<fs::path>> write_hf_folder(const fs::path& folder, const std::vector<OutTensor>& tensors,
                                              const std::map<std::string, std::string>& side_files, uint64_t most_bytes,
                                              const WriteRun& run) {
  std::error_code error;
  const bool is_there = fs::exists(folder, error);
  if (is_there && !(fs::is_directory(folder, error) && fs::is_empty(folder, error))) {
    return invalid_argument(fmt::format("{} exists already: expected an empty or new folder", folder.string()),
                            folder.string());
  }
  const fs::path place = fs::absolute(folder, error).lexically_normal();
  const fs::path target = place.has_filename() ? place : place.parent_path();
  RZ_TRY(NewFolder beside, NewFolder::create(target));
  uint64_t n_all = 0;
  std::vector<const OutTensor*> own;
  for (const OutTensor& tensor : tensors) {
    n_all += tensor.n_bytes();
    const bool is_of_module =
        std::ranges::any_of(kModules, [&](std::string_view module) { return tensor.name.starts_with(module); });
    if (!is_of_module) own.push_back(&tensor);
  }
  TensorPump pump(run, n_all);
  FolderWriter writer(beside.path(), pump);
  for (const auto& [name, text] : side_files) RZ_CHECK_OK(writer.write_text(name, text));
  RZ_CHECK_OK(writer.write_shards(own, most_bytes));
  RZ_CHECK_OK(write_modules(tensors, writer, beside.path()));
  if (is_there) fs::remove(target, error);
  RZ_CHECK_OK(beside.take(target));
  std::vector<fs::path> files;
  for (const std::string& name : writer.names()) files.push_back(folder / name);
  return files;
}

}  // namespace realizar
