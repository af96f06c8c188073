#include "server/http/http.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>

#include "base/ascii_case.h"
#include "base/encodings.h"

namespace realizar::server {
namespace {

struct IsNamed {
  std::string_view name;
  bool operator()(const Headers::value_type& header) const { return equals_ignoring_case(header.first, name); }
};

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

std::string_view HttpRequest::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), IsNamed{name});
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

size_t HttpRequest::count(std::string_view name) const {
  return static_cast<size_t>(std::count_if(headers.begin(), headers.end(), IsNamed{name}));
}

std::vector<std::pair<std::string, std::string>> query_fields(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> fields;
  while (!query.empty()) {
    const std::string_view field = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(field.size() + 1, query.size()));
    if (field.empty()) continue;
    const size_t equals = std::min(field.find('='), field.size());
    const std::string_view value = field.substr(std::min(equals + 1, field.size()));
    fields.emplace_back(percent_decoded(field.substr(0, equals)), percent_decoded(value));
  }
  return fields;
}

const char* reason_phrase(int status) {
  static constexpr std::pair<int, const char*> kPhrases[] = {
      {200, "OK"},
      {204, "No Content"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {499, "Client Closed Request"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {507, "Insufficient Storage"},
      {529, "Overloaded"},
  };
  const auto* found = std::ranges::find(kPhrases, status, &std::pair<int, const char*>::first);
  return found == std::end(kPhrases) ? "Unknown" : found->second;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::string query_value(std::string_view query, std::string_view name) {
  for (auto& [field, value] : query_fields(query)) {
    if (field == name) return std::move(value);
  }
  return {};
}

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
