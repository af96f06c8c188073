#include "hub/ollama_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/printable.h"
#include "base/try.h"
#include "hub/hash.h"
#include "hub/json.h"

namespace realizar::hub {
namespace {

constexpr size_t kMaxLayers = 200;

struct MediaType {
  std::string_view name;
  FileRole role;
};
constexpr MediaType kMediaTypes[] = {
    {"application/vnd.ollama.image.model", FileRole::kModel},
    {"application/vnd.ollama.image.template", FileRole::kTemplate},
    {"application/vnd.ollama.image.params", FileRole::kParams},
    {"application/vnd.ollama.image.system", FileRole::kSystem},
    {"application/vnd.ollama.image.messages", FileRole::kMessages},
    {"application/vnd.ollama.image.license", FileRole::kLicense},
    {"application/vnd.ollama.image.adapter", FileRole::kAdapter},
    {"application/vnd.ollama.image.projector", FileRole::kProjector},
};

std::string_view ending_of(FileRole role) {
  const bool is_weights = role == FileRole::kModel || role == FileRole::kAdapter || role == FileRole::kProjector;
  if (is_weights) return ".gguf";
  return role == FileRole::kParams || role == FileRole::kMessages ? ".json" : ".txt";
}

Result<std::optional<OllamaLayer>> parse_layer(const Json& json, const std::string& where) {
  constexpr std::string_view kSha256 = "sha256:", kTensor = "application/vnd.ollama.image.tensor";
  RZ_TRY(const std::string type, text_member(json, "mediaType", where));
  RZ_TRY(const std::string digest, text_member(json, "digest", where));
  RZ_TRY(const uint64_t n_bytes, size_member(json, "size", where));
  if (!digest.starts_with(kSha256) || !is_hex_digest(digest.substr(kSha256.size()), Digest::Kind::kSha256)) {
    return format_error(fmt::format("{}: '{}' is not a digest", where, shown(digest)), where);
  }
  if (type == kTensor) return unsupported(where + ": its weights are not a GGUF file", "model");
  const auto* found = std::ranges::find(kMediaTypes, type, &MediaType::name);
  if (found == std::end(kMediaTypes)) return std::optional<OllamaLayer>();
  return std::optional(OllamaLayer{found->role, digest.substr(kSha256.size()), n_bytes});
}

}  // namespace

Result<std::vector<OllamaLayer>> parse_ollama_manifest(std::string_view text, const std::string& where) {
  RZ_TRY(const Json json, parse_json_object(text, where));
  RZ_TRY(const Json rows, list_member(json, "layers", where));
  if (rows.size() > kMaxLayers) {
    return format_error(fmt::format("{}: expected at most {} layers, actual {}", where, kMaxLayers, rows.size()),
                        where);
  }
  std::vector<OllamaLayer> layers;
  for (const Json& row : rows) {
    RZ_TRY(const auto layer, parse_layer(row, where));
    if (layer) layers.push_back(*layer);
  }
  const auto n_models = std::ranges::count(layers, FileRole::kModel, &OllamaLayer::role);
  if (n_models == 1) return layers;
  return unsupported(fmt::format("{}: expected one GGUF file of weights, actual {}", where, n_models), "model");
}

std::vector<std::string> ollama_file_names(const std::vector<OllamaLayer>& layers, const ModelName& name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < layers.size(); ++i) {
    const FileRole role = layers[i].role;
    const auto n_before = std::count_if(layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(i),
                                        [&](const OllamaLayer& layer) { return layer.role == role; });
    const std::string stem = role == FileRole::kModel ? name.model + "-" + name.tag : std::string(role_name(role));
    names.push_back(fmt::format("{}{}{}", stem, n_before > 0 ? fmt::format("-{}", n_before + 1) : "", ending_of(role)));
  }
  return names;
}

}  // namespace realizar::hub
