// Any bytes as the file of --config: an error, or options whose printed form is read back unchanged.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "cli/flags.h"
#include "cli/parse.h"

namespace {

using namespace realizar;
using namespace realizar::cli;

struct Values {
  explicit Values(CommandRow& row) {
    Flags flags(&row);
    flags.option("words", words, "Words");
    flags.option("--count", count, "Count", {.range = {0, 100}});
    flags.option("--ids", ids, "Ids", {.separator = ','});
    flags.option("--share", share, "Share");
    flags.flag("--json", json, "JSON");
  }
  std::vector<std::string> words;
  std::optional<uint32_t> count;
  std::vector<int32_t> ids;
  std::optional<float> share;
  bool json = false;
};

std::optional<std::string> read(std::string_view text) {
  CommandRow row, common;
  const Values values(row);
  if (!read_config(row, text, "file").ok() || !apply_values(row, common).ok()) return std::nullopt;
  return config_text(row);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto first = read({reinterpret_cast<const char*>(data), size});
  if (!first) return 0;
  const auto second = read(*first);
  if (!second || *second != *first) std::abort();
  return 0;
}
