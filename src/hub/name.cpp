#include "hub/name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/ascii_case.h"
#include "base/printable.h"
#include "base/try.h"
#include "hub/hash.h"
#include "hub/url.h"

namespace realizar::hub {
namespace {

constexpr size_t kMaxPartBytes = 128, kMaxPathBytes = 512;
constexpr const char* kLatest = "latest";
constexpr const char* kMain = "main";
constexpr const char* kLibrary = "library";

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Whether the text is safe as one part of a path or URL.
bool is_part(std::string_view text) {
  const auto may_stand = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && text.size() <= kMaxPartBytes && is_letter_or_digit(text.front()) &&
         std::ranges::all_of(text, may_stand) && text.find("..") == std::string_view::npos;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Error wrong_name(std::string_view text, std::string_view why) {
  return invalid_argument(fmt::format("'{}' is not a model's name: {}", shown(text), why), "model");
}

Status check_part(std::string_view text, std::string_view part, std::string_view what) {
  if (is_part(part)) return {};
  return wrong_name(text,
                    fmt::format("{} '{}' is not made of letters, digits, '-', '_' and single '.'", what, shown(part)));
}

// A branch or tag, which may contain slashes: "refs/pr/1".
Status check_revision(std::string_view text, std::string_view revision) {
  for (const std::string_view part : split(revision, '/')) RZ_CHECK_OK(check_part(text, part, "the revision"));
  return revision.size() <= kMaxPartBytes ? Status() : wrong_name(text, "the revision is too long");
}

// A revision is a single folder in the store. No part of a name contains '+'.
std::string with_each(std::string text, char from, char to) {
  std::ranges::replace(text, from, to);
  return text;
}

struct Tagged {
  std::string_view path, tag;
  bool has_tag;
};

// A colon before a slash does not begin a tag.
Tagged split_tag(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {text, {}, false};
  return {text.substr(0, colon), text.substr(colon + 1), true};
}

Result<ModelName> parse_hf(std::string_view text, std::string_view rest) {
  const Tagged tagged = split_tag(rest);
  const size_t at = tagged.path.find('@');
  const auto parts = split(tagged.path.substr(0, at), '/');
  if (parts.size() != 2) return wrong_name(text, "expected hf:OWNER/REPOSITORY[:QUANTIZATION or FILE]");
  ModelName name{
      NameKind::kHuggingFace, std::string(parts[0]), std::string(parts[1]), kMain, std::string(tagged.tag), ""};
  if (at != std::string_view::npos) name.revision = tagged.path.substr(at + 1);
  RZ_CHECK_OK(check_part(text, name.owner, "the owner"));
  RZ_CHECK_OK(check_part(text, name.model, "the repository"));
  RZ_CHECK_OK(check_revision(text, name.revision));
  if (tagged.has_tag && !is_safe_file(name.tag)) {
    return wrong_name(text, "after the colon expected a quantization, such as Q4_K_M, or a file of the repository");
  }
  if (name.tag == kLatest) name.tag.clear();  // Ollama's tag for the usual choice
  return name;
}

// [OWNER/]NAME[:TAG]. `what`: the kind of NAME, for messages.
Result<ModelName> parse_short(NameKind kind, std::string_view text, const Tagged& tagged, const char* usual_owner,
                              const char* what) {
  const auto parts = split(tagged.path, '/');
  const bool has_owner = parts.size() == 2;
  ModelName name{kind, has_owner ? std::string(parts[0]) : usual_owner,    std::string(parts.back()),
                 "",   tagged.has_tag ? std::string(tagged.tag) : kLatest, ""};
  if (has_owner) RZ_CHECK_OK(check_part(text, name.owner, "the owner"));
  RZ_CHECK_OK(check_part(text, name.model, what));
  RZ_CHECK_OK(check_part(text, name.tag, "the tag"));
  return name;
}

// [HOST/][OWNER/]NAME[:TAG], with the host already removed.
Result<ModelName> parse_ollama(std::string_view text, std::string_view rest) {
  const Tagged tagged = split_tag(rest);
  if (std::ranges::count(tagged.path, '/') > 1) return wrong_name(text, "expected ollama:[OWNER/]NAME[:TAG]");
  return parse_short(NameKind::kOllama, text, tagged, kLibrary, "the model");
}

// In the path of a web page, slashes of a revision are encoded as %2F.
std::string with_slashes(std::string_view revision) {
  std::string text;
  for (size_t at = 0; at < revision.size(); ++at) {
    const bool is_slash = equals_ignoring_case(revision.substr(at, 3), "%2F");
    text += is_slash ? '/' : revision[at];
    at += is_slash ? 2 : 0;
  }
  return text;
}

// OWNER/REPO, OWNER/REPO/tree/REV, OWNER/REPO/(blob|resolve)/REV/FILE.
Result<ModelName> parse_hf_page(std::string_view text, std::string_view path) {
  path = path.substr(0, path.find('?'));
  while (path.ends_with('/')) path.remove_suffix(1);
  const auto parts = split(path, '/');
  if (parts.size() < 2) return wrong_name(text, "expected a repository's page");
  std::string spelled = fmt::format("{}/{}", parts[0], parts[1]);
  const bool has_revision = parts.size() >= 4 && (parts[2] == "tree" || parts[2] == "blob" || parts[2] == "resolve");
  if (parts.size() > 2 && !has_revision) return wrong_name(text, "expected a repository's page or file");
  if (has_revision && parts[3] != kMain) spelled += fmt::format("@{}", with_slashes(parts[3]));
  if (parts.size() > 4) {
    const size_t n_before = static_cast<size_t>(parts[4].data() - path.data());
    spelled += fmt::format(":{}", path.substr(n_before));
  }
  return parse_hf(text, spelled);
}

Result<ModelName> parse_url_name(std::string_view text) {
  RZ_TRY(const Url url, parse_url(text));
  if (url.host == "huggingface.co" || url.host == "hf.co") return parse_hf_page(text, url.rest.substr(1));
  const std::string path = url.rest.substr(0, url.rest.find('?'));
  if (!ends_with_ignoring_case(path, ".gguf")) {
    return wrong_name(text, "expected a URL whose path ends in .gguf, or a page of huggingface.co");
  }
  if (!is_safe_file(path.substr(path.rfind('/') + 1)))
    return wrong_name(text, "its file has a name that no disk takes");
  ModelName name;
  name.kind = NameKind::kUrl;
  name.url = url.text();
  return name;
}

// Hosts that Ollama's users write before a name.
Result<ModelName> parse_with_host(std::string_view text, std::string_view host, std::string_view rest) {
  if (host == "hf.co" || host == "huggingface.co") return parse_hf(text, rest);
  if (host == "ollama.com" || host == "registry.ollama.ai") return parse_ollama(text, rest);
  return wrong_name(text, fmt::format("there is no registry {} here; --mirror names another server", shown(host)));
}

constexpr std::string_view kManifestEnding = ".json";
constexpr const char* kNoOwner = "_";  // no owner's name has this form,
constexpr const char* kNoTag = "-";    // nor any file's

}  // namespace

bool is_safe_file(std::string_view path) {
  if (path.empty() || path.size() > kMaxPathBytes) return false;
  const auto may_stand = [](char c) {
    return c >= ' ' && c != 0x7f && c != '\\' && c != ':' && c != '*' && c != '?' && c != '"' && c != '<' && c != '>' &&
           c != '|' && static_cast<unsigned char>(c) < 0x80;
  };
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part.size() > 255 || part.front() == '.' || part.front() == ' ' || part.front() == '-')
      return false;
    if (!std::ranges::all_of(part, may_stand)) return false;
  }
  return true;
}

