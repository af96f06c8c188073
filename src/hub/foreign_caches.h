// Models that other programs have downloaded already, used where they are and never written to: Hugging Face's cache
// (models--OWNER--REPO with refs, snapshots and blobs) and Ollama's (manifests and blobs).
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "hub/local_model.h"
#include "hub/name.h"

namespace realizar::hub {

struct ForeignCaches {
  std::filesystem::path hugging_face;         // its folder "hub"; empty: none
  std::vector<std::filesystem::path> ollama;  // folders with "manifests" and "blobs", looked through in this order
};

// Nullopt: it is in none of them, or not whole.
std::optional<LocalModel> find_in_caches(const ForeignCaches& caches, const ModelName& name);
// Ollama's names, and of each repository in Hugging Face's cache every GGUF file and every folder of SafeTensors.
std::vector<LocalModel> list_caches(const ForeignCaches& caches);

}  // namespace realizar::hub
