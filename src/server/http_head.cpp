#include "server/http_head.h"

#include <fmt/format.h>

#include <ctime>

namespace realizar::server {

size_t n_empty_line_bytes(std::string_view bytes) {
  size_t n_bytes = 0;
  while (bytes.substr(n_bytes).starts_with("\r\n")) n_bytes += 2;
  return n_bytes;
}

bool has_folded_line(std::string_view bytes) {
  for (size_t end = bytes.find("\r\n"); end != std::string_view::npos; end = bytes.find("\r\n", end + 2)) {
    const std::string_view next = bytes.substr(end + 2);
    const bool is_header_end = end == 0 || next.starts_with("\r\n");
    if (is_header_end) return false;
    if (next.starts_with(' ') || next.starts_with('\t')) return true;
  }
  return false;
}

std::string_view origin_form(std::string_view target) {
  const size_t scheme_end = target.find("://");
  if (target.starts_with('/') || scheme_end == std::string_view::npos) return target;
  const size_t slash = target.find('/', scheme_end + 3);
  return slash == std::string_view::npos ? "/" : target.substr(slash);
}

std::string wrong_headers(const HttpRequest& request, bool is_http_1_0) {
  if (request.count("host") == 0 && !is_http_1_0) return "a request of HTTP/1.1 needs a Host header";
  for (const char* name : {"Host", "Authorization"}) {
    const size_t n = request.count(name);
    if (n > 1) return fmt::format("expected one {} header, actual {}", name, n);
  }
  return {};
}

std::string http_date(int64_t unix_s) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t time = unix_s;
  std::tm utc{};
  gmtime_r(&time, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[utc.tm_wday], utc.tm_mday, kMonths[utc.tm_mon],
                     utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace realizar::server
