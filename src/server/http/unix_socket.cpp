#include "server/http/unix_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/try.h"

namespace realizar::server {
namespace {

Error cannot_listen(const std::string& path, int error) {
  return {ErrorCode::kResourceExhausted,
          fmt::format("cannot listen on {}: {}", path, std::error_code(error, std::generic_category()).message()),
          "host"};
}

// In a folder that others can write to, they could create a socket of that name.
Status make_private_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return cannot_listen(folder, errno);
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0) return cannot_listen(folder, errno);
  const bool is_private = S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() && (found.st_mode & 077) == 0;
  return is_private ? Status() : cannot_listen(folder, EPERM);
}

}  // namespace

Result<int> listen_on_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return cannot_listen(path, ENAMETOOLONG);
  std::copy(path.begin(), path.end(), address.sun_path);
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return cannot_listen(path, errno);
  struct stat found {};
  const bool is_socket = ::lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
  if (is_socket && ::connect(fd, name, sizeof address) != 0 && errno == ECONNREFUSED) ::unlink(path.c_str());
  if (::bind(fd, name, sizeof address) == 0 && ::listen(fd, SOMAXCONN) == 0) return fd;
  const int error = errno;
  ::close(fd);
  return cannot_listen(path, error);
}

Result<int> open_owner_socket(const std::string& path) {
  RZ_CHECK_OK(make_private_folder(std::filesystem::path(path).parent_path().string()));
  return listen_on_path(path);
}

bool comes_from_owner(int connected_fd) {
  ucred peer{};
  socklen_t n_bytes = sizeof peer;
  if (::getsockopt(connected_fd, SOL_SOCKET, SO_PEERCRED, &peer, &n_bytes) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

}  // namespace realizar::server
