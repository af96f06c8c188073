#include "tools/general_keys.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"

namespace realizar {
namespace {

constexpr uint64_t kMostCardBytes = 1 << 20;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kAround = " \t\r\"'";
  while (!text.empty() && kAround.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (!text.empty() && kAround.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

// The lines between the "---" with which a model card begins.
std::vector<std::string_view> card_lines(std::string_view card) {
  std::vector<std::string_view> lines;
  if (!card.starts_with("---")) return lines;
  for (size_t at = card.find('\n'); at != std::string_view::npos;) {
    const size_t end = card.find('\n', at + 1);
    const std::string_view line = card.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
    if (line.starts_with("---")) return lines;
    lines.push_back(line);
    at = end;
  }
  return {};
}

// One of the card's values: a word, or a list in either of YAML's two plain forms.
std::vector<std::string> card_value(const std::vector<std::string_view>& lines, std::string_view key) {
  std::vector<std::string> values;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with(key) || lines[i].substr(key.size(), 1) != ":") continue;
    std::string_view rest = trimmed(lines[i].substr(key.size() + 1));
    if (rest.starts_with('[') && rest.ends_with(']')) {
      rest = rest.substr(1, rest.size() - 2);
      for (size_t at = 0; at <= rest.size();) {
        const size_t end = std::min(rest.find(',', at), rest.size());
        if (const auto word = trimmed(rest.substr(at, end - at)); !word.empty()) values.emplace_back(word);
        at = end + 1;
      }
      return values;
    }
    if (!rest.empty()) return {std::string(rest)};
    for (++i; i < lines.size(); ++i) {
      const std::string_view item = trimmed(lines[i]);
      if (!item.starts_with("- ")) break;
      values.emplace_back(trimmed(item.substr(2)));
    }
    return values;
  }
  return values;
}

}  // namespace

uint32_t file_type_of(TypeId type) {
  constexpr std::pair<TypeId, uint32_t> kNumbers[] = {{TypeId::kF32, 0},  {TypeId::kF16, 1},   {TypeId::kQ4_0, 2},
                                                      {TypeId::kQ4_1, 3}, {TypeId::kQ8_0, 7},  {TypeId::kQ5_0, 8},
                                                      {TypeId::kQ5_1, 9}, {TypeId::kBF16, 32}, {TypeId::kMXFP4, 38}};
  for (const auto& [own, number] : kNumbers) {
    if (own == type) return number;
  }
  return 1024;  // "guessed": llama.cpp then looks at the tensors
}

std::string size_label(uint64_t n_weights) {
  const auto n = static_cast<double>(n_weights);
  for (const auto& [unit, letter] : {std::pair(1e12, 'T'), std::pair(1e9, 'B'), std::pair(1e6, 'M')}) {
    if (n < unit) continue;
    const double number = n / unit;
    return number < 10 ? fmt::format("{:.1f}{}", number, letter) : fmt::format("{:.0f}{}", number, letter);
  }
  return fmt::format("{:.0f}K", n / 1e3);
}

void add_general_keys(const ModelFile& folder, std::string_view arch, GgufKeys& keys) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(folder.path(), error);
  const auto path = std::filesystem::weakly_canonical(is_folder ? folder.path() : folder.path().parent_path(), error);
  keys.set("general.architecture", std::string(arch));
  keys.set("general.type", std::string("model"));
  keys.set("general.name", path.filename().string());
  uint64_t n_weights = 0;
  for (const TensorInfo& tensor : folder.tensors()) n_weights += tensor.n_elems();
  keys.set("general.size_label", size_label(n_weights));
  const auto card = read_file(path / "README.md", kMostCardBytes);
  if (!card.ok()) return;
  const auto lines = card_lines(*card);
  if (const auto license = card_value(lines, "license"); license.size() == 1) {
    keys.set("general.license", license.front());
  }
  for (const auto& [name, key] : {std::pair("tags", "general.tags"), std::pair("language", "general.languages")}) {
    if (auto values = card_value(lines, name); !values.empty()) keys.set(key, std::move(values));
  }
}

}  // namespace realizar
