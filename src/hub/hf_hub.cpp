#include "hub/hf_hub.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii_case.h"
#include "base/encodings.h"
#include "base/printable.h"
#include "base/try.h"
#include "hub/json.h"

namespace realizar::hub {
namespace {

constexpr uint64_t kMaxAnswerBytes = 32u << 20;
constexpr size_t kMaxPages = 50, kMaxRepoFiles = 50'000;

std::vector<std::string> credentials_of(const HubAccess& access) {
  if (access.token.empty()) return {};
  return {"Authorization: Bearer " + access.token};
}

Result<HttpReply> ask_hub(HttpClient& client, const HubAccess& access, const Url& url, const std::string& what) {
  HttpCall call{url};
  call.headers = {"Accept: application/json"};
  call.credentials = credentials_of(access);
  call.max_bytes = kMaxAnswerBytes;
  call.total_timeout = access.answer_timeout;
  call.cancelled = &access.cancelled;
  return send_patiently(client, call, what, access.settings);
}

// The first bytes of a file of the repository.
Result<std::string> beginning_of(HttpClient& client, const HubAccess& access, const Url& url, const RepoFile& file,
                                 uint64_t n_bytes) {
  const uint64_t n_wanted = std::min(n_bytes, file.n_bytes);
  if (n_wanted == 0) return std::string();
  HttpCall call{url};
  if (n_wanted < file.n_bytes) call.headers = {fmt::format("Range: bytes=0-{}", n_wanted - 1)};
  call.headers.emplace_back("Accept-Encoding: identity");
  call.credentials = credentials_of(access);
  call.max_bytes = n_wanted;
  call.cancelled = &access.cancelled;
  RZ_TRY(const HttpReply reply, send_patiently(client, call, file.path, access.settings));
  return reply.body;
}

// Encoded as a single part of a path, so that a slash does not begin another one.
std::string encoded_part(std::string_view text) {
  std::string encoded;
  for (const char c : percent_encoded(text)) encoded += c == '/' ? std::string("%2F") : std::string(1, c);
  return encoded;
}

Result<Url> url_below(const Url& endpoint, const std::string& path) {
  std::string base = endpoint.text();
  while (base.ends_with('/')) base.pop_back();
  return parse_url(base + path);
}

// Nullopt: not a file that can be stored.
Result<std::optional<RepoFile>> parse_tree_entry(const Json& entry, const std::string& where) {
  RZ_TRY(const std::string type, text_member(entry, "type", where));
  if (type != "file") return std::optional<RepoFile>();
  RepoFile file;
  RZ_TRY(file.path, text_member(entry, "path", where));
  RZ_TRY(file.n_bytes, size_member(entry, "size", where));
  if (!is_safe_file(file.path)) return std::optional<RepoFile>();
  const auto lfs = entry.find("lfs");
  if (lfs != entry.end() && lfs->is_object()) {
    RZ_TRY(const std::string oid, text_member(*lfs, "oid", where));
    RZ_TRY(file.n_bytes, size_member(*lfs, "size", where));
    file.digest = {Digest::Kind::kSha256, oid};
  } else {
    RZ_TRY(const std::string oid, text_member(entry, "oid", where));
    file.digest = {Digest::Kind::kGit, oid};
  }
  if (!is_hex_digest(file.digest.hex, file.digest.kind)) {
    return format_error(fmt::format("{}: '{}' of {} is not a hash", where, shown(file.digest.hex), shown(file.path)),
                        where);
  }
  return std::optional(std::move(file));
}

Result<std::vector<RepoFile>> list_repository(HttpClient& client, const HubAccess& access, const ModelName& name,
                                              const std::string& commit) {
  const std::string what = to_string(name);
  std::vector<RepoFile> files;
  RZ_TRY(Url page, url_below(access.endpoint,
                             fmt::format("/api/models/{}/{}/tree/{}?recursive=true", name.owner, name.model, commit)));
  for (size_t n_pages = 0; n_pages < kMaxPages; ++n_pages) {
    RZ_TRY(const HttpReply reply, ask_hub(client, access, page, what));
    RZ_TRY(std::vector<RepoFile> more, parse_hf_tree(reply.body, page.shown()));
    std::ranges::move(more, std::back_inserter(files));
    if (files.size() > kMaxRepoFiles) break;
    const std::string next = next_page(reply.head.headers.get("link"));
    if (next.empty()) return files;
    RZ_TRY(const Url next_url, resolve_url(page, next));
    // Mirrors often return the hub's own address.
    RZ_TRY(page, parse_url(access.endpoint.origin() + next_url.rest));
  }
  return format_error(fmt::format("{}: the repository lists too many files", what), "model");
}

struct Listing {
  std::string commit;
  std::vector<RepoFile> files;
};

Result<Listing> list_commit(HttpClient& client, const HubAccess& access, const ModelName& name) {
  RZ_TRY(const Url info, url_below(access.endpoint, fmt::format("/api/models/{}/{}/revision/{}", name.owner, name.model,
                                                                encoded_part(name.revision))));
  RZ_TRY(const HttpReply reply, ask_hub(client, access, info, to_string(name)));
  Listing listing;
  RZ_TRY(listing.commit, parse_hf_revision(reply.body, info.shown()));
  RZ_TRY(listing.files, list_repository(client, access, name, listing.commit));
  return listing;
}

// Nullopt: no such number.
std::optional<uint64_t> count_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<uint64_t>();
}

}  // namespace

