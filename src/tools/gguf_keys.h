// Metadata of a GGUF file to be written, in the order in which it is set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "formats/gguf_writer.h"
#include "formats/metadata.h"

namespace realizar {

using GgufValue =
    std::variant<bool, uint32_t, int32_t, float, std::string, std::vector<bool>, std::vector<int32_t>,
                 std::vector<uint32_t>, std::vector<float>, std::vector<std::string>, std::vector<uint8_t>>;

class GgufKeys {
 public:
  // Replaces the key's value if it has one.
  void set(std::string key, GgufValue value);
  const GgufValue* find(std::string_view key) const;
  const std::vector<std::pair<std::string, GgufValue>>& entries() const { return entries_; }

  void add_to(GgufWriter& writer) const;
  // The metadata in the form that a reader of the file gets. Views point into this.
  Metadata metadata() const;

 private:
  std::vector<std::pair<std::string, GgufValue>> entries_;
};

}  // namespace realizar
