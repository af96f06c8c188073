#include "backend/cuda/weights/layer_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace realizar::cuda {
namespace {

// Some file systems do not support unnamed files.
FileDescriptor open_nameless(const std::string& folder) {
  FileDescriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.get() >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  std::string name = folder + "/realizar-layers-XXXXXX";
  FileDescriptor named(::mkostemp(name.data(), O_CLOEXEC));
  if (named.get() >= 0) ::unlink(name.c_str());
  return named;
}

// Calls step(bytes, at) for the remaining bytes until none are left or it returns 0 or less.
template <class Byte, class Step>
bool transfer(uint64_t at, std::span<Byte> bytes, const Step& step) {
  while (!bytes.empty()) {
    const ssize_t n = step(bytes, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
    at += static_cast<uint64_t>(n);
  }
  return true;
}

}  // namespace

Result<LayerFile> LayerFile::create(const std::string& folder) {
  std::error_code error;  // reported by the failure to open a file
  std::filesystem::create_directories(folder, error);
  FileDescriptor file = open_nameless(folder);
  if (file.get() < 0) {
    return Error{ErrorCode::kResourceExhausted,
                 "cannot make a file for layers in the folder " + folder + ": " + std::strerror(errno), "layer_dir"};
  }
  return LayerFile(std::move(file), folder);
}

// Gaps between the planes of a matrix are read with them, and never written.
Result<uint64_t> LayerFile::add(size_t n_bytes) {
  if (::ftruncate(fd_.get(), static_cast<off_t>(n_bytes_ + n_bytes)) != 0) return not_written();
  return std::exchange(n_bytes_, n_bytes_ + n_bytes);
}

Status LayerFile::write(uint64_t at, std::span<const std::byte> bytes) {
  const auto step = [this](auto part, off_t place) { return ::pwrite(fd_.get(), part.data(), part.size(), place); };
  if (!transfer(at, bytes, step)) return not_written();
  pieces_[at] = {bytes.size(), XXH3_64bits(bytes.data(), bytes.size())};
  return {};
}

Status LayerFile::read(uint64_t at, std::span<std::byte> bytes) const {
  const auto step = [this](auto part, off_t place) { return ::pread(fd_.get(), part.data(), part.size(), place); };
  errno = 0;
  if (!transfer(at, bytes, step)) return damaged(errno != 0 ? std::strerror(errno) : "the file was cut off");
  const auto end = pieces_.lower_bound(at + bytes.size());
  for (auto piece = pieces_.lower_bound(at); piece != end; ++piece) {
    const auto& [place, written] = *piece;
    if (XXH3_64bits(bytes.data() + (place - at), written.n_bytes) != written.sum)
      return damaged("the file was changed");
  }
  return {};
}

Error LayerFile::not_written() const {
  return {ErrorCode::kResourceExhausted, "cannot write layers to the folder " + folder_ + ": " + std::strerror(errno),
          "layer_dir"};
}

Error LayerFile::damaged(const std::string& why) const {
  return {ErrorCode::kInternal, "layers cannot be read from the folder " + folder_ + ": " + why, "layer_dir"};
}

}  // namespace realizar::cuda
