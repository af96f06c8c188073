// Any bytes as a registry's manifest, and as one of the store: an error, or layers with hashes; a manifest that the
// store has read can be written and read again unchanged.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hub/hash.h"
#include "hub/manifest.h"
#include "hub/ollama_manifest.h"

using namespace realizar::hub;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto layers = parse_ollama_manifest(text, "fuzz"); layers.ok()) {
    for (const OllamaLayer& layer : *layers) {
      if (!is_hex_digest(layer.sha256, Digest::Kind::kSha256)) std::abort();
    }
    for (const std::string& name : ollama_file_names(*layers, *parse_name("ollama:m:t"))) {
      if (!is_safe_file(name)) std::abort();
    }
  }
  const auto manifest = parse_manifest(text, "fuzz");
  if (!manifest.ok()) return 0;
  const std::string written = to_json(*manifest);
  const auto again = parse_manifest(written, "fuzz");
  if (!again.ok() || to_json(*again) != written) std::abort();
  return 0;
}
