#include "server/http/http.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ascii_case.h"
#include "base/encodings.h"

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

}  // namespace realizar::server
