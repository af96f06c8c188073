#include "server/http/http.h"

#include <algorithm>
#include <utility>

#include "base/ascii_case.h"
#include "base/percent.h"

namespace realizar::server {
namespace {

struct IsNamed {
  std::string_view name;
  bool operator()(const Headers::value_type& header) const { return equals_ignoring_case(header.first, name); }
};

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
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 507:
      return "Insufficient Storage";
    case 529:
      return "Overloaded";
    default:
      return "Unknown";
  }
}

std::string query_value(std::string_view query, std::string_view name) {
  for (auto& [field, value] : query_fields(query)) {
    if (field == name) return std::move(value);
  }
  return {};
}

}  // namespace realizar::server
