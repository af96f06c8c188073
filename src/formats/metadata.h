// A model file's description of itself: key -> typed value. GGUF's key-values as they are; Hugging Face's config.json
// with nested objects flattened with dots ("rope_scaling.factor"), so that both formats are read in the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "realizar/result.h"

namespace realizar {

// Strings in large arrays are views into the mapped file, valid as long as the ModelFile.
using MetaArray = std::variant<std::vector<bool>, std::vector<int64_t>, std::vector<uint64_t>, std::vector<double>,
                               std::vector<std::string_view>>;
using MetaValue = std::variant<bool, int64_t, uint64_t, double, std::string, MetaArray>;

class Metadata {
 public:
  bool contains(std::string_view key) const;
  const MetaValue* find(std::string_view key) const;

  // nullopt if the key is absent (or JSON null); FormatError if it has another type or does not fit. Integers convert
  // among each other and to double if the value is represented exactly; nothing else converts.
  Result<std::optional<bool>> get_bool(std::string_view key) const;
  Result<std::optional<int64_t>> get_int(std::string_view key) const;
  Result<std::optional<double>> get_double(std::string_view key) const;
  Result<std::optional<std::string>> get_string(std::string_view key) const;
  Result<std::optional<std::vector<bool>>> get_bools(std::string_view key) const;
  Result<std::optional<std::vector<int64_t>>> get_ints(std::string_view key) const;
  Result<std::optional<std::vector<double>>> get_doubles(std::string_view key) const;
  Result<std::optional<std::vector<std::string_view>>> get_strings(std::string_view key) const;

  void set(std::string key, MetaValue value);
  const std::map<std::string, MetaValue, std::less<>>& entries() const { return entries_; }

 private:
  std::map<std::string, MetaValue, std::less<>> entries_;
};

// Text to print: long arrays are shortened to their first elements and their length.
std::string to_string(const MetaValue& value, size_t max_array_elems = 8);

}  // namespace realizar
