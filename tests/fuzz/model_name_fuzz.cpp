// Any text as a model's name: an error, or a name whose printed form is the same name, and whose manifest is in the
// store and belongs to no other.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hub/name.h"

using namespace realizar::hub;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto name = parse_name({reinterpret_cast<const char*>(data), size});
  if (!name.ok()) return 0;
  const auto again = parse_name(to_string(*name));
  if (!again.ok() || *again != *name) std::abort();
  const std::filesystem::path path = manifest_path(*name);
  for (const auto& part : path) {
    if (part == ".." || part == "." || part.empty() || part.is_absolute()) std::abort();
  }
  const auto filed = name_of_manifest(path, name->url);
  if (!filed.ok() || *filed != *name) std::abort();
  return 0;
}
