#include "server/events/kv_endpoint.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "base/printable.h"

namespace realizar::server {
namespace {

constexpr std::string_view kTcp = "tcp://", kIpc = "ipc://";
constexpr size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;

std::optional<uint32_t> port_of(std::string_view text) {
  if (text == "*") return 0;
  uint32_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port > 65535) return std::nullopt;
  return port;
}

}  // namespace

Result<KvEndpoint> read_kv_endpoint(const std::string& address, const std::string& flag, bool always_binds) {
  const auto wrong = [&](std::string_view what) {
    return invalid_argument(fmt::format("{} '{}': {}", flag, shown(address), what), "kv_events");
  };
  const std::string_view text = address;
  KvEndpoint endpoint{.address = address, .binds = always_binds, .is_ipv6 = text.find('[') != std::string_view::npos};
  if (text.starts_with(kIpc)) {
    const size_t n_path = text.size() - kIpc.size();
    if (n_path == 0 || n_path > kMaxPathBytes) {
      return wrong(fmt::format("expected a path of 1 to {} bytes after ipc://, actual {}", kMaxPathBytes, n_path));
    }
    endpoint.binds = true;
    return endpoint;
  }
  const size_t colon = text.rfind(':');
  if (!text.starts_with(kTcp) || colon == std::string_view::npos || colon <= kTcp.size()) {
    return wrong(always_binds ? "expected tcp://HOST:PORT or ipc://PATH, as in tcp://*:5558"
                              : "expected tcp://HOST:PORT or ipc://PATH: tcp://*:5557 waits for subscribers, "
                                "tcp://router:5557 goes to the one that waits there");
  }
  endpoint.binds =
      always_binds || text.find('*') != std::string_view::npos || text.find("::") != std::string_view::npos;
  const auto port = port_of(text.substr(colon + 1));
  if (!port) return wrong("expected a port of 1 to 65535 after the last colon, or * for any free one");
  if (*port == 0 && !endpoint.binds) return wrong("expected the port where somebody waits, 1 to 65535");
  return endpoint;
}

}  // namespace realizar::server
