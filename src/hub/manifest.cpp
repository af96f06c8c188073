#include "hub/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/ascii_case.h"
#include "base/printable.h"
#include "base/try.h"
#include "formats/part_name.h"
#include "hub/hash.h"
#include "hub/json.h"

namespace realizar::hub {
namespace {

constexpr int kFormat = 1;
constexpr size_t kMaxModelFiles = 10'000;
constexpr std::string_view kRoleNames[] = {"model",    "file",    "template", "params",   "system",
                                           "messages", "license", "adapter",  "projector"};

std::optional<FileRole> role_of(std::string_view name) {
  const auto* found = std::ranges::find(kRoleNames, name);
  if (found == std::end(kRoleNames)) return std::nullopt;
  return static_cast<FileRole>(found - std::begin(kRoleNames));
}

Result<StoredFile> parse_file(const Json& json, const std::string& where) {
  RZ_TRY(const std::string role_text, text_member(json, "role", where));
  const auto role = role_of(role_text);
  if (!role) return format_error(fmt::format("{}: there is no role '{}'", where, shown(role_text)), where);
  StoredFile file{*role, "", "", 0};
  RZ_TRY(file.name, text_member(json, "name", where));
  RZ_TRY(file.sha256, text_member(json, "sha256", where));
  RZ_TRY(file.n_bytes, size_member(json, "size", where));
  if (!is_safe_file(file.name)) {
    return format_error(fmt::format("{}: '{}' is not a file name", where, shown(file.name)), where);
  }
  if (!is_hex_digest(file.sha256, Digest::Kind::kSha256)) {
    return format_error(fmt::format("{}: '{}' is not a SHA-256", where, shown(file.sha256)), where);
  }
  return file;
}

}  // namespace

std::string_view role_name(FileRole role) {
  return kRoleNames[static_cast<size_t>(role)];
}

uint64_t Manifest::n_bytes() const {
  uint64_t n = 0;
  for (const StoredFile& file : files) n += file.n_bytes;
  return n;
}

const StoredFile* Manifest::find(FileRole role) const {
  const auto found = std::ranges::find(files, role, &StoredFile::role);
  return found == files.end() ? nullptr : &*found;
}

const StoredFile* Manifest::gguf() const {
  for (const StoredFile& file : files) {
    const auto part = part_name(file.name, ".gguf");
    const bool is_gguf = ends_with_ignoring_case(file.name, ".gguf");
    if (file.role == FileRole::kModel && is_gguf && (!part || part->no == 1)) return &file;
  }
  return nullptr;
}

std::string to_json(const Manifest& manifest) {
  Json files = Json::array();
  for (const StoredFile& file : manifest.files) {
    files.push_back(
        {{"role", role_name(file.role)}, {"name", file.name}, {"sha256", file.sha256}, {"size", file.n_bytes}});
  }
  const Json json{{"format", kFormat},         {"name", to_string(manifest.name)},
                  {"source", manifest.source}, {"revision", manifest.revision},
                  {"pulled", manifest.pulled}, {"files", std::move(files)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& where) {
  RZ_TRY(const Json json, parse_json_object(text, where));
  RZ_TRY(const uint64_t format, size_member(json, "format", where));
  if (format != kFormat) {
    return unsupported(
        fmt::format("{}: expected format {}, actual {}: it is from a later version", where, kFormat, format), where);
  }
  Manifest manifest;
  RZ_TRY(manifest.source, text_member(json, "source", where));
  RZ_TRY(manifest.revision, text_member(json, "revision", where));
  RZ_TRY(manifest.pulled, text_member(json, "pulled", where));
  RZ_TRY(const Json files, list_member(json, "files", where));
  if (files.empty() || files.size() > kMaxModelFiles) {
    return format_error(fmt::format("{}: expected 1 to {} files, actual {}", where, kMaxModelFiles, files.size()),
                        where);
  }
  std::set<std::string> names;
  for (const Json& row : files) {
    RZ_TRY(StoredFile file, parse_file(row, where));
    if (!names.insert(file.name).second) {
      return format_error(fmt::format("{}: '{}' is listed twice", where, file.name), where);
    }
    manifest.files.push_back(std::move(file));
  }
  return manifest;
}

}  // namespace realizar::hub
