#include "hub/url.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii_case.h"
#include "base/printable.h"

namespace realizar::hub {
namespace {

constexpr size_t kMaxUrlBytes = 8192;

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool is_host(std::string_view host) {
  constexpr size_t kMaxHostBytes = 253;
  if (host.starts_with('[')) {
    const auto is_address = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
    };
    return host.size() > 2 && host.ends_with(']') && std::ranges::all_of(host.substr(1, host.size() - 2), is_address);
  }
  return !host.empty() && host.size() <= kMaxHostBytes && std::ranges::all_of(host, is_host_char);
}

bool is_port(std::string_view port) {
  constexpr size_t kMaxDigits = 5;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (port.empty() || port.size() > kMaxDigits || !std::ranges::all_of(port, is_digit)) return false;
  constexpr int kMaxPort = 65535;
  const int number = std::stoi(std::string(port));
  return number > 0 && number <= kMaxPort;
}

Error wrong_url(std::string_view text, std::string_view why) {
  return invalid_argument(fmt::format("{}: {}", realizar::shown(text), why), "url");
}

}  // namespace

std::string Url::origin() const {
  return scheme + "://" + host + (port.empty() ? "" : ":" + port);
}

std::string Url::shown() const {
  return origin() + rest.substr(0, rest.find('?'));
}

bool Url::is_loopback() const {
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

Result<Url> parse_url(std::string_view text) {
  const auto is_plain = [](char c) { return c > ' ' && c != 0x7f && c != '\\' && c != '"'; };
  if (text.size() > kMaxUrlBytes) return wrong_url(text, "expected a URL of at most 8192 bytes");
  if (!std::ranges::all_of(text, is_plain)) return wrong_url(text, "a URL has no spaces and no control characters");
  Url url;
  for (const char* scheme : {"https", "http"}) {
    if (starts_with_ignoring_case(text, std::string(scheme) + "://")) url.scheme = scheme;
  }
  if (url.scheme.empty()) return wrong_url(text, "expected https:// or http://");
  text.remove_prefix(url.scheme.size() + 3);
  const std::string_view authority = text.substr(0, text.find_first_of("/?#"));
  std::string_view rest = text.substr(authority.size());
  rest = rest.substr(0, rest.find('#'));
  if (authority.find('@') != std::string_view::npos)
    return wrong_url(authority, "a URL names no user and no password here");
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  url.host = lower_case(authority.substr(0, colon));
  if (!is_host(url.host)) return wrong_url(authority, "there is no such host");
  if (colon != std::string_view::npos) {
    url.port = authority.substr(colon + 1);
    if (!is_port(url.port)) return wrong_url(authority, "there is no such port");
    if (url.port == (url.scheme == "https" ? "443" : "80")) url.port.clear();
  }
  url.rest = rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest);
  return url;
}

Result<Url> resolve_url(const Url& base, std::string_view location) {
  if (location.starts_with("//")) return parse_url(base.scheme + ":" + std::string(location));
  const size_t colon = location.find(':');
  const bool has_scheme =
      colon != std::string_view::npos && location.substr(0, colon).find('/') == std::string_view::npos;
  if (has_scheme) return parse_url(location);
  if (location.starts_with('/')) return parse_url(base.origin() + std::string(location));
  const std::string path = base.rest.substr(0, base.rest.find('?'));
  if (location.starts_with('?')) return parse_url(base.origin() + path + std::string(location));
  return parse_url(base.origin() + path.substr(0, path.rfind('/') + 1) + std::string(location));
}

}  // namespace realizar::hub