bool has_name_scheme(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kSchemes = {"hf:",     "ollama:", "https://",
                                                               "http://", "hf.co/",  "huggingface.co/"};
  return std::ranges::any_of(kSchemes, [&](std::string_view scheme) { return text.starts_with(scheme); });
}

Result<ModelName> parse_name(std::string_view text) {
  if (text.starts_with("https://") || text.starts_with("http://")) return parse_url_name(text);
  if (text.starts_with("hf:")) return parse_hf(text, text.substr(3));
  if (text.starts_with("ollama:")) return parse_ollama(text, text.substr(7));
  const Tagged tagged = split_tag(text);
  const auto parts = split(tagged.path, '/');
  const bool has_host = parts.size() > 1 && parts[0].find('.') != std::string_view::npos;
  if (has_host) return parse_with_host(text, parts[0], text.substr(parts[0].size() + 1));
  // With a tag, these names would be parsed as another kind.
  const bool is_scheme = text == "hf" || text == "ollama";
  if (parts.size() > 2 || is_scheme) {
    return wrong_name(text, "expected NAME[:TAG], hf:OWNER/REPOSITORY, ollama:NAME or a URL");
  }
  if (parts.size() == 2 && lower_case(parts[1]).find("gguf") != std::string::npos) return parse_hf(text, text);
  return parse_short(NameKind::kLocal, text, tagged, "", "the name");
}

