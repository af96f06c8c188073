#include "formats/part_name.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "base/ascii_case.h"

namespace realizar {
namespace {

constexpr size_t kPartDigits = 5;

bool read_digits(std::string_view digits, uint32_t& n) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  return error == std::errc() && end == digits.data() + digits.size();
}

}  // namespace

std::string PartName::name_of(uint32_t part) const {
  return fmt::format("{}-{:05}{}{:05}{}", stem, part, of, count, ending);
}

bool PartName::is_same_set(const PartName& other) const {
  return count == other.count && equals_ignoring_case(stem, other.stem) && equals_ignoring_case(ending, other.ending);
}

std::optional<PartName> part_name(std::string_view file, std::string_view ending) {
  constexpr std::string_view kOf = "-of-";
  constexpr size_t kSuffix = 1 + kPartDigits + kOf.size() + kPartDigits;
  if (!ends_with_ignoring_case(file, ending) || file.size() < ending.size() + kSuffix + 1) return std::nullopt;
  PartName part;
  part.ending = file.substr(file.size() - ending.size());
  file.remove_suffix(ending.size());
  const std::string_view suffix = file.substr(file.size() - kSuffix);
  part.stem = file.substr(0, file.size() - kSuffix);
  part.of = suffix.substr(1 + kPartDigits, kOf.size());
  const bool is_part = suffix[0] == '-' && equals_ignoring_case(part.of, kOf) &&
                       read_digits(suffix.substr(1, kPartDigits), part.no) &&
                       read_digits(suffix.substr(1 + kPartDigits + kOf.size()), part.count);
  if (!is_part || part.no < 1 || part.no > part.count) return std::nullopt;
  return part;
}

std::optional<std::filesystem::path> find_in_any_case(const std::filesystem::path& folder, const std::string& name) {
  std::error_code error;
  if (std::filesystem::exists(folder / name, error)) return folder / name;
  std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string other = entry->path().filename().string();
    if (equals_ignoring_case(other, name)) return folder / other;
  }
  return std::nullopt;
}

}  // namespace realizar
