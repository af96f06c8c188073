// Hugging Face's hub: what a repository holds, and where its files are (https://huggingface.co/docs/hub/api).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/download.h"
#include "hub/gguf_choice.h"
#include "hub/name.h"
#include "realizar/result.h"

namespace realizar::hub {

// What a name means at its source.
struct RemoteModel {
  std::string source;    // that name
  std::string revision;  // the commit, or the manifest's hash; "" where there is none
  struct File {
    RemoteFile remote;
    FileRole role;
    std::string name;  // below the model's folder
  };
  std::vector<File> files;
};

// For answers of the API that somebody waits for.
inline constexpr std::chrono::seconds kAnswerTimeout(20);

struct HubAccess {
  Url endpoint;
  std::string token;  // for this endpoint; "": none
  DownloadSettings settings;
  const std::atomic<bool>& cancelled;
  std::chrono::milliseconds answer_timeout{0};  // for each answer of the API; 0: none
};

// The answers of the hub's API. Errors: FormatError. Files that no disk takes, and folders, are left out.
Result<std::vector<RepoFile>> parse_hf_tree(std::string_view text, const std::string& where);
// The commit that a revision is.
Result<std::string> parse_hf_revision(std::string_view text, const std::string& where);
// The target of a header `Link` with rel="next"; "": there is none.
std::string next_page(std::string_view link);

// A repository that a search has found.
struct FoundRepo {
  ModelName name;                                     // without a quantization
  std::optional<uint64_t> n_parameters, n_downloads;  // where the hub knows them
};
// The answer to a search. Errors: FormatError. What has no name here is left out.
Result<std::vector<FoundRepo>> parse_hf_search(std::string_view text, const std::string& where);

// Errors: InvalidArgument where the token would go over a connection that is not encrypted.
Status check_encrypted(const Url& endpoint, const std::string& token);

Result<RemoteModel> find_hf_model(const ModelName& name, const HubAccess& access);
// The repository's files, whatever the name means of them.
Result<std::vector<RepoFile>> list_hf_files(const ModelName& name, const HubAccess& access);
// Repositories with GGUF files that fit the text, the most downloaded first.
Result<std::vector<FoundRepo>> find_hf_repos(const std::string& text, uint32_t n_most, const HubAccess& access);

}  // namespace realizar::hub
