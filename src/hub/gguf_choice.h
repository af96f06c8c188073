// Which files of a repository make the model that is meant. Pure: the list may be a hub's or a folder's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hub/digest.h"
#include "hub/manifest.h"
#include "realizar/result.h"

namespace realizar::hub {

struct RepoFile {
  std::string path;
  uint64_t n_bytes = 0;
  Digest digest = {};
};

struct ChosenFile {
  RepoFile file;
  FileRole role;
};

// Whether a repository's file is a GGUF model by itself or the first part of one: no later part, and no projector.
bool begins_model(std::string_view path);

// `what`: a quantization ("Q4_K_M", in any case), a .gguf file of the list, or "": the usual choice among GGUF files,
// or, where there is none, the SafeTensors files with their config and tokenizer. A split file comes with all its
// parts. `name` stands in errors: NotFound with what there is, FormatError (a part is missing), Unsupported (weights of
// other kinds alone).
Result<std::vector<ChosenFile>> choose_files(const std::vector<RepoFile>& files, const std::string& what,
                                             const std::string& name);

}  // namespace realizar::hub
