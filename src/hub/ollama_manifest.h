// Ollama's manifests, from its registry and its folder on disk: layers by media type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hub/manifest.h"
#include "hub/name.h"
#include "realizar/result.h"

namespace realizar::hub {

struct OllamaLayer {
  FileRole role;
  std::string sha256;
  uint64_t n_bytes;
};

// Layers of unused kinds are left out. Errors: FormatError; Unsupported (a model that is not a GGUF file, or several).
Result<std::vector<OllamaLayer>> parse_ollama_manifest(std::string_view text, const std::string& where);

// The names of the layers' files in the store, in order.
std::vector<std::string> ollama_file_names(const std::vector<OllamaLayer>& layers, const ModelName& name);

}  // namespace realizar::hub