Result<std::vector<RepoFile>> parse_hf_tree(std::string_view text, const std::string& where) {
  RZ_TRY(const Json entries, parse_json_list(text, where));
  std::vector<RepoFile> files;
  for (const Json& entry : entries) {
    RZ_TRY(auto file, parse_tree_entry(entry, where));
    if (file) files.push_back(std::move(*file));
  }
  return files;
}

Result<std::string> parse_hf_revision(std::string_view text, const std::string& where) {
  RZ_TRY(const Json json, parse_json_object(text, where));
  RZ_TRY(std::string commit, text_member(json, "sha", where));
  if (!is_hex_digest(commit, Digest::Kind::kGit)) {
    return format_error(fmt::format("{}: '{}' is not a commit", where, shown(commit)), where);
  }
  return commit;
}

Result<std::vector<FoundRepo>> parse_hf_search(std::string_view text, const std::string& where) {
  RZ_TRY(const Json entries, parse_json_list(text, where));
  std::vector<FoundRepo> repos;
  for (const Json& entry : entries) {
    RZ_TRY(const std::string id, text_member(entry, "id", where));
    auto name = parse_name("hf:" + id);
    if (!name.ok() || !name->tag.empty()) continue;
    FoundRepo repo{std::move(*name), std::nullopt, count_of(entry, "downloads")};
    const auto gguf = entry.find("gguf");
    if (gguf != entry.end() && gguf->is_object()) repo.n_parameters = count_of(*gguf, "total");
    repos.push_back(std::move(repo));
  }
  return repos;
}

std::string next_page(std::string_view link) {
  while (!link.empty()) {
    const size_t open = link.find('<'), close = link.find('>');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
    const std::string_view target = link.substr(open + 1, close - open - 1);
    const std::string_view rest = link.substr(close + 1);
    const size_t end = std::min(rest.find('<'), rest.size());
    if (rest.substr(0, end).find("rel=\"next\"") != std::string_view::npos) return std::string(target);
    link = rest.substr(end);
  }
  return {};
}

Status check_encrypted(const Url& endpoint, const std::string& token) {
  if (token.empty() || endpoint.scheme != "http" || endpoint.is_loopback()) return {};
  return invalid_argument(fmt::format("{} is not encrypted: no token goes there", endpoint.origin()), "token");
}

Result<std::vector<FoundRepo>> find_hf_repos(const std::string& text, uint32_t n_most, const HubAccess& access) {
  RZ_TRY(HttpClient client, HttpClient::create(access.settings.http));
  RZ_TRY(const Url url, url_below(access.endpoint, fmt::format("/api/models?search={}&filter=gguf&sort=downloads"
                                                               "&direction=-1&limit={}&expand=downloads&expand=gguf",
                                                               percent_encoded(text), n_most)));
  RZ_TRY(const HttpReply reply, ask_hub(client, access, url, url.shown()));
  RZ_TRY(std::vector<FoundRepo> repos, parse_hf_search(reply.body, url.shown()));
  if (repos.size() > n_most) repos.resize(n_most);
  return repos;
}

Result<RemoteModel> find_hf_model(const ModelName& name, const HubAccess& access) {
  RZ_TRY(HttpClient client, HttpClient::create(access.settings.http));
  RZ_TRY(Listing listing, list_commit(client, access, name));
  RemoteModel model;
  model.revision = std::move(listing.commit);
  const auto url_of = [&](const RepoFile& file) {
    return url_below(access.endpoint, fmt::format("/{}/{}/resolve/{}/{}", name.owner, name.model, model.revision,
                                                  percent_encoded(file.path)));
  };
  const auto beginning = [&](const RepoFile& file, uint64_t n_bytes) -> Result<std::string> {
    RZ_TRY(const Url url, url_of(file));
    return beginning_of(client, access, url, file, n_bytes);
  };
  RZ_TRY(const std::vector<ChosenFile> chosen,
         choose_files(listing.files, name.tag, to_string(name), {beginning, false}));
  for (const ChosenFile& one : chosen) {
    const std::string& path = one.file.path;
    RZ_TRY(const Url url, url_of(one.file));
    RemoteFile remote{path, url, credentials_of(access), one.file.n_bytes, one.file.digest};
    // The subfolder of a GGUF file in a repository is not needed: its parts are in the same folder.
    const bool is_gguf = ends_with_ignoring_case(path, ".gguf");
    model.files.push_back({std::move(remote), one.role, is_gguf ? path.substr(path.rfind('/') + 1) : path});
  }
  return model;
}

Result<std::vector<RepoFile>> list_hf_files(const ModelName& name, const HubAccess& access) {
  RZ_TRY(HttpClient client, HttpClient::create(access.settings.http));
  RZ_TRY(Listing listing, list_commit(client, access, name));
  return std::move(listing.files);
}

}  // namespace realizar::hub
