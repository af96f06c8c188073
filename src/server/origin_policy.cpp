#include "server/origin_policy.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/ascii_case.h"
#include "base/printable.h"

namespace realizar::server {
namespace {

// The name or address of "localhost:8080", "[::1]:8080" or "localhost."; an address of IPv6 without its brackets.
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && host.find(':') == colon;
  std::string_view name = has_port ? host.substr(0, colon) : host;
  if (name.ends_with('.')) name.remove_suffix(1);
  return name;
}

// "a.example:8080" of "https://a.example:8080"; nothing for "null" and for what no web server can be.
std::optional<std::string_view> authority_of(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return std::nullopt;
}

bool is_port(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Programs whose windows are pages: desktop programs and editors. No page of the web has such an origin.
constexpr std::string_view kProgramSchemes[] = {"app://", "file://", "tauri://", "vscode-file://", "vscode-webview://"};

bool is_program(std::string_view origin) {
  return std::ranges::any_of(kProgramSchemes, [&](std::string_view scheme) { return origin.starts_with(scheme); });
}

// "*", an origin, all of a scheme ("chrome-extension://*"), or of a host with any port ("http://localhost:*").
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
  const auto& allowed = options_.allowed_hosts;
  const bool is_checked = is_loopback(options_.listen_host) || !allowed.empty();
  if (!is_checked || is_loopback(host)) return true;
  const std::string_view name = without_port(host);
  if (equals_ignoring_case(name, without_port(options_.listen_host))) return true;
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& own) { return own == "*" || equals_ignoring_case(own, name); });
}

bool OriginPolicy::is_cors_origin(std::string_view origin) const {
  return is_program(origin) ||
         std::ranges::any_of(options_.cors_origins, [&](const std::string& allowed) { return fits(origin, allowed); });
}

std::optional<ApiError> OriginPolicy::refusal(const HttpRequest& request) const {
  if (options_.asks_for_keys) return std::nullopt;
  const std::string_view host = request.header("host");
  // HTTP/1.0 has no Host, and no browser speaks it.
  if (request.count("host") > 0 && !is_own_host(host)) {
    return forbidden(fmt::format("the Host header names '{}', which is no name of this server; --allowed-host adds one",
                                 shown(host)));
  }
  if (is_harmless(request.method) || request.count("origin") == 0) return std::nullopt;
  const std::string_view origin = request.header("origin");
  const auto authority = authority_of(origin);
  if (authority && !host.empty() && equals_ignoring_case(*authority, host)) return std::nullopt;
  if (is_cors_origin(origin)) return std::nullopt;
  return forbidden(
      fmt::format("pages of '{}' may not call this server; --cors-origin allows an origin", shown(origin)));
}

}  // namespace realizar::server
