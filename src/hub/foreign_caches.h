// Models that other programs have downloaded already, used where they are and never written to: Hugging Face's cache
// (models--OWNER--REPO with refs, snapshots and blobs) and Ollama's (manifests and blobs).
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hub/manifest.h"
#include "hub/name.h"
#include "realizar/result.h"

namespace realizar::hub {

enum class Place : uint8_t { kStore, kHuggingFaceCache, kOllamaCache };

// A model on this machine that can be loaded.
struct LocalModel {
  ModelName name;
  Place place = Place::kStore;
  std::filesystem::path path;  // a file or a folder
  uint64_t n_bytes = 0;
  std::string source, revision, pulled;                  // where they are known
  std::map<FileRole, std::filesystem::path> texts = {};  // template, params, system, messages, licence
  std::vector<std::filesystem::path> adapters = {};
  bool has_projector = false;
};

struct ForeignCaches {
  std::filesystem::path hugging_face;         // its folder "hub"; empty: none
  std::vector<std::filesystem::path> ollama;  // folders with "manifests" and "blobs", looked through in this order
};

// Nullopt: it is in none of them, or not whole.
std::optional<LocalModel> find_in_caches(const ForeignCaches& caches, const ModelName& name);
// Ollama's names, and of each repository in Hugging Face's cache every GGUF file and every folder of SafeTensors.
std::vector<LocalModel> list_caches(const ForeignCaches& caches);

}  // namespace realizar::hub
