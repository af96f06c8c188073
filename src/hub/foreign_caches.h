// Models that other programs have already downloaded, used in place and never written to: Hugging Face's cache
// (models--OWNER--REPO with refs, snapshots and blobs), Ollama's (manifests and blobs), LM Studio's (OWNER/REPO/FILE,
// with Hugging Face's names) and llama.cpp's (OWNER_REPO_FILE.gguf, or FILE.gguf from another
// address).
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "hub/local_model.h"
#include "hub/name.h"

namespace realizar::hub {

struct ForeignCaches {
  std::filesystem::path hugging_face = {};  // its folder "hub"; empty: none
  // Searched in this order.
  std::vector<std::filesystem::path> ollama = {};  // folders with "manifests" and "blobs"
  std::vector<std::filesystem::path> lm_studio = {};
  std::filesystem::path llama_cpp = {};  // empty: none
};

// Nullopt if it is in none of them, or incomplete. If the main branch of Hugging Face's cache points to an incomplete
// snapshot, a complete one is used instead, with a note.
std::optional<LocalModel> find_in_caches(const ForeignCaches& caches, const ModelName& name);
// Names the missing files of an unfinished model in Hugging Face's cache; nullopt if the model is absent.
std::optional<Error> unfinished_in_caches(const ForeignCaches& caches, const ModelName& name);
// In alphabetical order, each name once: every GGUF file of each repository, or its folder of SafeTensors.
std::vector<LocalModel> list_caches(const ForeignCaches& caches);

}  // namespace realizar::hub
