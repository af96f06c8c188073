#include "hub/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/ascii_case.h"
#include "base/check.h"
#include "base/try.h"
#include "hub/name_table.h"

namespace realizar::hub {
namespace {

constexpr size_t kMaxTextBytes = 200;
constexpr const char* kLatestTag = "latest";

ModelName parsed(std::string_view text) {
  auto name = parse_name(text);
  REQUIRE(name.ok());
  return *std::move(name);
}

bool has_all(const std::string& text, std::span<const std::string> words) {
  const std::string lower = lower_case(text);
  return std::ranges::all_of(
      words, [&](const std::string& word) { return lower.find(lower_case(word)) != std::string::npos; });
}

// Tags in the table begin with the number of parameters: "1.7b", "30b-a3b".
std::optional<uint64_t> parameters_of(std::string_view tag) {
  double billions = 0;
  const auto [end, error] = std::from_chars(tag.data(), tag.data() + tag.size(), billions);
  const bool is_count = error == std::errc() && end != tag.data() + tag.size() && *end == 'b';
  return is_count ? std::optional(static_cast<uint64_t>(billions * 1e9)) : std::nullopt;
}

bool has_tagged_twin(const ShortName& row) {
  return std::ranges::any_of(short_names(), [&](const ShortName& other) {
    return other.model == row.model && other.stands_for == row.stands_for && other.tag != kLatestTag;
  });
}

bool is_same_repo(const ModelName& a, const ModelName& b) {
  return a.kind == b.kind && equals_ignoring_case(a.owner, b.owner) && equals_ignoring_case(a.model, b.model);
}

}  // namespace

std::vector<SearchHit> search_table(std::span<const std::string> words) {
  std::vector<SearchHit> hits;
  for (const ShortName& row : short_names()) {
    if (row.tag == kLatestTag && has_tagged_twin(row)) continue;
    const std::string name = fmt::format("{}:{}", row.model, row.tag);
    if (!has_all(fmt::format("{} {}", name, row.stands_for), words)) continue;
    hits.push_back({parsed(name), parsed(row.stands_for), parameters_of(row.tag), std::nullopt});
  }
  return hits;
}

Result<std::vector<SearchHit>> search_hub(std::span<const std::string> words, uint32_t n_most,
                                          const HubSettings& settings, const std::atomic<bool>& cancelled) {
  const std::string text = fmt::format("{}", fmt::join(words, " "));
  if (text.size() > kMaxTextBytes) {
    return invalid_argument(fmt::format("expected at most {} bytes to look for, actual {}", kMaxTextBytes, text.size()),
                            "words");
  }
  RZ_TRY(const Url endpoint, parse_url(settings.hugging_face));
  RZ_CHECK_OK(check_encrypted(endpoint, settings.token));
  DownloadSettings once = settings.download;
  once.n_retries = once.n_reconnects = 0;
  auto repos = find_hf_repos(text, n_most, {endpoint, settings.token, once, cancelled, kAnswerTimeout});
  if (!repos.ok()) return with_hint(std::move(repos).error());
  std::vector<SearchHit> hits;
  for (FoundRepo& repo : *repos) {
    hits.push_back({std::move(repo.name), std::nullopt, repo.n_parameters, repo.n_downloads});
  }
  return hits;
}

std::vector<SearchHit> merged(std::vector<SearchHit> table, std::vector<SearchHit> hub) {
  for (SearchHit& row : table) {
    const auto found =
        std::ranges::find_if(hub, [&](const SearchHit& hit) { return is_same_repo(hit.name, *row.stands_for); });
    if (found == hub.end()) continue;
    row.n_downloads = found->n_downloads;
    if (found->n_parameters) row.n_parameters = found->n_parameters;
  }
  std::erase_if(hub, [&](const SearchHit& hit) {
    return std::ranges::any_of(table, [&](const SearchHit& row) { return is_same_repo(hit.name, *row.stands_for); });
  });
  std::ranges::move(hub, std::back_inserter(table));
  return table;
}

Found search(std::span<const std::string> words, uint32_t n_most, const HubSettings& settings,
             const std::atomic<bool>& cancelled) {
  Found found{search_table(words), {}};
  if (settings.offline) return found;
  auto hits = search_hub(words, n_most, settings, cancelled);
  if (hits.ok()) {
    found.hits = merged(std::move(found.hits), *std::move(hits));
  } else {
    found.of_hub = hits.error();
  }
  return found;
}

nlohmann::ordered_json json_of(const SearchHit& hit) {
  nlohmann::ordered_json json{{"name", to_string(hit.name)}};
  if (hit.stands_for) json["stands_for"] = to_string(*hit.stands_for);
  if (hit.n_parameters) json["parameters"] = *hit.n_parameters;
  if (hit.n_downloads) json["downloads"] = *hit.n_downloads;
  return json;
}

}  // namespace realizar::hub
