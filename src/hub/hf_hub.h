// Hugging Face's hub: the content of a repository, and the URLs of its files (https://huggingface.co/docs/hub/api).
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

// A model at its source.
struct RemoteModel {
  std::string source;    // its name there
  std::string revision;  // the commit, or the manifest's hash; "" if there is none
  struct File {
    RemoteFile remote;
    FileRole role;
    std::string name;  // relative to the model's folder
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

// Parses answers of the hub's API. Errors: FormatError. Folders, and files that cannot be stored, are left out.
Result<std::vector<RepoFile>> parse_hf_tree(std::string_view text, const std::string& where);
// The commit of a revision.
Result<std::string> parse_hf_revision(std::string_view text, const std::string& where);
// The target of a header `Link` with rel="next"; "" if there is none.
std::string next_page(std::string_view link);

// A search result.
struct FoundRepo {
  ModelName name;                                     // without quantization
  std::optional<uint64_t> n_parameters, n_downloads;  // if the hub reports them
};
// The answer to a search. Errors: FormatError. Repositories that cannot be named here are left out.
Result<std::vector<FoundRepo>> parse_hf_search(std::string_view text, const std::string& where);

// Errors: InvalidArgument if the token would be sent over an unencrypted connection.
Status check_encrypted(const Url& endpoint, const std::string& token);

Result<RemoteModel> find_hf_model(const ModelName& name, const HubAccess& access);
// All files of the repository, whatever the name selects.
Result<std::vector<RepoFile>> list_hf_files(const ModelName& name, const HubAccess& access);
// Repositories with GGUF files that match the text, the most downloaded first.
Result<std::vector<FoundRepo>> find_hf_repos(const std::string& text, uint32_t n_most, const HubAccess& access);

}  // namespace realizar::hub