std::string to_string(const ModelName& name) {
  const std::string owner = name.owner.empty() || name.owner == kLibrary ? "" : name.owner + "/";
  const std::string tag = name.tag == kLatest ? "" : ":" + name.tag;
  switch (name.kind) {
    case NameKind::kUrl:
      return name.url;
    case NameKind::kOllama:
      return "ollama:" + owner + name.model + tag;
    case NameKind::kLocal:
      return (name.owner.empty() ? "" : name.owner + "/") + name.model + tag;
    case NameKind::kHuggingFace:
      break;
  }
  return fmt::format("hf:{}/{}{}{}", name.owner, name.model, name.revision == kMain ? "" : "@" + name.revision,
                     name.tag.empty() ? "" : ":" + name.tag);
}

std::filesystem::path manifest_path(const ModelName& name) {
  namespace fs = std::filesystem;
  const std::string tagged = (name.tag.empty() ? kNoTag : name.tag) + std::string(kManifestEnding);
  switch (name.kind) {
    case NameKind::kUrl:
      return fs::path("url") / (sha256_text(name.url) + std::string(kManifestEnding));
    case NameKind::kOllama:
      return fs::path("ollama") / name.owner / name.model / tagged;
    case NameKind::kLocal:
      return fs::path("local") / (name.owner.empty() ? kNoOwner : name.owner) / name.model / tagged;
    case NameKind::kHuggingFace:
      break;
  }
  return fs::path("hf") / name.owner / name.model / with_each(name.revision, '/', '+') / tagged;
}

Result<ModelName> name_of_manifest(const std::filesystem::path& path, std::string_view url) {
  const Error wrong = format_error(path.string() + " is not a manifest's path", path.string());
  const std::string text = path.generic_string();
  if (!text.ends_with(kManifestEnding)) return wrong;
  const auto parts = split(std::string_view(text).substr(0, text.size() - kManifestEnding.size()), '/');
  std::string spelled;
  if (parts[0] == "url") {
    spelled = url;
  } else if (parts[0] == "ollama" && parts.size() == 4) {
    spelled = fmt::format("ollama:{}/{}:{}", parts[1], parts[2], parts[3]);
  } else if (parts[0] == "local" && parts.size() == 4) {
    const std::string owner = parts[1] == kNoOwner ? "" : std::string(parts[1]) + "/";
    spelled = fmt::format("{}{}:{}", owner, parts[2], parts[3]);
  } else if (parts[0] == "hf" && parts.size() >= 5) {
    const std::string_view tag(parts[4].data(), static_cast<size_t>(parts.back().end() - parts[4].begin()));
    spelled = fmt::format("hf:{}/{}@{}", parts[1], parts[2], with_each(std::string(parts[3]), '+', '/'));
    if (tag != kNoTag) spelled += fmt::format(":{}", tag);
  } else {
    return wrong;
  }
  RZ_TRY(const ModelName name, parse_name(spelled));
  if (manifest_path(name) != path) return wrong;
  return name;
}

}  // namespace realizar::hub
