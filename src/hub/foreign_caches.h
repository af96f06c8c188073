// Models that other programs have downloaded already, used where they are and never written to: Hugging Face's cache
// (models--OWNER--REPO with refs, snapshots and blobs), Ollama's (manifests and blobs), LM Studio's (OWNER/REPO/FILE,
// the names of Hugging Face) and llama.cpp's (llama_cache.h).
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "hub/local_model.h"
#include "hub/name.h"

namespace realizar::hub {

struct ForeignCaches {
  std::filesystem::path hugging_face = {};  // its folder "hub"; empty: none
  // Looked through in this order.
  std::vector<std::filesystem::path> ollama = {};  // folders with "manifests" and "blobs"
  std::vector<std::filesystem::path> lm_studio = {};
  std::filesystem::path llama_cpp = {};  // empty: none
};

// Nullopt: it is in none of them, or not whole. Where the main branch of Hugging Face's cache is at a snapshot that is
// not whole, another one is taken that is, with a note.
std::optional<LocalModel> find_in_caches(const ForeignCaches& caches, const ModelName& name);
// Names what an unfinished model in Hugging Face's cache lacks; nullopt where it is not there at all.
std::optional<Error> unfinished_in_caches(const ForeignCaches& caches, const ModelName& name);
// In alphabetical order, each name once: of each repository every GGUF file, or its folder of SafeTensors.
std::vector<LocalModel> list_caches(const ForeignCaches& caches);

}  // namespace realizar::hub
