// A loadable model on this machine, and where it was found.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hub/manifest.h"
#include "hub/name.h"

namespace realizar::hub {

// kFile: a file or folder that the user named, which has no other name. kBundled: the model that ships with the
// program.
enum class Place : uint8_t { kFile, kBundled, kStore, kHuggingFaceCache, kOllamaCache, kLmStudio, kLlamaCache };

// The name shown in lists.
constexpr std::string_view place_name(Place place) {
  constexpr std::string_view kNames[] = {"file",   "bundled",   "store",    "Hugging Face",
                                         "Ollama", "LM Studio", "llama.cpp"};
  return kNames[static_cast<size_t>(place)];
}

struct LocalModel {
  ModelName name;
  Place place = Place::kStore;
  std::filesystem::path path;  // a file or a folder
  uint64_t n_bytes = 0;
  std::string source, revision, pulled;                  // if known
  std::map<FileRole, std::filesystem::path> texts = {};  // template, params, system, messages, licence
  std::vector<std::filesystem::path> adapters = {};
  bool has_projector = false;
  std::string note = {};  // a sentence for the user; "": none
};

}  // namespace realizar::hub
