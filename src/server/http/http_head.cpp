#include "server/http/http_head.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "base/ascii_case.h"
#include "base/printable.h"

namespace realizar::server {
namespace {

// Whether any item of a comma-separated list fulfils `is_it`.
template <class IsIt>
bool any_item(std::string_view list, IsIt is_it) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (is_it(trimmed(list.substr(0, comma)))) return true;
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return false;
}

// Only chunks have an end that every reader recognizes.
std::string wrong_transfer_encoding(const HttpRequest& request, bool is_http_1_0) {
  const size_t n = request.count("transfer-encoding");
  if (n == 0) return {};
  if (n > 1) return fmt::format("expected one Transfer-Encoding header, actual {}", n);
  if (is_http_1_0) return "HTTP/1.0 has no Transfer-Encoding";
  if (request.count("content-length") > 0) return "expected Transfer-Encoding or Content-Length, actual both";
  const std::string_view coding = trimmed(request.header("transfer-encoding"));
  if (equals_ignoring_case(coding, "chunked")) return {};
  return fmt::format("Transfer-Encoding: expected chunked, actual '{}'", shown(coding));
}

}  // namespace

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
  return wrong_transfer_encoding(request, is_http_1_0);
}

bool names_tag(std::string_view if_none_match, std::string_view etag) {
  const auto opaque = [](std::string_view tag) { return tag.starts_with("W/") ? tag.substr(2) : tag; };
  return any_item(if_none_match, [&](std::string_view tag) { return tag == "*" || opaque(tag) == opaque(etag); });
}

bool accepts_gzip(std::string_view accept_encoding) {
  return any_item(accept_encoding, [](std::string_view item) {
    const size_t semicolon = item.find(';');
    if (trimmed(item.substr(0, semicolon)) != "gzip") return false;
    if (semicolon == std::string_view::npos) return true;
    const std::string_view weight = trimmed(item.substr(semicolon + 1));
    return weight.find_first_not_of("qQ=0.") != std::string_view::npos;
  });
}

std::string http_date(int64_t unix_s) {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(static_cast<std::time_t>(unix_s)));
}

}  // namespace realizar::server
