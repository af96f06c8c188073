#include "server/http/trusted_proxies.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/ascii_case.h"
#include "base/printable.h"
#include "server/http/origin_policy.h"

namespace realizar::server {
namespace {

constexpr uint32_t kAddressBits = 128, kMappedBits = 96;

// The address in "10.1.2.3:4567" and "[fe80::1]:4567", as some proxies write it.
std::string_view address_part(std::string_view text) {
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    return end == std::string_view::npos ? std::string_view() : text.substr(1, end - 1);
  }
  const size_t colon = text.find(':');
  const bool has_port = colon != std::string_view::npos && text.rfind(':') == colon;
  return has_port ? text.substr(0, colon) : text;
}

bool is_mapped(const std::array<uint8_t, 16>& address) {
  return std::all_of(address.begin(), address.begin() + 10, [](uint8_t byte) { return byte == 0; }) &&
         address[10] == 0xff && address[11] == 0xff;
}

// One spelling for each address, since it identifies tenants and limits.
std::string spelled(const std::array<uint8_t, 16>& address) {
  char text[INET6_ADDRSTRLEN];
  const bool is_v4 = is_mapped(address);
  return inet_ntop(is_v4 ? AF_INET : AF_INET6, address.data() + (is_v4 ? 12 : 0), text, sizeof text);
}

// The entries of all lines of the header, in order.
std::vector<std::string_view> forwarded_for(const HttpRequest& request) {
  std::vector<std::string_view> entries;
  for (const auto& [name, value] : request.headers) {
    if (!equals_ignoring_case(name, "x-forwarded-for")) continue;
    std::string_view rest = value;
    while (true) {
      const size_t comma = rest.find(',');
      entries.push_back(trimmed(rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return entries;
}

}  // namespace

Result<TrustedProxies> TrustedProxies::create(const std::vector<std::string>& networks) {
  TrustedProxies proxies;
  for (const std::string& text : networks) {
    const size_t slash = text.find('/');
    const std::string_view prefix =
        slash == std::string::npos ? std::string_view() : std::string_view(text).substr(slash + 1);
    Network network{{}, kAddressBits};
    bool is_sound = parse(std::string_view(text).substr(0, slash), network.address);
    if (is_sound && slash != std::string::npos) {
      const uint32_t n_before = text.find(':') == std::string::npos ? kMappedBits : 0;
      const auto n_bits = number_of<uint32_t>(prefix);
      is_sound = n_bits && *n_bits <= kAddressBits - n_before;
      network.n_bits = n_before + n_bits.value_or(0);
    }
    if (!is_sound) {
      return invalid_argument(
          fmt::format("--trusted-proxy: expected an address or a network such as 10.0.0.0/8, actual '{}'", shown(text)),
          "trusted_proxy");
    }
    proxies.networks_.push_back(network);
  }
  return proxies;
}

bool TrustedProxies::parse(std::string_view text, Address& address) {
  const std::string name(text.substr(0, text.find('%')));  // a zone names the interface of this machine to use
  if (inet_pton(AF_INET6, name.c_str(), address.data()) == 1) return true;
  address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return inet_pton(AF_INET, name.c_str(), address.data() + 12) == 1;
}

bool TrustedProxies::has(const Address& address) const {
  return std::ranges::any_of(networks_, [&](const Network& network) {
    const uint32_t n_bytes = network.n_bits / 8, n_more = network.n_bits % 8;
    if (!std::equal(address.begin(), address.begin() + n_bytes, network.address.begin())) return false;
    return n_more == 0 || (address[n_bytes] ^ network.address[n_bytes]) >> (8 - n_more) == 0;
  });
}

bool TrustedProxies::has(std::string_view address) const {
  Address parsed{};
  return parse(address, parsed) && has(parsed);
}

void TrustedProxies::set_client(HttpRequest& request) const {
  request.client = request.peer;
  request.is_local = is_loopback(request.peer);
  if (networks_.empty() || !has(request.peer)) return;
  const auto entries = forwarded_for(request);
  if (entries.empty()) return;
  // A proxy elsewhere that reports loopback means its own machine.
  const bool is_proxy_local = std::exchange(request.is_local, false);
  std::optional<Address> client;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    Address address{};
    if (!parse(address_part(*entry), address)) return;
    client = address;
    if (!has(address)) break;
  }
  request.client = spelled(*client);
  request.is_local = is_proxy_local && is_loopback(request.client);
}

}  // namespace realizar::server
