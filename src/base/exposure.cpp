#include "base/exposure.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace realizar {

std::string exposure_of(const std::string& path, std::string_view what, bool holds_secrets) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return {};
  const bool writable = (file.st_mode & S_IWOTH) != 0, readable = holds_secrets && (file.st_mode & S_IROTH) != 0;
  if (!writable && !readable) return {};
  return fmt::format("every user of this machine may {} {} in {} (mode {:04o}); chmod 600 ends that",
                     writable ? "change" : "read", what, path, file.st_mode & 07777);
}

}  // namespace realizar
