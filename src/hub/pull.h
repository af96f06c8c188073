// Downloads a model to the store, by its name.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hub/download.h"
#include "hub/hf_hub.h"
#include "hub/name.h"
#include "hub/store.h"
#include "realizar/result.h"

namespace realizar::hub {

struct HubSettings {
  DownloadSettings download;
  std::string hugging_face = "https://huggingface.co";  // or a mirror
  std::string ollama = "https://registry.ollama.ai";
  std::string token;     // for hugging_face only; "": none
  bool offline = false;  // contacts no server
};

enum class PullStage : uint8_t { kWaiting, kDownloading, kChecking, kWriting };  // kWriting: the manifest
struct PullProgress {
  PullStage stage;
  std::string file, digest;          // digest: "sha256:HEX", if known
  uint64_t file_done, file_bytes;    // for that file
  uint64_t total_done, total_bytes;  // for all files, including those that exist
};
// Called on the thread of pull(), at least ten times a second.
using OnPullProgress = std::function<void(const PullProgress&)>;

// The server for the model: "https://huggingface.co". Errors: InvalidArgument for a mirror that is not a URL.
Result<std::string> server_of(const ModelName& name, const HubSettings& settings);

// Asks the source for the model with that name. An unreachable server fails within a second or two. Errors:
// InvalidArgument if `offline`, or if a token would be sent unencrypted; those of the source.
Result<RemoteModel> look_up(const ModelName& name, const HubSettings& settings, const std::atomic<bool>& cancelled);
uint64_t total_bytes(const RemoteModel& model);
// The name of the model whose file in a repository matches `pattern` (matching_model). Errors: as look_up;
// InvalidArgument if `repository` is not on Hugging Face.
Result<ModelName> look_up_match(const ModelName& repository, const std::string& pattern, const HubSettings& settings,
                                const std::atomic<bool>& cancelled);

// One of the models that a repository holds.
struct RepoModel {
  ModelName name;
  uint64_t n_bytes = 0;   // of all its files
  bool is_usual = false;  // the one that is meant where only the repository is named
};
// The GGUF models of the repository that the name leads to, at most kMaxRepoModels; where there are none, and for other
// sources, what the name itself means. Errors: as look_up.
inline constexpr size_t kMaxRepoModels = 100;
Result<std::vector<RepoModel>> look_up_models(const ModelName& name, const HubSettings& settings,
                                              const std::atomic<bool>& cancelled);

// Downloads the missing files to the store and names the model. Errors: those of download(); ResourceExhausted if the
// disk is too small for all files; InvalidArgument if the store is not writable.
Result<StoredModel> pull(const ModelName& name, const RemoteModel& remote, const Store& store,
                         const HubSettings& settings, const OnPullProgress& on_progress,
                         const std::atomic<bool>& cancelled);

}  // namespace realizar::hub
