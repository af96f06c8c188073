#include "server/http/origin_policy.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/ascii_case.h"
#include "base/printable.h"

namespace realizar::server {
namespace {

// The name or address in "localhost:8080", "[::1]:8080" or "localhost."; an IPv6 address without its brackets.
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && host.find(':') == colon;
  std::string_view name = has_port ? host.substr(0, colon) : host;
  if (name.ends_with('.')) name.remove_suffix(1);
  return name;
}

// "a.example:8080" of "https://a.example:8080"; nullopt for "null" and anything else that cannot be a web server's
// origin.
std::optional<std::string_view> authority_of(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return std::nullopt;
}

bool is_port(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "localhost:3000": a server on its user's machine, with or without a port.
bool is_local_authority(std::string_view authority) {
  constexpr std::string_view kHosts[] = {"localhost", "127.0.0.1", "[::1]"};
  return std::ranges::any_of(kHosts, [&](std::string_view host) {
    if (!authority.starts_with(host)) return false;
    const std::string_view rest = authority.substr(host.size());
    return rest.empty() || (rest[0] == ':' && is_port(rest.substr(1)));
  });
}

// Programs whose windows are web pages: desktop programs and editors. No page on the web has such an origin.
constexpr std::string_view kProgramSchemes[] = {"app://", "file://", "tauri://", "vscode-file://", "vscode-webview://"};

// "*", an origin, any origin of a scheme ("chrome-extension://*"), or a host with any port ("http://localhost:*").
bool fits(std::string_view origin, std::string_view allowed) {
  if (allowed == "*" || allowed == origin) return true;
  const bool is_scheme = allowed.ends_with("://*");
  if (!is_scheme && !allowed.ends_with(":*")) return false;
  const std::string_view before = allowed.substr(0, allowed.size() - 1);
  if (!origin.starts_with(before)) return false;
  const std::string_view rest = origin.substr(before.size());
  return is_scheme ? !rest.empty() : is_port(rest);
}

bool is_harmless(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

bool is_address(const std::string& name) {
  in_addr v4{};
  in6_addr v6{};
  return inet_pton(AF_INET, name.c_str(), &v4) == 1 || inet_pton(AF_INET6, name.c_str(), &v6) == 1;
}

// A name that no stranger's DNS server answers: no foreign page can get such a name.
bool is_local_name(std::string_view host, std::string_view machine_name) {
  const std::string name(without_port(host));
  if (name.find('.') == std::string::npos || is_address(name)) return true;
  if (ends_with_ignoring_case(name, ".local") || ends_with_ignoring_case(name, ".internal")) return true;
  return equals_ignoring_case(name, machine_name);
}

ApiError forbidden(std::string message) {
  return {403, std::move(message), "", "forbidden_origin"};
}

}  // namespace

bool is_loopback(std::string_view host) {
  const std::string name(without_port(host));
  if (equals_ignoring_case(name, "localhost") || ends_with_ignoring_case(name, ".localhost")) return true;
  in_addr v4{};
  if (inet_pton(AF_INET, name.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, name.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool OriginPolicy::is_own_host(std::string_view host) const {
  if (is_loopback(host)) return true;
  if (options_.allowed_hosts.empty() && is_local_name(host, options_.machine_name)) return true;
  const std::string_view name = without_port(host);
  if (equals_ignoring_case(name, without_port(options_.listen_host))) return true;
  return std::ranges::any_of(options_.allowed_hosts,
                             [&](const std::string& own) { return own == "*" || equals_ignoring_case(own, name); });
}

bool OriginPolicy::is_cors_origin(std::string_view origin) const {
  return std::ranges::any_of(kProgramSchemes, [&](std::string_view scheme) { return origin.starts_with(scheme); }) ||
         std::ranges::any_of(options_.cors_origins, [&](const std::string& allowed) { return fits(origin, allowed); });
}

bool OriginPolicy::is_local_page(const HttpRequest& request) const {
  const std::string_view host = request.header("host"), origin = request.header("origin");
  const bool is_private = !options_.asks_for_keys && is_loopback(options_.listen_host) && is_loopback(host);
  const auto authority = authority_of(origin);
  return is_private && authority && is_local_authority(*authority) && !equals_ignoring_case(*authority, host) &&
         !is_cors_origin(origin);
}

std::optional<ApiError> OriginPolicy::refusal(const HttpRequest& request, Effect effect) const {
  if (options_.asks_for_keys) return std::nullopt;
  const std::string_view host = request.header("host");
  const bool has_effect = effect == Effect::kFarReaching;
  // HTTP/1.0 has no Host, and no browser uses it.
  const bool is_named = request.count("host") > 0 && !is_own_host(host);
  const bool checks_every_host = is_loopback(options_.listen_host) || !options_.allowed_hosts.empty();
  if (is_named && checks_every_host) {
    return forbidden(fmt::format(
        "the Host header names '{}', which is not a name of this server; --allowed-host adds one", shown(host)));
  }
  if (is_named && has_effect && !is_local_name(host, options_.machine_name)) {
    return forbidden(fmt::format(
        "the Host header names '{}', which may be anybody's name for this server; --allowed-host declares it as yours",
        shown(host)));
  }
  if (is_harmless(request.method) && !has_effect) return std::nullopt;
  const bool has_origin = request.count("origin") > 0;
  const std::string_view origin = request.header("origin");
  if (has_origin) {
    const auto authority = authority_of(origin);
    if (authority && !host.empty() && equals_ignoring_case(*authority, host)) return std::nullopt;
    if (is_cors_origin(origin)) return std::nullopt;
    if (effect == Effect::kAnswer && is_local_page(request)) return std::nullopt;
  }
  if (has_origin && !is_harmless(request.method)) {
    return forbidden(
        fmt::format("pages of '{}' may not call this server; --cors-origin allows an origin", shown(origin)));
  }
  // Images and links of a page come without Origin.
  if (!equals_ignoring_case(request.header("sec-fetch-site"), "cross-site")) return std::nullopt;
  return forbidden("pages of other sites may not call this; --cors-origin allows an origin");
}

}  // namespace realizar::server
