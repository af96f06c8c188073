#include "server/shared/cache_url.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii_case.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/try.h"
#include "server/http/http.h"

namespace realizar::server {
namespace {

constexpr const char* kUrlSubject = "cache_url";
constexpr const char* kPasswordSubject = "cache_password_file";
constexpr size_t kMaxUrlBytes = 1024, kMaxPasswordBytes = 4096;
constexpr std::string_view kPlainScheme = "redis://", kTlsScheme = "rediss://";
constexpr uint32_t kMaxDb = 65535;

// `part` never contains a password.
Error wrong_cache_url(std::string_view part, std::string_view why) {
  return invalid_argument(fmt::format("--cache-url: {}: {}", realizar::shown(part), why), kUrlSubject);
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool is_address_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
}

Status read_authority(std::string_view text, CacheUrl& url) {
  if (const size_t at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = text.substr(0, at);
    text.remove_prefix(at + 1);
    if (user.find(':') != std::string_view::npos) {
      return invalid_argument(
          "--cache-url: the address has a password, which other users of this machine could read in the list of "
          "processes; put it into a file and name that with --cache-password-file",
          kUrlSubject);
    }
    if (user.empty() || !std::ranges::all_of(user, is_name_char)) {
      return wrong_cache_url(user, "expected a user of letters, digits, dots, dashes and underscores before the @");
    }
    url.user = user;
  }
  const bool is_ipv6 = text.starts_with('[');
  const size_t host_end = is_ipv6 ? text.find(']') : text.find(':');
  if (is_ipv6 && host_end == std::string_view::npos) return wrong_cache_url(text, "expected ] after the address");
  const std::string_view host = is_ipv6 ? text.substr(1, host_end - 1) : text.substr(0, host_end);
  std::string_view port = host_end == std::string_view::npos ? "" : text.substr(host_end + (is_ipv6 ? 1 : 0));
  if (host.empty() || !std::ranges::all_of(host, is_ipv6 ? is_address_char : is_name_char)) {
    return wrong_cache_url(text, "there is no such host");
  }
  url.host = host;
  if (port.empty()) return {};
  const auto number = number_of<uint16_t>(port.substr(1));
  if (!port.starts_with(':') || number.value_or(0) == 0)
    return wrong_cache_url(port, "expected a colon and a port from 1 to 65535");
  url.port = *number;
  return {};
}

}  // namespace

std::string CacheUrl::shown() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}{}:{}/{}", has_tls ? kTlsScheme : kPlainScheme, is_ipv6 ? "[" : "", host,
                     is_ipv6 ? "]" : "", port, db);
}

Result<CacheUrl> parse_cache_url(std::string_view text) {
  CacheUrl url;
  url.has_tls = starts_with_ignoring_case(text, kTlsScheme);
  if (!url.has_tls && !starts_with_ignoring_case(text, kPlainScheme)) {
    const std::string_view scheme = text.substr(0, text.find(':'));
    return wrong_cache_url(scheme, "expected redis://HOST[:PORT][/DB], or rediss:// for TLS");
  }
  if (text.size() > kMaxUrlBytes) return wrong_cache_url(text.substr(0, 40), "expected at most 1024 bytes");
  text.remove_prefix(url.has_tls ? kTlsScheme.size() : kPlainScheme.size());
  const size_t slash = text.find('/');
  RZ_CHECK_OK(read_authority(text.substr(0, slash), url));
  const std::string_view db = slash == std::string_view::npos ? "" : text.substr(slash + 1);
  if (db.empty()) return url;
  const auto number = number_of<uint32_t>(db);
  if (!number || *number > kMaxDb)
    return wrong_cache_url(db, "expected the number of a database after the slash, as in redis://HOST/0");
  url.db = *number;
  return url;
}

Result<std::string> read_cache_password(const std::string& path) {
  RZ_TRY(const std::string text, read_file_or_pipe(path, kMaxPasswordBytes));
  const std::string_view line = trimmed(std::string_view(text).substr(0, text.find('\n')));
  if (line.empty()) {
    return invalid_argument(fmt::format("--cache-password-file: {}: expected a password in the first line", path),
                            kPasswordSubject);
  }
  return std::string(line);
}

}  // namespace realizar::server
