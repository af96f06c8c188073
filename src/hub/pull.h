// A model by its name from its source into the store.
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
  std::string token;     // for hugging_face alone; "": none
  bool offline = false;  // nothing is asked of any server
};

enum class PullStage : uint8_t { kWaiting, kDownloading, kChecking, kWriting };  // kWriting: the manifest
struct PullProgress {
  PullStage stage;
  std::string file, digest;          // digest: "sha256:HEX", where it is known
  uint64_t file_done, file_bytes;    // of that file
  uint64_t total_done, total_bytes;  // of all files that are to come or are there
};
// On the thread that called pull(), ten times a second or more often.
using OnPullProgress = std::function<void(const PullProgress&)>;

// The server that is asked for the model: "https://huggingface.co". Errors: InvalidArgument for a mirror that is no
// URL.
Result<std::string> server_of(const ModelName& name, const HubSettings& settings);

// Asks the source what the name means. A server that cannot be reached is given up within a second or two. Errors:
// InvalidArgument where `offline`, or where a token would go over a connection that is not encrypted; those of the
// source.
Result<RemoteModel> look_up(const ModelName& name, const HubSettings& settings, const std::atomic<bool>& cancelled);
uint64_t total_bytes(const RemoteModel& model);
// The name of the model whose file `pattern` means in a repository (matching_model). Errors: as look_up;
// InvalidArgument where `repository` is none of Hugging Face's.
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

// Downloads what the store lacks of it and gives it its name. Errors: those of download(); ResourceExhausted where the
// disk has no room for all; InvalidArgument where the store may not be written to.
Result<StoredModel> pull(const ModelName& name, const RemoteModel& remote, const Store& store,
                         const HubSettings& settings, const OnPullProgress& on_progress,
                         const std::atomic<bool>& cancelled);

}  // namespace realizar::hub
