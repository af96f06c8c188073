#include "api/adapter_source.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/ascii_case.h"

namespace realizar {
namespace {

std::optional<float> scale_of(std::string_view text) {
  float scale = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, scale);
  const bool is_number = error == std::errc() && at == end && std::isfinite(scale);
  return is_number ? std::optional(scale) : std::nullopt;
}

}  // namespace

Result<AdapterSource> parse_adapter(std::string_view text) {
  AdapterSource source;
  std::string_view path = text;
  if (const size_t sign = text.find('='); sign != std::string_view::npos) {
    source.name = text.substr(0, sign);
    if (source.name.empty()) return invalid_argument(fmt::format("lora: expected a name before '{}'", text), "lora");
    path.remove_prefix(sign + 1);
  }
  const size_t colon = path.rfind(':');
  const auto scale = colon == std::string_view::npos ? std::nullopt : scale_of(path.substr(colon + 1));
  if (scale) {
    source.scale = *scale;
    path = path.substr(0, colon);
  }
  if (path.empty())
    return invalid_argument(fmt::format("lora: expected [NAME=]PATH[:SCALE], actual '{}'", text), "lora");
  source.path = path;
  if (!source.name.empty()) return source;
  auto file = std::filesystem::path(path).lexically_normal();
  if (!file.has_filename()) file = file.parent_path();
  source.name =
      equals_ignoring_case(file.extension().string(), ".gguf") ? file.stem().string() : file.filename().string();
  return source;
}

}  // namespace realizar
