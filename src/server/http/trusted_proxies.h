// Proxies that are trusted to report their clients' addresses in X-Forwarded-For. Anybody can send this header, so it
// only counts if the connection comes from one of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"
#include "server/http/http.h"

namespace realizar::server {

class TrustedProxies {
 public:
  // Addresses, or networks such as "10.0.0.0/8". Errors: InvalidArgument for anything else.
  static Result<TrustedProxies> create(const std::vector<std::string>& networks);

  bool has(std::string_view address) const;
  // Sets the request's client. Each proxy appends the address that it was asked from, and earlier entries may be
  // forged: the last address that is not a proxy's is the client's, or the first of all if all are proxies'. If that is
  // not an address, the proxy counts as the client.
  void set_client(HttpRequest& request) const;

 private:
  // An IPv6 address; IPv4 addresses are mapped.
  using Address = std::array<uint8_t, 16>;
  struct Network {
    Address address;
    uint32_t n_bits;
  };
  static bool parse(std::string_view text, Address& address);
  bool has(const Address& address) const;

  std::vector<Network> networks_;
};

}  // namespace realizar::server
