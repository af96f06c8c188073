#include "server/call/tenant.h"

#include <arpa/inet.h>

#include <string>

namespace realizar::server {

uint64_t tenant_of(std::string_view address) {
  in6_addr ipv6{};
  const bool is_ipv6 = ::inet_pton(AF_INET6, std::string(address).c_str(), &ipv6) == 1;
  if (!is_ipv6 || IN6_IS_ADDR_V4MAPPED(&ipv6)) return tenant_of(digest_of(address));
  return tenant_of(digest_of({reinterpret_cast<const char*>(ipv6.s6_addr), 8}));
}

}  // namespace realizar::server
