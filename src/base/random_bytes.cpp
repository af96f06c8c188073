#include "base/random_bytes.h"

#include <sys/random.h>

#include <cerrno>

#include "base/check.h"

namespace realizar {

void fill_randomly(std::span<std::byte> bytes) {
  REQUIRE(bytes.size() <= 256);
  ssize_t n_bytes = 0;
  do {
    n_bytes = ::getrandom(bytes.data(), bytes.size(), 0);
  } while (n_bytes < 0 && errno == EINTR);
  REQUIRE(n_bytes == static_cast<ssize_t>(bytes.size()));
}

}  // namespace realizar
